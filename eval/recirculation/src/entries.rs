//! The entries by which our P4 program copies one stream to its viewers.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use p4runtime::config::P4Info;
use p4runtime::v1;
use p4runtime::v1::entity::Entity;
use p4runtime::v1::packet_replication_engine_entry::Type as Engine;

/// The way the program replicates, chosen when it was compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replication {
    /// By the multicast engine.
    Multicast,
    /// By a clone and another pass for each viewer.
    Recirculation,
    /// By a binary tree of passes.
    Tree,
}

/// The stream that is copied.
#[derive(Clone, Debug)]
pub(crate) struct Copied {
    /// The way.
    pub replication: Replication,
    /// The sender.
    pub from: SocketAddr,
    /// The address it sends to, from which copies are sent.
    pub sfu: SocketAddr,
    /// Ethernet addresses of the SFU and of everybody else.
    pub macs: [[u8; 6]; 2],
    /// Of the stream.
    pub ssrc: u32,
    /// Of the stream and its copies.
    pub payload_type: u8,
    /// The number of the stream's first packet.
    pub first: u16,
    /// Each viewer, with the SSRC of its copy.
    pub viewers: Vec<(SocketAddr, u32)>,
}

/// The description of the program lacks a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unknown(String);

impl fmt::Display for Unknown {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the program has no {}", self.0)
    }
}

impl std::error::Error for Unknown {}

/// The controller's port and the clone session with it, in the program.
const CPU_PORT: u32 = 510;
const CPU_SESSION: u32 = 1;
/// The only port of the switch.
const PORT: u128 = 1;
const STREAM: u128 = 1;
const GROUP: u128 = 1;
/// The state of a replica is initialised when this differs from the state's.
const EPOCH: u128 = 1;
/// The first number of a copy.
const NEXT: u128 = 100;
/// All layers.
const SPATIAL: u128 = 3;
const TEMPORAL: u128 = 7;

/// All entries, in an order in which they can be written.
///
/// The controller gets the stream's reports, and the host its packets.
pub(crate) fn entries(info: &P4Info, copied: &Copied) -> Result<Vec<v1::Entity>, Unknown> {
    let [near, far] = copied
        .macs
        .map(|mac| mac.iter().fold(0, |bits, byte| bits << 8 | u128::from(*byte)));
    let (from, sfu) = (pair(copied.from), pair(copied.sfu));
    let ssrc = u128::from(copied.ssrc);
    let payload_type = u128::from(copied.payload_type);
    let entry = |table, key: &[u128], action, data: &[u128]| table_entry(info, table, key, action, data);
    let mut all = vec![session()];
    let mut members = Vec::new();
    for (place, (viewer, copy_ssrc)) in copied.viewers.iter().enumerate() {
        let (rid, index) = (place as u128 + 1, place as u128);
        let receiver = [&[near, far][..], &sfu, &pair(*viewer)].concat();
        let newest = u128::from(copied.first.wrapping_sub(1));
        let replica = [
            &[index, EPOCH, u128::from(*copy_ssrc), 0, newest, NEXT][..],
            &[0, 0, 0, SPATIAL, TEMPORAL, 0, 0, 0, 0, 0],
        ]
        .concat();
        all.push(entry("receiver", &[PORT, rid], "to", &receiver)?);
        all.push(entry("replica", &[PORT, rid, STREAM], "send", &replica)?);
        all.push(entry("payload_type", &[index, payload_type], "map", &[payload_type])?);
        members.push(rid);
    }
    let count = members.len() as u128;
    let is_group = copied.replication == Replication::Multicast && count != 1;
    if is_group {
        all.push(group(&members));
    } else {
        for (position, rid) in members.iter().enumerate() {
            all.push(entry(
                "participant",
                &[GROUP, position as u128],
                "member",
                &[*rid, PORT],
            )?);
        }
    }
    let branches = match copied.replication {
        Replication::Multicast => u128::from(count == 1),
        Replication::Recirculation => count,
        Replication::Tree => count.max(1).next_power_of_two().trailing_zeros().into(),
    };
    all.push(entry("format", &[STREAM, payload_type], "known", &[])?);
    let sender = [&from[..], &sfu, &[ssrc]].concat();
    all.push(entry("sender", &sender, "media", &[STREAM, GROUP, branches, 0, 0, 0])?);
    all.push(entry("service", &sfu, "serve", &[near, far])?);
    Ok(all)
}

/// The request that lets the program copy media for so many microseconds.
pub(crate) fn lease(microseconds: u32) -> v1::PacketOut {
    let metadata = |id, value: &[u8]| v1::PacketMetadata {
        metadata_id: id,
        value: value.to_vec(),
    };
    v1::PacketOut {
        payload: vec![0; 14],
        metadata: vec![
            metadata(1, &[2]),
            metadata(2, &[0]),
            metadata(3, &bytes(microseconds.into())),
        ],
    }
}

