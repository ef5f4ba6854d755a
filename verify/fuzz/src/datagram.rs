//! Decisions about a datagram before its sender is known.

mod framing;
mod turn;

use agent::sctp_packets;
use wire::rtcp::RtcpPacket;
use wire::{PacketKind, RtpPacket, stun};

pub use framing::framing;
pub use turn::{turn_messages, turn_requests};

use crate::assert_inside;

/// The classification of a datagram: it must name the parser that accepts it.
pub fn classify(data: &[u8]) {
    let kind = wire::classify(data);
    if stun::is_binding_request(data) {
        assert_eq!(kind, PacketKind::Stun);
    }
    if RtpPacket::parse_protected(data).is_ok() {
        let is_rtcp = (192..=223).contains(&data[1]);
        assert_eq!(kind, if is_rtcp { PacketKind::Rtcp } else { PacketKind::Rtp });
    }
    let known = |packet| !matches!(packet, Err(_) | Ok(RtcpPacket::Unknown(_)));
    if RtcpPacket::compound(data).next().is_some_and(known) {
        assert_eq!(kind, PacketKind::Rtcp);
    }
}

/// The user fragments of a connectivity check: only from a binding request, and as written in it.
pub fn stun_username(data: &[u8]) {
    let Some((local, remote)) = stun::username(data) else {
        return;
    };
    assert!(stun::is_binding_request(data));
    assert!(!local.is_empty() && !remote.is_empty());
    assert!(!local.contains(':') && !remote.contains(':'));
    assert_inside(data, local.as_bytes());
    assert_inside(data, remote.as_bytes());
}

/// The chunks of an SCTP packet: they lie in it one after the other, and without DATA it has all
/// the others.
pub fn sctp_packet(data: &[u8]) {
    let kinds = |packet: &[u8]| -> Vec<u8> { sctp_packets::chunks(packet).map(|(_, kind, _)| kind).collect() };
    let mut end = 12;
    for (at, _, len) in sctp_packets::chunks(data) {
        assert!(at >= end && len >= 4 && at + len <= data.len());
        end = at + len;
    }
    let rest = sctp_packets::without_data(data);
    let rest = rest.as_deref().unwrap_or_default();
    assert!(!sctp_packets::has_data(rest) && rest.len() <= data.len().next_multiple_of(4));
    let others: Vec<u8> = kinds(data).into_iter().filter(|kind| *kind != 0).collect();
    assert_eq!(kinds(rest), others);
    assert_eq!(sctp_packets::is_goodbye(rest), sctp_packets::is_goodbye(data));
}

/// The records of a DTLS datagram: they end where it ends.
pub fn dtls_records(data: &[u8]) {
    if agent::is_whole_records(data) {
        assert!(agent::is_whole_records(&[data, data].concat()));
        assert!(!agent::is_whole_records(&[data, &[22]].concat()));
        assert!(data.is_empty() || !agent::is_whole_records(&data[..data.len() - 1]));
    }
}

/// The messages that open data channels: a label is within its limit, and is part of the message.
pub fn dcep(data: &[u8]) {
    let Some(agent::dcep::Message::Open(opened)) = agent::dcep::parse(data) else {
        return;
    };
    assert!(opened.label.len() <= agent::limits::LABEL_MAX);
    assert!(
        opened.label.is_empty()
            || data
                .windows(opened.label.len())
                .any(|part| part == opened.label.as_bytes())
    );
}
