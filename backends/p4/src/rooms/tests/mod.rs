//! Rooms on a switch that does what it is told.

mod histories;
mod losing;
mod moving;
mod replication;
mod reports;
mod shared;

use std::time::{Duration, Instant};

use dataplane::{
    Answer, Event, Leg, LegId, Path, Protection, Refused, Replica, ReplicaFormat, ReplicaId, ReplicaSnapshot,
    Rewriting, Stream, StreamFormat, StreamKey, WriteId, Written,
};
use wire::codec::Layer;
use wire::{Codec, ExtensionKind, ExtensionMap, MediaKind, Mid, PayloadType, Ssrc};

use super::*;
use crate::config::tests::config;
use crate::core::Core;
use crate::core::{PacketIn, Sizes};
use crate::entry::{Op, Table};
use crate::fake::FakeSwitch;
use crate::link::Away;

const AUDIO: u8 = 111;
const VIDEO: u8 = 98;
const DESCRIPTOR: u8 = 8;

/// A structure of one spatial and three temporal layers, as an encoder sends it: templates 0 to 4.
const L1T3: &str = "800001800214eaa860414d1410208427013f00b3";

/// The driver, a switch, and a base that releases what it is asked for.
struct Bench {
    core: Core,
    switch: FakeSwitch,
    now: Instant,
    writes: u64,
}

impl Bench {
    /// The switch is there and has a lease.
    fn new() -> Self {
        Bench::with(config())
    }

    fn with(config: crate::P4Config) -> Self {
        let now = Instant::now();
        let sizes = Sizes {
            relays: 16,
            replicas: 64,
            streams: 1 << 16,
        };
        let mut bench = Bench {
            core: Core::new(config, sizes, 7, now),
            switch: FakeSwitch::default(),
            now,
            writes: 0,
        };
        bench.install();
        bench
    }

    /// The switch comes without entries.
    fn install(&mut self) {
        self.switch.entries.clear();
        self.core.at(self.now).installed();
        self.core.up();
        self.switch.work(&mut self.core);
        assert!(self.core.renews());
    }

    /// The switch comes back with what it had.
    fn reconnect(&mut self) {
        self.core.at(self.now).found(self.switch.entries.clone(), 0);
        self.core.up();
        self.switch.work(&mut self.core);
    }

    /// Time passes, with a switch that answers.
    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.now = until.min(self.now + Duration::from_millis(100));
            self.core.at(self.now).link.answered(self.now);
            self.core.renews();
            self.core.tick();
            self.switch.work(&mut self.core);
        }
    }

    fn rooms<T>(&mut self, act: impl FnOnce(&mut Rooms, &mut Context<'_>) -> T) -> T {
        self.core.at(self.now).with(|_, rooms, context| act(rooms, context))
    }

    fn set(&mut self, id: u32, replica: Replica) -> Result<(), Refused> {
        let answer = self.rooms(|rooms, context| rooms.set_replica(context, ReplicaId(id), replica));
        self.switch.work(&mut self.core);
        answer
    }

    fn candidate(&mut self) -> Option<(u32, bool)> {
        self.rooms(|rooms, _| rooms.next_candidate())
            .map(|(id, at_key_frame)| (id.0, at_key_frame))
    }

    /// The base releases a replica in this state, and the switch gets it.
    fn take_over(&mut self, id: u32, from: Option<ReplicaSnapshot>) -> Answer {
        self.writes += 1;
        let write = WriteId(self.writes);
        let answer = self.rooms(|rooms, context| rooms.take_over(context, write, ReplicaId(id), from));
        self.switch.work(&mut self.core);
        answer
    }

    fn written(&mut self) -> Vec<Written> {
        std::iter::from_fn(|| self.core.rooms.next_written()).collect()
    }

    fn returned(&mut self) -> Vec<u32> {
        std::iter::from_fn(|| self.core.rooms.next_returned())
            .map(|id| id.0)
            .collect()
    }

    fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.core.rooms.next_event()).collect()
    }

    fn sends(&self, id: u32) -> bool {
        self.core.rooms.sends(ReplicaId(id))
    }

    /// The legs 1 to `count`, each on a port of its own.
    fn legs(&mut self, count: u32) {
        for id in 1..=count {
            let leg = leg(id);
            self.rooms(|rooms, context| rooms.set_leg(context, LegId(id), leg))
                .unwrap();
        }
    }

    fn stream(&mut self, key: StreamKey, stream: Stream) {
        self.rooms(|rooms, context| rooms.set_stream(context, key, stream))
            .unwrap();
        self.switch.work(&mut self.core);
    }

    /// A replica of a stream that ends up on the switch.
    fn moved(&mut self, id: u32, replica: Replica, described: bool) {
        let source = replica.source;
        assert_eq!(self.set(id, replica), Err(Refused::Pending));
        if described {
            self.structure(source.unwrap(), L1T3);
        }
        assert_eq!(self.candidate(), Some((id, described)));
        let from = ReplicaSnapshot {
            source: source.filter(|_| !described),
            newest: 1_000,
            next: 70,
            timestamp_offset: 5,
            frame_offset: 3,
            ..ReplicaSnapshot::default()
        };
        assert_eq!(self.take_over(id, Some(from)), Answer::Pending);
        assert!(self.sends(id));
        assert_eq!(self.written().len(), 1);
    }

    /// The switch punts a packet with a structure.
    fn structure(&mut self, key: StreamKey, descriptor: &str) {
        let number = self.core.rooms.streams[&key].number.expect("the switch has the stream");
        let packet = PacketIn {
            reason: 1,
            stream: number,
            frame: frame(&media(100, 9_000, Some(&bytes(descriptor)))),
            ..PacketIn::default()
        };
        self.core.at(self.now).packet_in(Some(packet));
        self.switch.work(&mut self.core);
    }

    /// The entry of a replica on the switch.
    fn send(&self, id: u32) -> Vec<u128> {
        let on_switch = self.core.rooms.on_switch(ReplicaId(id)).expect("it is on the switch");
        let key = on_switch.entries.keys().find(|key| key.table() == Some(Table::Replica));
        match &self.switch.entries[key.expect("it has its entry")] {
            Value::Data(data) => data.clone(),
            other => panic!("{other:?}"),
        }
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16));
    digits.collect::<Result<_, _>>().unwrap()
}

