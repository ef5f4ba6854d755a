//! The vectors that p4testgen makes of our program, through the interpreter.
//!
//! They are in the simple test framework's language (STF). A vector begins with its number behind
//! `#`: entries, clone sessions, packets, and the packets that are expected. `*` is any digit.

use std::fs;
use std::path::Path;
use std::time::Duration;

use p4runtime::config::P4Info;
use p4runtime::config::match_field::{Match, MatchType};
use p4runtime::v1::entity::Entity;
use p4runtime::v1::field_match::{Exact, FieldMatchType, Lpm};
use p4runtime::v1::packet_replication_engine_entry::Type as Engine;
use p4runtime::v1::replica::PortKind;
use p4runtime::v1::update::Type;
use p4runtime::v1::{self, CloneSessionEntry, PacketReplicationEngineEntry, TableEntry};
use switch_sim::{Device, Options, Output, PROGRAMS};

/// Vectors of one program, at least.
const VECTORS_MIN: usize = 200;

/// A line without its first word.
type Line<'a> = (&'a str, &'a str);

fn bytes(value: u128) -> Vec<u8> {
    let all = value.to_be_bytes();
    let first = all.iter().position(|it| *it != 0).unwrap_or(15);
    all[first..].to_vec()
}

/// A number, and how many of its first bits count.
fn number(text: &str, width: u32) -> (u128, u32) {
    if let Some(bits) = text.strip_prefix("0b") {
        let length = bits.find('*').unwrap_or(bits.len());
        assert!(bits[length..].chars().all(|it| it == '*'), "{text} is not a prefix");
        let value = u128::from_str_radix(&bits.replace('*', "0"), 2).unwrap();
        return (value, u32::try_from(length).unwrap());
    }
    (
        u128::from_str_radix(text.strip_prefix("0x").unwrap(), 16).unwrap(),
        width,
    )
}

fn is_named(preamble: &Option<p4runtime::config::Preamble>, name: &str) -> bool {
    preamble.as_ref().is_some_and(|it| it.name == name)
}

/// `"table" [priority] "key":value ... "action"("parameter":value,...)`
fn entry(info: &P4Info, line: &str) -> TableEntry {
    let (head, values) = line.trim_end_matches(')').split_once('(').unwrap();
    let mut words: Vec<_> = head.split(' ').map(|it| it.replace('"', "")).collect();
    let action = words.pop().unwrap();
    let table = info.tables.iter().find(|it| is_named(&it.preamble, &words[0])).unwrap();
    let mut keys = Vec::new();
    for word in &words[1..] {
        let Some((name, value)) = word.split_once(':') else {
            continue;
        };
        let form = table.match_fields.iter().find(|it| it.name == name).unwrap();
        let (value, length) = number(value, form.bitwidth.cast_unsigned());
        let is_exact = form.r#match == Some(Match::MatchType(MatchType::Exact as i32));
        if !is_exact && length == 0 {
            continue;
        }
        let kind = if is_exact {
            FieldMatchType::Exact(Exact { value: bytes(value) })
        } else {
            FieldMatchType::Lpm(Lpm {
                value: bytes(value),
                prefix_len: length.cast_signed(),
            })
        };
        keys.push(v1::FieldMatch {
            field_id: form.id,
            field_match_type: Some(kind),
        });
    }
    let form = info.actions.iter().find(|it| is_named(&it.preamble, &action)).unwrap();
    let mut params = Vec::new();
    for part in values.split(',').filter(|it| !it.is_empty()) {
        let (name, value) = part.split_once(':').unwrap();
        let form = form.params.iter().find(|it| it.name == name.replace('"', "")).unwrap();
        params.push(v1::action::Param {
            param_id: form.id,
            value: bytes(number(value, 128).0),
        });
    }
    let action_id = form.preamble.as_ref().unwrap().id;
    TableEntry {
        table_id: table.preamble.as_ref().unwrap().id,
        r#match: keys,
        action: Some(v1::TableAction {
            r#type: Some(v1::table_action::Type::Action(v1::Action { action_id, params })),
        }),
        ..Default::default()
    }
}

