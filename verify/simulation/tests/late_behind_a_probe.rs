//! A failure found by random histories, in as few packets as it takes.

use std::time::Instant;

use dataplane::{
    Clock, DataPlane, Ingress, Leg, LegId, Model, Path, Protection, Replica, ReplicaFormat, ReplicaId, Rewriting,
    Stream, StreamFormat, StreamKey, Update,
};
use wire::codec::Layer;
use wire::codec::vp8::Vp8Descriptor;
use wire::{Codec, ExtensionMap, MediaKind, NtpTime, PayloadType, RtpPacket, Ssrc};

const KEY_FRAME: u8 = 0;
const OTHER_FRAME: u8 = 1;
const PUBLISHER: LegId = LegId(1);
const RECEIVER: LegId = LegId(2);

fn path(leg: LegId) -> Path {
    Path {
        local: ([192, 0, 2, 1], 7882).into(),
        remote: ([198, 51, 100, leg.0 as u8], 1000).into(),
    }
}

fn stream(ssrc: u32) -> StreamKey {
    StreamKey {
        leg: PUBLISHER,
        ssrc: Ssrc(ssrc),
    }
}

fn replica(source: u32) -> Update {
    let vp8 = PayloadType::new(96).unwrap();
    let replica = Replica {
        leg: RECEIVER,
        ssrc: Ssrc(9),
        first_sequence: 0,
        rtx: None,
        formats: vec![ReplicaFormat {
            source: vp8,
            payload_type: vp8,
            rtx: None,
            primary_only: false,
        }],
        mid: None,
        playout_delay: None,
        source: Some(stream(source)),
        target: Layer::HIGHEST,
        fallback_spatial: None,
        rewriting: Rewriting::Exact,
        paused: false,
    };
    Update::SetReplica(ReplicaId(1), replica)
}

fn model(now: Instant) -> Model {
    let mut model = Model::new(Clock {
        origin: now,
        ntp: NtpTime(1 << 40),
    });
    for id in [PUBLISHER, RECEIVER] {
        let (extensions_in, extensions_out) = (ExtensionMap::default(), ExtensionMap::default());
        let leg = Leg {
            paths: vec![path(id)],
            shared: None,
            protection: Protection::Clear,
            extensions_in,
            extensions_out,
        };
        model.write(now, Update::SetLeg(id, leg)).unwrap();
    }
    let formats = vec![StreamFormat {
        payload_type: PayloadType::new(96).unwrap(),
        codec: Codec::Vp8,
        rtx: None,
    }];
    for ssrc in [1, 2] {
        let entry = Stream {
            kind: MediaKind::Video,
            formats: formats.clone(),
            rtx: None,
            mid: None,
            reference: None,
        };
        model.write(now, Update::SetStream(stream(ssrc), entry)).unwrap();
    }
    model.write(now, replica(1)).unwrap();
    model
}

/// The picture id that a frame of one packet arrives with, if it does. Without a picture it is a
/// probe.
fn send(model: &mut Model, now: Instant, ssrc: u32, sequence: u8, picture: Option<(u8, u8)>) -> Option<u16> {
    let mut bytes = vec![
        if picture.is_some() { 0x80 } else { 0xa0 },
        96,
        0,
        sequence,
        0,
        0,
        0,
        sequence,
        0,
        0,
        0,
        ssrc as u8,
    ];
    match picture {
        Some((id, frame)) => bytes.extend([0x90, 0x80, 0x80, id, frame]),
        None => bytes.extend([0, 0, 0, 4]),
    }
    let mut out = Vec::new();
    model.packet(
        now,
        Ingress {
            path: path(PUBLISHER),
            bytes: &bytes,
        },
        &mut out,
    );
    let sent = out.pop()?;
    let descriptor = Vp8Descriptor::parse(RtpPacket::parse(&sent.bytes).ok()?.payload()).ok()?;
    descriptor.picture_id.map(|id| id.value())
}

#[test]
#[expect(clippy::disallowed_methods, reason = "an instant can only be had from the clock")]
fn a_switch_continues_the_picture_id_of_a_packet_that_came_late_behind_a_probe() {
    let now = Instant::now();
    let mut model = model(now);
    assert_eq!(send(&mut model, now, 1, 10, Some((20, KEY_FRAME))), Some(20));
    assert_eq!(send(&mut model, now, 1, 12, None), None);
    assert_eq!(send(&mut model, now, 1, 11, Some((21, OTHER_FRAME))), Some(21));
    model.write(now, replica(2)).unwrap();
    assert_eq!(send(&mut model, now, 2, 50, Some((90, KEY_FRAME))), Some(22));
}
