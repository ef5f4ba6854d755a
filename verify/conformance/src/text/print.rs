//! Steps to text, so that a random history can be pasted into a file and kept.

use std::fmt::Write as _;

use dataplane::{Leg, Protection, Replica, Stream, Update};
use wire::ExtensionMap;
use wire::codec::Layer;

use super::entry::{EXTENSIONS, PROFILES, REWRITING, name_of};
use super::names::Names;
use super::relay;
use super::snapshot;
use crate::rtp::{RtpFields, hex};
use crate::step::seed_of;
use crate::{Injection, Send, Step};

/// A history as the text of a vector without expectations.
pub fn print_history(title: &str, steps: &[Step]) -> String {
    let names = Names::default();
    let mut text = format!("# {title}\n");
    for step in steps {
        let _ = writeln!(text, "{}", print_step(step, &names));
    }
    text
}

/// A step as a line.
pub(crate) fn print_step(step: &Step, names: &Names) -> String {
    match step {
        Step::Wait(time) => format!("wait {}us", time.as_micros()),
        Step::Write(update) => print_update(update, names),
        Step::Send(send) => print_send("send", send, names),
        Step::Receive(send) => print_send("receive", send, names),
        Step::Inject(Injection::Datagram(path, bytes)) => {
            format!("inject datagram {} {}", names.of_path(*path), hex(bytes))
        }
        Step::Inject(Injection::Rtcp(leg, bytes)) => format!("inject rtcp {} {}", names.of_leg(*leg), hex(bytes)),
        Step::Inject(Injection::Probe {
            leg,
            probe,
            rate,
            bytes,
            packets,
        }) => format!(
            "probe {} {probe} rate {rate} bytes {bytes} packets {packets}",
            names.of_leg(*leg)
        ),
        Step::Inject(Injection::ReportRelay(at)) => format!("report-relay {}", names.of_relay(*at)),
        Step::Inject(Injection::Report(leg)) => format!("report {}", names.of_leg(*leg)),
        Step::Inject(Injection::Resume(replica, from)) => {
            format!("resume {} {}", names.of_replica(*replica), snapshot::print(from, names))
        }
        Step::Inject(Injection::Fill {
            replica,
            payload_type,
            clock_rate,
            payload,
        }) => format!(
            "fill {} pt {} rate {clock_rate} {}",
            names.of_replica(*replica),
            payload_type.get(),
            hex(payload)
        ),
        Step::Inject(Injection::Release { replica, at_key_frame }) => {
            let form = if *at_key_frame { " at-key-frame" } else { "" };
            format!("release {}{form}", names.of_replica(*replica))
        }
        Step::Inject(Injection::Resend(replica, sequences)) => {
            let sequences: Vec<String> = sequences.iter().map(u16::to_string).collect();
            format!("resend {} {}", names.of_replica(*replica), sequences.join(" "))
        }
    }
}

fn print_send(verb: &str, send: &Send, names: &Names) -> String {
    let tampered = if send.tampered { " tampered" } else { "" };
    let datagram = print_datagram(&send.bytes);
    format!("{verb} {}{tampered} {datagram}", names.of_path(send.path))
}

/// A datagram as fields if they are complete, in hexadecimal otherwise.
pub fn print_datagram(bytes: &[u8]) -> String {
    match RtpFields::of(bytes).filter(|fields| fields.encode() == bytes) {
        Some(fields) => fields.to_string(),
        None => format!("hex {}", hex(bytes)),
    }
}