/// `session port`
fn session(line: &str) -> Entity {
    let (id, port) = line.split_once(' ').unwrap();
    let replica = v1::Replica {
        port_kind: Some(PortKind::Port(bytes(port.trim().parse().unwrap()))),
        instance: 0,
        backup_replicas: Vec::new(),
    };
    let session_id = id.parse().unwrap();
    let session = CloneSessionEntry {
        session_id,
        replicas: vec![replica],
        ..Default::default()
    };
    let r#type = Some(Engine::CloneSessionEntry(session));
    Entity::PacketReplicationEngineEntry(PacketReplicationEngineEntry { r#type })
}

fn write(device: &mut Device, entity: Entity) -> Result<(), String> {
    let update = v1::Update {
        r#type: Type::Insert as i32,
        entity: Some(v1::Entity { entity: Some(entity) }),
    };
    let request = v1::WriteRequest {
        device_id: 1,
        updates: vec![update],
        ..Default::default()
    };
    let mut outcomes = device.write(&request).map_err(|it| it.to_string())?;
    outcomes.remove(0).map_err(|it| it.to_string())
}

fn packet(text: &str) -> (u16, Vec<u8>) {
    let (port, hex) = text.split_once(' ').unwrap_or((text, ""));
    let hex = hex.trim();
    let byte = |index: usize| u8::from_str_radix(&hex[index..index + 2], 16).unwrap();
    (port.parse().unwrap(), (0..hex.len()).step_by(2).map(byte).collect())
}

/// Whether a sent packet is the expected one. Without `$` at the end it may be longer.
fn is_expected(expected: &str, output: &Output) -> bool {
    let (port, hex) = expected.split_once(' ').unwrap_or((expected, ""));
    let (hex, is_whole) = match hex.trim().strip_suffix('$') {
        Some(hex) => (hex, true),
        None => (hex.trim(), false),
    };
    let sent: String = output.bytes.iter().map(|it| format!("{it:02X}")).collect();
    let is_equal = |(a, b): (char, char)| a == '*' || a.eq_ignore_ascii_case(&b);
    port == output.port.to_string()
        && (sent.len() == hex.len() || (!is_whole && sent.len() > hex.len()))
        && hex.chars().zip(sent.chars()).all(is_equal)
}

/// Runs one vector. The error is the reason of its failure.
fn run(device: &mut Device, info: &P4Info, lines: &[Line<'_>]) -> Result<(), String> {
    device.clear();
    let mut outputs = Vec::new();
    for (word, rest) in lines {
        match *word {
            "add" => write(device, Entity::TableEntry(entry(info, rest)))?,
            "mirroring_add" => write(device, session(rest))?,
            "packet" => {
                let (port, bytes) = packet(rest);
                outputs.extend(device.packet(Duration::from_millis(1), port, &bytes));
            }
            // Without bytes: anything or nothing on this port.
            "expect" if !rest.trim().contains(' ') => {
                outputs.retain(|it: &Output| it.port.to_string() != rest.trim());
            }
            "expect" => {
                let found = outputs.iter().position(|it| is_expected(rest, it));
                match found {
                    Some(index) => drop(outputs.remove(index)),
                    None => return Err(format!("expected {rest}, sent {outputs:02X?}")),
                }
            }
            other => return Err(format!("the command {other}")),
        }
    }
    if outputs.is_empty() {
        Ok(())
    } else {
        Err(format!("unexpected {outputs:02X?}"))
    }
}

#[test]
fn all_vectors_of_p4testgen_agree() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../p4/program/testgen");
    for program in PROGRAMS {
        let Ok(text) = fs::read_to_string(folder.join(format!("{}.stf", program.name))) else {
            continue;
        };
        let info = p4runtime::p4info(program.p4info).unwrap();
        let mut device = Device::new(Options {
            is_lenient: true,
            ..Options::default()
        });
        device.load(program.json, program.p4info).unwrap();
        let mut vectors: Vec<(&str, Vec<Line<'_>>)> = Vec::new();
        for line in text.lines().filter(|it| !it.is_empty()) {
            match line.split_once(' ').unwrap_or((line, "")) {
                ("#", number) => vectors.push((number, Vec::new())),
                line => vectors.last_mut().unwrap().1.push(line),
            }
        }
        assert!(
            vectors.len() >= VECTORS_MIN,
            "{} vectors of {}",
            vectors.len(),
            program.name
        );
        let mut failures = Vec::new();
        for (number, lines) in &vectors {
            if let Err(reason) = run(&mut device, &info, lines) {
                failures.push(format!("{} {number}: {reason}", program.name));
            }
        }
        assert!(
            failures.is_empty(),
            "{} of {}:\n{}",
            failures.len(),
            vectors.len(),
            failures.join("\n")
        );
    }
}
