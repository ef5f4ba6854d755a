//! A whole node in virtual time: the real agent over the real control handle, one publisher, and
//! receivers that report.

use std::time::{Duration, Instant};

use agent::{Agent, Certificate, Config};
use dataplane::{Clock, Counter, DataPlane, LegId, Path};
use southbound::{Command, Notice};
use virtual_device::Link;
use wire::{MediaKind, NtpTime, PacketKind, RtpPacket};

use crate::commands;
use crate::entries::{self, TRANSPORT_SEQUENCE};
use crate::meter::{Cost, Meter, heap};
use crate::plane::Plane;
use crate::publisher::Publisher;

/// A device wakes its agent for reports as often.
const TURN: Duration = Duration::from_millis(5);
const PICTURE: Duration = Duration::from_micros(33_333);
const SOUND: Duration = Duration::from_millis(20);
/// As often a browser proves that it is still there.
const CHECK: Duration = Duration::from_secs(5);
/// Capacity of each receiver's last mile, which is enough for everything. Shape: bits per second.
const LAST_MILE: u64 = 20_000_000;

/// The publisher's leg; the receivers' follow.
const PUBLISHER: LegId = LegId(0);

/// A meeting under way.
pub(crate) struct Node {
    agent: Agent,
    plane: Plane,
    notices: Vec<Notice>,
    now: Instant,
    publisher: Publisher,
    links: Vec<Link>,
    picture_at: Instant,
    sound_at: Instant,
    check_at: Instant,
}

impl Node {
    /// One publisher with camera and microphone, and receivers of both.
    pub(crate) fn new(receivers: u32) -> Self {
        let start = Instant::now();
        let clock = Clock {
            origin: start,
            ntp: NtpTime(3_900_000_000 << 32),
        };
        let certificate = Certificate::generate().expect("there is randomness");
        let mut config = Config::new(vec![entries::path(PUBLISHER).local], certificate);
        config.clear_rtp = true;
        let mut node = Node {
            agent: Agent::new(config, clock, 1),
            plane: Plane::new(clock),
            notices: Vec::new(),
            now: start,
            publisher: Publisher::in_clear(PUBLISHER),
            links: Vec::new(),
            picture_at: start,
            sound_at: start,
            check_at: start + CHECK,
        };
        node.join(PUBLISHER);
        for kind in [MediaKind::Audio, MediaKind::Video] {
            node.command(commands::publish(PUBLISHER, kind));
        }
        for receiver in (1..=receivers).map(LegId) {
            node.links.push(Link::new(LAST_MILE, TRANSPORT_SEQUENCE, start));
            node.join(receiver);
            for kind in [MediaKind::Audio, MediaKind::Video] {
                node.command(commands::subscribe(receiver, kind));
            }
        }
        node
    }

    /// How many packets were sent to receivers.
    pub(crate) fn forwarded(&mut self) -> u64 {
        self.plane.counters()[Counter::Forwarded]
    }

    /// Plays the call for `time`. The work of the agent's thread is added to `cost`; the packet
    /// path is not.
    pub(crate) fn play(&mut self, time: Duration, meter: &mut Meter, cost: &mut Cost) {
        let until = self.now + time;
        while self.now < until {
            self.now += TURN;
            self.arrive();
            self.pass_on();
            self.act(meter, cost);
            self.pass_on();
        }
    }

    /// Ends the call; returns how many bytes of heap the agent had.
    pub(crate) fn end(self) -> u64 {
        let before = heap();
        drop(self.agent);
        before - heap()
    }

    fn join(&mut self, peer: LegId) {
        commands::connect(peer)
            .into_iter()
            .for_each(|command| self.command(command));
        self.plane
            .receive(self.now, entries::path(peer), &commands::check(peer));
        // The agent answers, and has its own check answered.
        for _ in 0..2 {
            self.act(&mut Meter::none(), &mut Cost::default());
            self.pass_on();
        }
    }

    fn command(&mut self, command: Command) {
        self.agent
            .command(self.now, command, &mut self.plane, &mut self.notices);
        self.pass_on();
    }

    /// Delivers the next packets of all participants to the device.
    fn arrive(&mut self) {
        let now = self.now;
        let mut sent = Vec::new();
        for (kind, at, interval) in [
            (MediaKind::Audio, &mut self.sound_at, SOUND),
            (MediaKind::Video, &mut self.picture_at, PICTURE),
        ] {
            if *at <= now {
                *at += interval;
                sent.extend(self.publisher.next(kind).into_iter().map(|packet| (PUBLISHER, packet)));
            }
        }
        for (link, receiver) in self.links.iter_mut().zip(1..) {
            let mut reports = Vec::new();
            link.report(now, &mut reports);
            sent.extend(reports.into_iter().map(|report| (LegId(receiver), report)));
        }
        if self.check_at <= now {
            self.check_at += CHECK;
            let peers = (PUBLISHER.0..=self.links.len() as u32).map(LegId);
            sent.extend(peers.map(|peer| (peer, commands::check(peer))));
        }
        for (peer, datagram) in sent {
            self.plane.receive(now, entries::path(peer), &datagram);
        }
    }

    /// The agent's turn: its events and timeouts.
    fn act(&mut self, meter: &mut Meter, cost: &mut Cost) {
        let (agent, plane, notices, now) = (&mut self.agent, &mut self.plane, &mut self.notices, self.now);
        meter.count(cost, || {
            while let Some(event) = plane.poll() {
                agent.event(now, event, plane, notices);
            }
            if agent.poll_timeout().is_some_and(|due| due <= now) {
                agent.handle_timeout(now, plane, notices);
            }
        });
        self.notices.clear();
    }

    /// The device's turn: its packets are delivered to the receivers.
    fn pass_on(&mut self) {
        for (path, datagram) in self.plane.work(self.now) {
            self.deliver(&path, &datagram);
        }
    }

    fn deliver(&mut self, path: &Path, datagram: &[u8]) {
        if let Some(peer) = entries::leg_at(path)
            && let Some(answer) = virtual_device::answer(datagram, path.local, &commands::password(peer))
        {
            self.plane.receive(self.now, *path, &answer);
            return;
        }
        let receiver = entries::leg_at(path).and_then(|peer| (peer.0 as usize).checked_sub(1));
        let Some(link) = receiver.and_then(|receiver| self.links.get_mut(receiver)) else {
            return;
        };
        if let (PacketKind::Rtp, Ok(packet)) = (wire::classify(datagram), RtpPacket::parse(datagram)) {
            link.take(self.now, packet, datagram.len());
        }
    }
}
