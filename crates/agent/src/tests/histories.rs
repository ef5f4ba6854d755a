//! Random histories: for any commands in any order, the tables accept every entry and every
//! removal.

use super::world::*;
use crate::Counter;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use southbound::{Command, DtlsRole, SubscriptionId, SubscriptionSettings, TrackId};

const HISTORIES: u64 = 60;
const STEPS: usize = 120;

/// A call in clear RTP, so that a thousand joins cost no handshake.
struct Call {
    world: World,
    rng: StdRng,
    sequence: u16,
    next_ssrc: u32,
    subscriptions: Vec<SubscriptionId>,
}

impl Call {
    fn new(seed: u64) -> Self {
        let world = World::with(|config| {
            config.clear_rtp = true;
            config.last_n = seed as usize % 3;
        });
        Call {
            world,
            rng: StdRng::seed_from_u64(seed),
            sequence: 0,
            next_ssrc: 5_000,
            subscriptions: Vec::new(),
        }
    }

    fn peer(&mut self) -> Option<usize> {
        let peers = self.world.peers.len();
        (peers > 0).then(|| self.rng.random_range(0..peers))
    }

    fn join(&mut self) {
        let peer = self.world.add_peer(DtlsRole::Server, Vec::new());
        if self.rng.random() {
            self.world.peers[peer].extensions_out = extensions();
        }
        let mut remote = self.world.peers[peer].description(DtlsRole::Server);
        remote.fingerprints.clear();
        let transport = self.world.peers[peer].transport;
        self.world.command(Command::Connect { transport, remote });
        if self.rng.random_bool(0.9) {
            self.world.check(peer, true);
        }
    }

    fn publish(&mut self, peer: usize) {
        let rids: &[&str] = [&[][..], &["q", "f"], &["q", "h", "f"]][self.rng.random_range(0..3)];
        self.world.publish_video(peer, rids);
    }

    fn subscribe(&mut self, peer: usize) {
        let Some(publisher) = self.peer() else { return };
        self.next_ssrc += 2;
        let track = TrackId(100 + publisher as u64);
        let settings = SubscriptionSettings {
            enabled: self.rng.random(),
            encoding_max: self.rng.random_range(0..4),
            encoding_exact: self.rng.random(),
            spatial_max: self.rng.random_range(0..3),
            size: [(0, 0), (320, 180), (u16::MAX, u16::MAX)][self.rng.random_range(0..3)],
            fps: self.rng.random_range(0..40),
            priority: self.rng.random(),
        };
        let subscription = self.world.subscribe(peer, track, self.next_ssrc, settings);
        self.subscriptions.push(subscription);
    }

    fn send(&mut self, peer: usize) {
        for _ in 0..self.rng.random_range(1..5) {
            self.sequence = self.sequence.wrapping_add(self.rng.random_range(1..4));
            let rid = ["", "q", "h", "f"][self.rng.random_range(0..4)];
            let ssrc =
                10 + peer as u32 * 10 + rid.len() as u32 * u32::from(rid.as_bytes().first().copied().unwrap_or(0) % 7);
            let payload = if self.rng.random_bool(0.3) { KEY } else { DELTA };
            let number = Some(self.sequence);
            let packet = Packet {
                rid,
                transport_sequence: number,
                ..video(ssrc, self.sequence, payload)
            };
            self.world.send(peer, packet);
        }
    }

    fn step(&mut self) {
        let Some(peer) = self.peer() else { return self.join() };
        let track = TrackId(100 + peer as u64);
        match self.rng.random_range(0..15) {
            0 => self.join(),
            1 => {
                let transport = self.world.peers[peer].transport;
                self.world.command(Command::Close { transport });
            }
            2 => self.publish(peer),
            3 => self.world.command(Command::Unpublish { track }),
            4 | 5 => self.subscribe(peer),
            6 => {
                if let Some(subscription) = self.subscriptions.pop() {
                    self.world.command(Command::Unsubscribe { subscription });
                }
            }
            8 => {
                let forwarding = self.rng.random();
                self.world.command(Command::SetForwarding { track, forwarding });
            }
            9 => {
                let rank = self.rng.random::<bool>().then_some(self.rng.random_range(0..4));
                self.world.command(Command::SetSpeakerRank { track, rank });
            }
            10 => {
                let estimate = 1 << self.rng.random_range(0..62);
                self.world.send_rtcp(peer, |writer| _ = writer.remb(estimate, &[]));
            }
            7 => self.world.live(self.rng.random_range(0..1_500)),
            _ => self.send(peer),
        }
    }
}

#[test]
fn no_order_of_commands_leaves_anything_behind() {
    for seed in 0..HISTORIES {
        let mut call = Call::new(seed);
        (0..STEPS).for_each(|_| call.step());
        assert_eq!(call.world.count(Counter::WriteRefused), 0, "seed {seed}");
        call.world.close_all();
        call.world.advance(5_000);
        assert!(call.world.model.is_empty() && call.world.agent.is_idle(), "seed {seed}");
    }
}

/// A controller that has lost its state repeats its commands: the call does not notice.
#[test]
fn saying_everything_again_changes_nothing() {
    let mut world = World::new();
    let [ada, bob, cyd] = [(); 3].map(|()| world.reporting_peer());
    let tracks = [ada, bob].map(|peer| world.publish_video(peer, &["q", "h", "f"]));
    let settings = SubscriptionSettings {
        encoding_max: 1,
        ..BEST
    };
    for (ssrc, (receiver, track)) in (500..)
        .step_by(2)
        .zip([(bob, tracks[0]), (cyd, tracks[0]), (cyd, tracks[1])])
    {
        world.subscribe(receiver, track, ssrc, settings);
    }
    let transport = world.peers[cyd].transport;
    let limit = Some(300_000);
    for command in [
        Command::SetForwarding {
            track: tracks[1],
            forwarding: false,
        },
        Command::SetSpeakerRank {
            track: tracks[0],
            rank: Some(0),
        },
        Command::SetDownlinkLimit { transport, limit },
    ] {
        world.command(command);
    }
    for sequence in 0..20 {
        let payload = if sequence == 0 { KEY } else { DELTA };
        let packet = Packet {
            rid: "h",
            ..video(20, sequence, payload)
        };
        world.send(ada, packet);
        world.advance(20);
    }
    let said = world.commands.clone();
    let entries = world.model.entries();
    let written = world.model.written.len();
    world.notices.clear();
    for _ in 0..2 {
        said.iter().for_each(|command| world.command(command.clone()));
    }
    assert_eq!(world.model.entries(), entries);
    assert_eq!(world.model.written.len(), written, "no entry of a replica is written");
    assert_eq!(world.notices, []);
    assert_eq!(world.count(Counter::WriteRefused), 0);
}