/// An RTP packet, with a dependency descriptor if it has one.
fn media(sequence: u16, timestamp: u32, descriptor: Option<&[u8]>) -> Vec<u8> {
    let mut packet = vec![0x80, VIDEO];
    packet.extend(sequence.to_be_bytes());
    packet.extend(timestamp.to_be_bytes());
    packet.extend(7_u32.to_be_bytes());
    if let Some(descriptor) = descriptor {
        packet[0] |= 0x10;
        let mut element = vec![DESCRIPTOR, descriptor.len() as u8];
        element.extend(descriptor);
        element.resize(element.len().next_multiple_of(4), 0);
        packet.extend([0x10, 0x00, 0, (element.len() / 4) as u8]);
        packet.extend(element);
    }
    packet.extend([1, 2, 3, 4]);
    packet
}

/// The same in a frame.
fn frame(media: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    etherparse::PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2])
        .ipv4([10, 0, 2, 5], [10, 0, 1, 9], 64)
        .udp(4_000, 7_882)
        .write(&mut frame, media)
        .unwrap();
    frame
}

fn leg(id: u32) -> Leg {
    let mut extensions_in = ExtensionMap::default();
    let mut extensions_out = ExtensionMap::default();
    for (kind, number) in [
        (ExtensionKind::Mid, 1),
        (ExtensionKind::AudioLevel, 2),
        (ExtensionKind::AbsSendTime, 3),
        (ExtensionKind::DependencyDescriptor, DESCRIPTOR),
    ] {
        extensions_in.insert(kind, number).unwrap();
        extensions_out.insert(kind, number).unwrap();
    }
    let port = 2 + id % 2;
    Leg {
        paths: vec![Path {
            local: "10.0.1.9:7882".parse().unwrap(),
            remote: format!("10.0.{port}.5:{}", 4_000 + id).parse().unwrap(),
        }],
        shared: None,
        protection: Protection::Clear,
        extensions_in,
        extensions_out,
    }
}

fn key(leg: u32, ssrc: u32) -> StreamKey {
    StreamKey {
        leg: LegId(leg),
        ssrc: Ssrc(ssrc),
    }
}

fn payload_type(value: u8) -> PayloadType {
    PayloadType::new(value).unwrap()
}

fn stream(kind: MediaKind, payload: u8, codec: Codec) -> Stream {
    Stream {
        kind,
        formats: vec![StreamFormat {
            payload_type: payload_type(payload),
            codec,
            rtx: None,
        }],
        rtx: None,
        mid: None,
        reference: None,
    }
}

fn opus() -> Stream {
    stream(MediaKind::Audio, AUDIO, Codec::Opus)
}

fn av1() -> Stream {
    stream(MediaKind::Video, VIDEO, Codec::Av1)
}

/// A replica of a stream to a leg, with payload types one higher.
fn replica(leg: u32, ssrc: u32, source: StreamKey, payload: u8) -> Replica {
    Replica {
        leg: LegId(leg),
        ssrc: Ssrc(ssrc),
        first_sequence: 70,
        rtx: None,
        formats: vec![ReplicaFormat {
            source: payload_type(payload),
            payload_type: payload_type(payload + 1),
            rtx: None,
            primary_only: false,
        }],
        mid: Mid::new("7"),
        playout_delay: None,
        source: Some(source),
        target: Layer::HIGHEST,
        fallback_spatial: None,
        rewriting: Rewriting::LowMemory,
        paused: false,
    }
}
