//! Tests that the checks find their faults.

use livekit_protocol::{
    LeaveRequest, TrackInfo, TrackPublishedResponse, UpdateSubscription, signal_request, signal_response,
};
use rand::SeedableRng;
use rand::rngs::StdRng;
use wire::{Codec, Csrcs, ExtensionWriter, PayloadType, RtpHeader, RtpPacket, RtpTimestamp, SequenceNumber, Ssrc};

use super::{Invariant, Ledger, Permissions, SourceState};
use crate::grants::Grants;
use crate::stamp::Stamp;

const LIFE: u64 = 1;
const MEDIA: Ssrc = Ssrc(7);
const REPAIR: Ssrc = Ssrc(8);

/// An audio packet of source 0: its sent number, and its original one.
fn packet(ssrc: Ssrc, sequence: u16, prefix: &[u8], number: u64) -> Vec<u8> {
    let timestamp = number as u32 * 960;
    let header = RtpHeader {
        has_padding: false,
        marker: false,
        payload_type: PayloadType::new(111).unwrap(),
        sequence: SequenceNumber(sequence),
        timestamp: RtpTimestamp(timestamp),
        ssrc,
        csrcs: Csrcs::NONE,
    };
    let mut bytes = vec![0; header.encoded_len(&ExtensionWriter::NONE)];
    header.write(&ExtensionWriter::NONE, &mut bytes).unwrap();
    bytes.extend(prefix);
    let stamp = Stamp {
        source: 0,
        encoding: 0,
        codec: Codec::Opus,
        starts_key_frame: false,
        frame: 0,
        number,
        timestamp,
    };
    stamp.write(&mut bytes);
    bytes
}

/// The first fault found when these packets are sent, each a pair of sequence number and source
/// number. The first begins a segment.
fn sent(ledger: &mut Ledger, packets: &[(u16, u64)]) -> Option<Invariant> {
    packets.iter().enumerate().find_map(|(index, (sequence, number))| {
        let bytes = packet(MEDIA, *sequence, &[], *number);
        ledger
            .media(LIFE, &RtpPacket::parse(&bytes).unwrap(), index == 0, |_| false)
            .err()
            .map(|found| found.invariant)
    })
}

fn found(packets: &[(u16, u64)]) -> Option<Invariant> {
    sent(&mut Ledger::default(), packets)
}

#[test]
fn numbers_that_follow_their_source_are_fine_late_or_lost_or_closed_up_behind_a_probe() {
    assert_eq!(found(&[(10, 50), (11, 51), (13, 53), (12, 52), (16, 56)]), None);
    let mut ledger = Ledger::default();
    ledger.probe(0, 0, 51);
    assert_eq!(sent(&mut ledger, &[(10, 50), (11, 52)]), None);
}

#[test]
fn numbers_that_do_not_are_found() {
    for (what, packets) in [
        ("a hidden loss", [(10, 50), (11, 52)]),
        ("an invented gap", [(10, 50), (12, 51)]),
        ("another order", [(10, 50), (11, 49)]),
        ("the same packet twice", [(10, 50), (11, 50)]),
        ("a first number too high", [(40_000, 50), (40_001, 51)]),
    ] {
        assert_eq!(found(&packets), Some(Invariant::Numbers), "{what}");
    }
    assert_eq!(found(&[(10, 50), (10, 51)]), Some(Invariant::Keystream));
}

#[test]
fn a_retransmission_has_the_original_payload_and_its_own_number() {
    let mut ledger = Ledger::default();
    assert_eq!(sent(&mut ledger, &[(10, 50), (11, 51)]), None);
    let mut repair = |sequence: u16, original: u16, number| {
        let bytes = packet(REPAIR, sequence, &original.to_be_bytes(), number);
        ledger
            .repair(LIFE, &RtpPacket::parse(&bytes).unwrap(), MEDIA)
            .err()
            .map(|found| found.invariant)
    };
    assert_eq!(repair(1, 10, 50), None);
    assert_eq!(repair(1, 11, 51), Some(Invariant::Keystream));
    assert_eq!(repair(2, 10, 51), Some(Invariant::Numbers));
}

#[test]
fn media_without_permission_is_found() {
    let everything = Grants {
        room: "hall",
        publish: true,
        only_microphone: false,
        subscribe: true,
        publish_data: true,
        update_metadata: true,
        hidden: false,
    };
    let mut permissions = Permissions::default();
    for name in ["ada", "bob"] {
        permissions.add_session(name.to_owned(), everything.clone(), true);
    }
    let source = permissions.add_source(SourceState {
        session: 0,
        allowed: true,
        over: false,
        sids: Vec::new(),
    });
    let is_found = |permissions: &mut Permissions| permissions.media(1, source).is_err();
    permissions.joined(0).unwrap();
    permissions.joined(1).unwrap();
    assert!(is_found(&mut permissions), "it was not announced");
    let track = Some(TrackInfo {
        sid: "TR_1".to_owned(),
        ..TrackInfo::default()
    });
    permissions.said(
        0,
        &signal_response::Message::TrackPublished(TrackPublishedResponse {
            cid: "track-0".to_owned(),
            track,
        }),
    );
    assert!(!is_found(&mut permissions));
    assert!(permissions.media(0, source).is_err(), "it is its own");

    let subscription = |subscribe| {
        let request = UpdateSubscription {
            track_sids: vec!["TR_1".to_owned()],
            subscribe,
            ..UpdateSubscription::default()
        };
        signal_request::Message::Subscription(request)
    };
    permissions.heard(1, &subscription(false), &[]);
    assert!(is_found(&mut permissions), "it was unsubscribed");
    permissions.heard(1, &subscription(true), &[]);
    assert!(!is_found(&mut permissions));
    permissions.heard(1, &signal_request::Message::Leave(LeaveRequest::default()), &[]);
    assert!(is_found(&mut permissions), "the receiver has left");
    permissions.joined(1).unwrap();
    permissions.heard(0, &subscription(true), &[source]);
    assert!(is_found(&mut permissions), "it is over");
}

#[test]
fn grants_are_drawn_from_the_seed() {
    let draw = || format!("{:?}", Grants::random(&mut StdRng::seed_from_u64(5)));
    assert_eq!(draw(), draw());
}