fn table_entry(info: &P4Info, table: &str, key: &[u128], action: &str, data: &[u128]) -> Result<v1::Entity, Unknown> {
    let unknown = |what: &str, name: &str| Unknown(format!("{what} {name} with these values"));
    let named = |preamble: &Option<p4runtime::config::Preamble>, name: &str| {
        preamble
            .as_ref()
            .filter(|preamble| preamble.alias == name)
            .map(|preamble| preamble.id)
    };
    let (table_id, fields) = info
        .tables
        .iter()
        .find_map(|it| Some((named(&it.preamble, table)?, &it.match_fields)))
        .filter(|(_, fields)| fields.len() == key.len())
        .ok_or_else(|| unknown("table", table))?;
    let (action_id, parameters) = info
        .actions
        .iter()
        .find_map(|it| Some((named(&it.preamble, action)?, &it.params)))
        .filter(|(_, parameters)| parameters.len() == data.len())
        .ok_or_else(|| unknown("action", action))?;
    let exact = |value: u128| v1::field_match::FieldMatchType::Exact(v1::field_match::Exact { value: bytes(value) });
    let fields = fields.iter().zip(key).map(|(field, value)| v1::FieldMatch {
        field_id: field.id,
        field_match_type: Some(exact(*value)),
    });
    let params = parameters.iter().zip(data).map(|(parameter, value)| v1::action::Param {
        param_id: parameter.id,
        value: bytes(*value),
    });
    let action = v1::Action {
        action_id,
        params: params.collect(),
    };
    Ok(entity(Entity::TableEntry(v1::TableEntry {
        table_id,
        r#match: fields.collect(),
        action: Some(v1::TableAction {
            r#type: Some(v1::table_action::Type::Action(action)),
        }),
        ..Default::default()
    })))
}

fn group(members: &[u128]) -> v1::Entity {
    engine(Engine::MulticastGroupEntry(v1::MulticastGroupEntry {
        multicast_group_id: GROUP as u32,
        replicas: members.iter().map(|rid| copy(PORT as u32, *rid as u32)).collect(),
        ..Default::default()
    }))
}

fn session() -> v1::Entity {
    engine(Engine::CloneSessionEntry(v1::CloneSessionEntry {
        session_id: CPU_SESSION,
        replicas: vec![copy(CPU_PORT, 1)],
        ..Default::default()
    }))
}

#[expect(deprecated, reason = "BMv2's server knows the older form of a port in any case")]
fn copy(port: u32, instance: u32) -> v1::Replica {
    v1::Replica {
        instance,
        port_kind: Some(v1::replica::PortKind::EgressPort(port)),
        ..Default::default()
    }
}

fn engine(kind: Engine) -> v1::Entity {
    entity(Entity::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry {
        r#type: Some(kind),
    }))
}

fn entity(kind: Entity) -> v1::Entity {
    v1::Entity { entity: Some(kind) }
}

/// Address and port of a key or of action data. IPv4 addresses are mapped (::ffff:a.b.c.d).
fn pair(address: SocketAddr) -> [u128; 2] {
    let ip = match address.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    [ip.into(), address.port().into()]
}

/// Big-endian without leading zeros, at least one byte (P4Runtime section 8.4).
fn bytes(value: u128) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    let zeros = (value.leading_zeros() / 8).min(15) as usize;
    bytes[zeros..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info() -> P4Info {
        p4runtime::p4info(include_str!("../../../backends/p4/program/compiled/tree.p4info.txtpb")).unwrap()
    }

    fn copied(replication: Replication, viewers: u32) -> Copied {
        Copied {
            replication,
            from: ([10, 0, 0, 2], 6_000).into(),
            sfu: ([10, 0, 0, 1], 7_000).into(),
            macs: [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]],
            ssrc: 17,
            payload_type: 111,
            first: 1,
            viewers: (0..viewers)
                .map(|it| (([10, 0, 0, 10 + it as u8], 5_000).into(), it))
                .collect(),
        }
    }

    /// The numbers of table entries, of multicast groups, and of branches.
    fn form(replication: Replication, viewers: u32) -> (usize, usize, u8) {
        let info = info();
        let all = entries(&info, &copied(replication, viewers)).unwrap();
        let is_table = |it: &&v1::Entity| matches!(it.entity, Some(Entity::TableEntry(_)));
        let tables = all.iter().filter(is_table).count();
        let media = info.actions.iter().filter_map(|it| it.preamble.as_ref());
        let media = media.into_iter().find(|it| it.alias == "media").unwrap().id;
        let branches = all.iter().find_map(|it| {
            let Some(Entity::TableEntry(entry)) = &it.entity else {
                return None;
            };
            let Some(v1::table_action::Type::Action(action)) = &entry.action.as_ref()?.r#type else {
                return None;
            };
            (action.action_id == media).then(|| action.params[2].value[0])
        });
        // One of the others is the clone session.
        (tables, all.len() - tables - 1, branches.unwrap())
    }

    #[test]
    fn each_mode_has_its_form_of_a_group() {
        assert_eq!(
            form(Replication::Multicast, 1),
            (3 + 1 + 3, 0, 1),
            "one viewer needs no group"
        );
        assert_eq!(form(Replication::Multicast, 3), (9 + 3, 1, 0));
        assert_eq!(form(Replication::Recirculation, 3), (9 + 3 + 3, 0, 3));
        assert_eq!(form(Replication::Tree, 1), (3 + 1 + 3, 0, 0));
        assert_eq!(form(Replication::Tree, 5), (15 + 5 + 3, 0, 3));
    }

    #[test]
    fn a_value_has_no_leading_zeros() {
        assert_eq!(bytes(0), [0]);
        assert_eq!(bytes(0x102), [1, 2]);
        assert_eq!(bytes(u128::MAX), [0xff; 16]);
        assert_eq!(bytes(pair(([10, 0, 0, 1], 1).into())[0]), [0xff, 0xff, 10, 0, 0, 1]);
    }

    #[test]
    fn another_program_is_refused_with_the_name_it_lacks() {
        let mut info = info();
        info.actions
            .retain(|action| action.preamble.as_ref().unwrap().alias != "send");
        let error = entries(&info, &copied(Replication::Tree, 1)).unwrap_err();
        assert_eq!(error.to_string(), "the program has no action send with these values");
    }
}
