//! A call whose receivers open what they get.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use backend_udp::InlinePlane;
use dataplane::{
    DataPlane, Departure, Event, Inject, LegId, Path, Protection, ReplicaId, SrtpProfile, Update, Verdict,
};
use wire::{RtpPacket, Ssrc};

use crate::support::*;

pub(crate) const VIDEO: u32 = 0x11;
pub(crate) const AUDIO: u32 = 0x22;
pub(crate) const SIZE: usize = 1_000;
pub(crate) const PROFILE: SrtpProfile = SrtpProfile::AeadAes128Gcm;

pub(crate) const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

pub(crate) fn publisher() -> Path {
    path("10.0.0.1:7882", "10.0.1.1:1")
}

pub(crate) fn receiver(number: u32) -> Path {
    path("10.0.0.1:7882", &format!("10.0.2.{number}:2"))
}

/// A packet as one receiver saw it.
#[derive(Clone, Debug)]
pub(crate) struct Got {
    pub(crate) at: Instant,
    pub(crate) leg: LegId,
    pub(crate) ssrc: Ssrc,
    pub(crate) sequence: u16,
    pub(crate) transport: u16,
    pub(crate) payload: Vec<u8>,
    pub(crate) len: usize,
    pub(crate) clear: Vec<u8>,
}

/// A call whose receivers open what they get. Leg 0 sends to leg 1, which has a pace, and to leg 2,
/// which has none.
pub(crate) struct Call {
    pub(crate) plane: InlinePlane,
    pub(crate) peers: HashMap<LegId, Peer>,
    pub(crate) start: Instant,
    pub(crate) now: Instant,
    pub(crate) got: Vec<Got>,
    pub(crate) video: u16,
    pub(crate) audio: u16,
}

impl Call {
    pub(crate) fn new(shards: usize, pace: u64) -> Self {
        let now = Instant::now();
        let mut plane = InlinePlane::new(shards, clock());
        set_leg(&mut plane, 0, publisher(), Protection::Clear);
        set_stream(&mut plane, stream_key(0, VIDEO), video());
        set_stream(&mut plane, stream_key(0, AUDIO), audio());
        let mut peers = HashMap::new();
        for number in 1..=2 {
            set_leg(&mut plane, number, receiver(number), srtp(PROFILE, number as u8));
            peers.insert(LegId(number), Peer::new(PROFILE, number as u8));
            set_replica(&mut plane, number, replica(number, 1_000, stream_key(0, VIDEO)));
            set_replica(&mut plane, 10 + number, replica(number, 2_000, stream_key(0, AUDIO)));
        }
        let mut call = Call {
            plane,
            peers,
            start: now,
            now,
            got: Vec::new(),
            video: 0,
            audio: 0,
        };
        call.write(Update::SetPace(LegId(1), Some(pace)));
        call
    }

    pub(crate) fn write(&mut self, update: Update) {
        self.plane.write(self.now, update).unwrap();
        self.take();
    }

    pub(crate) fn send_video(&mut self, frame: u8) {
        self.video += 1;
        let packet = vp8(VIDEO, self.video, frame, SIZE);
        assert_eq!(self.plane.packet(self.now, 0, publisher(), &packet), Verdict::Forward);
        self.take();
    }

    pub(crate) fn send_audio(&mut self) {
        self.audio += 1;
        let packet = rtp(AUDIO, AUDIO_TYPE, self.audio, b"sound");
        self.plane.packet(self.now, 0, publisher(), &packet);
        self.take();
    }

    /// Takes everything away from leg 1 that it could be sent.
    pub(crate) fn remove_replicas(&mut self) {
        self.write(Update::RemoveReplica(ReplicaId(1)));
        self.write(Update::RemoveReplica(ReplicaId(11)));
    }

    pub(crate) fn inject(&mut self, what: Inject<'_>) {
        self.plane.inject(self.now, what);
        self.take();
    }

    /// Runs until `end`, waking up at the millisecond behind the time asked for, as a thread does.
    /// Packets that are due just then have been sent as well.
    pub(crate) fn run_until(&mut self, end: Duration) {
        let end = self.start + end;
        while let Some(due) = self.plane.due().filter(|due| *due <= end) {
            let late = due.saturating_duration_since(self.now).as_nanos().div_ceil(1_000_000);
            assert!(late > 0, "it spins");
            self.now += ms(late as u64);
            self.plane.advance(self.now);
            self.take();
        }
        self.now = self.now.max(end);
    }

    pub(crate) fn take(&mut self) {
        for egress in self.plane.take_sent() {
            let leg = egress.leg.unwrap();
            let opened = self.peers.get_mut(&leg).unwrap().open(&egress.bytes);
            let view = RtpPacket::parse(&opened).unwrap();
            let transport = view.extension(3).unwrap();
            self.got.push(Got {
                at: self.now,
                leg,
                ssrc: view.ssrc(),
                sequence: view.sequence().0,
                transport: u16::from_be_bytes([transport[0], transport[1]]),
                payload: view.payload().to_vec(),
                len: egress.bytes.len(),
                clear: opened,
            });
        }
    }

    /// The packets of the receiver with the pace.
    pub(crate) fn paced(&self) -> Vec<Got> {
        let got = self.got.iter().filter(|got| got.leg == LegId(1));
        got.cloned().collect()
    }

    pub(crate) fn departures(&mut self) -> Vec<Departure> {
        let events = events(&mut self.plane).into_iter();
        let departures = events.filter_map(|event| match event {
            Event::Departures {
                leg: LegId(1),
                departures,
            } => Some(departures),
            _ => None,
        });
        departures.flatten().collect()
    }

    pub(crate) fn sequences(&self, ssrc: u32) -> Vec<u16> {
        let got = self.paced().into_iter().filter(|got| got.ssrc == Ssrc(ssrc));
        got.map(|got| got.sequence).collect()
    }
}