fn print_update(update: &Update, names: &Names) -> String {
    match update {
        Update::SetLeg(id, leg) => format!("leg {} {}", names.of_leg(*id), print_leg(leg, names)),
        Update::SetPace(id, pace) => {
            let pace = pace.map_or("none".into(), |pace| pace.to_string());
            format!("pace {} {pace}", names.of_leg(*id))
        }
        Update::SetFeedback(from, to) => {
            let to = to.map_or("none".into(), |to| names.of_leg(to));
            format!("feedback {} {to}", names.of_leg(*from))
        }
        Update::SetCopied(key, is_copied) => {
            let form = if *is_copied { " by-offload" } else { "" };
            format!("copied {}{form}", names.of_stream(*key))
        }
        Update::RemoveLeg(id) => format!("remove leg {}", names.of_leg(*id)),
        Update::SetStream(key, stream) => format!("stream {} {}", names.of_stream(*key), print_stream(stream)),
        Update::RemoveStream(key) => format!("remove stream {}", names.of_stream(*key)),
        Update::SetReplica(id, replica) => {
            format!("replica {} {}", names.of_replica(*id), print_replica(replica, names))
        }
        Update::RemoveReplica(id) => format!("remove replica {}", names.of_replica(*id)),
        Update::SetRelay(at, relay) => format!("relay {} {}", names.of_relay(*at), relay::print(relay, names)),
        Update::RemoveRelay(at) => format!("remove relay {}", names.of_relay(*at)),
    }
}

fn print_leg(leg: &Leg, names: &Names) -> String {
    let protection = match &leg.protection {
        Protection::Pending => "pending".into(),
        Protection::Clear => "clear".into(),
        Protection::Srtp { ingress, .. } => {
            let profile = name_of(&PROFILES, ingress.profile());
            format!("srtp {profile} {:#x}", seed_of(ingress))
        }
    };
    let paths = leg.paths.iter().map(|path| names.of_path(*path));
    let shared = leg
        .shared
        .map_or(String::new(), |ssrc| format!(" shared {:#x}", ssrc.0));
    format!(
        "{protection}{shared} from {} in {} out {}",
        join(paths),
        print_extensions(&leg.extensions_in),
        print_extensions(&leg.extensions_out)
    )
}

fn print_extensions(map: &ExtensionMap) -> String {
    join(map.iter().map(|(kind, id)| {
        let name = EXTENSIONS
            .iter()
            .find(|(_, listed)| *listed == kind)
            .expect("all are listed")
            .0;
        format!("{name}={id}")
    }))
}

fn print_stream(stream: &Stream) -> String {
    let types = stream.formats.iter().map(|format| {
        let rtx = format.rtx.map_or(String::new(), |rtx| format!("/{rtx}"));
        format!("{}={}{rtx}", format.payload_type, format.codec)
    });
    let rtx = stream.rtx.map_or("none".into(), |rtx| format!("{:#x}", rtx.0));
    let report = stream
        .reference
        .map_or("none".into(), |(ntp, timestamp)| format!("{:#x}={timestamp}", ntp.0));
    let mid = stream.mid.map_or("none".into(), |mid| mid.to_string());
    format!(
        "{} types {} rtx {rtx} mid {mid} report {report}",
        stream.kind,
        join(types)
    )
}

fn print_replica(replica: &Replica, names: &Names) -> String {
    let types = replica.formats.iter().map(|format| {
        let rtx = format.rtx.map_or(String::new(), |rtx| format!("/{rtx}"));
        let primary = if format.primary_only { ":primary" } else { "" };
        format!("{}>{}{rtx}{primary}", format.source, format.payload_type)
    });
    format!(
        "to {} ssrc {:#x} first {} from {} types {} rtx {} mid {} playout {} target {} fallback {} rewriting {} {}",
        names.of_leg(replica.leg),
        replica.ssrc.0,
        replica.first_sequence,
        replica.source.map_or("none".into(), |source| names.of_stream(source)),
        join(types),
        replica
            .rtx
            .map_or("none".into(), |(ssrc, first)| format!("{:#x}/{first}", ssrc.0)),
        replica.mid.map_or("none".into(), |mid| mid.to_string()),
        replica
            .playout_delay
            .map_or("none".into(), |delay| format!("{}ms", delay.min().as_millis())),
        print_target(replica.target),
        replica
            .fallback_spatial
            .map_or("none".into(), |size| format!("S{size}")),
        name_of(&REWRITING, replica.rewriting),
        if replica.paused { "paused" } else { "running" },
    )
}

fn print_target(target: Layer) -> String {
    match target {
        Layer::HIGHEST => "all".into(),
        Layer { spatial, temporal } => format!("S{spatial}T{temporal}"),
    }
}

fn join(items: impl Iterator<Item = String>) -> String {
    let joined = items.collect::<Vec<_>>().join(",");
    match joined.is_empty() {
        true => "none".into(),
        false => joined,
    }
}
