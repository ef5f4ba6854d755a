//! One receiver's downlink on the side of the SFU: source, pacer, estimator, and the arriving
//! reports.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bandwidth::{Estimator, ProbeId, Sent};
use pacing::{Class, Leave, Pacer};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use wire::rtcp::RtcpPacket;

use crate::Media;
use crate::link::{Link, Packet};
use crate::receiver::Receiver;
use crate::repeats::Repeats;
use crate::source::Source;

/// The pace as a multiple of the estimate: fast enough that a pacer adds little delay, slow enough
/// that the path's queue stays short.
const PACE: f64 = 2.5;
/// A packet of padding, as a device sends it. Shape: bytes of UDP payload.
const PADDING: u16 = 300;

/// Settings of one flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// When it begins.
    pub from: Duration,
    /// Its source.
    pub media: Media,
    /// Added to the path's delay, for this flow.
    pub farther: Duration,
    /// How often its receiver reports.
    pub feedback: Duration,
    /// Part of the reports that are lost.
    pub feedback_loss: f64,
    /// The usable rate, if the flow decides to send less. Shape: kilobits per second.
    pub wanted: Option<u32>,
    /// Whether it is copied by a data plane that neither paces nor pads.
    pub unpaced: bool,
}

/// A flow at work.
pub(crate) struct Flow {
    pub(crate) spec: Spec,
    pub(crate) estimator: Box<dyn Estimator>,
    pub(crate) receiver: Receiver,
    /// Bytes sent. Shape: bytes.
    pub(crate) sent_bytes: u64,
    /// Of it padding.
    pub(crate) padding_bytes: u64,
    pacer: Pacer<u16>,
    /// Used in place of the pacer without pacing.
    repeats: Repeats,
    source: Source,
    rng: StdRng,
    index: usize,
    epoch: Instant,
    number: u16,
    /// Reports on the way back.
    reports: VecDeque<(Duration, Vec<u8>)>,
    produced: Vec<(Class, u32)>,
}

impl Flow {
    pub(crate) fn new(index: usize, spec: Spec, mut estimator: Box<dyn Estimator>, epoch: Instant, seed: u64) -> Self {
        if let Some(wanted) = spec.wanted {
            estimator.wanted(u64::from(wanted) * 1000);
            estimator.held_back(true);
        }
        Self {
            estimator,
            receiver: Receiver::new(spec.feedback),
            sent_bytes: 0,
            padding_bytes: 0,
            pacer: Pacer::new(epoch, 1),
            repeats: Repeats::default(),
            source: Source::new(spec.media.clone(), spec.from),
            rng: StdRng::seed_from_u64(seed),
            index,
            epoch,
            number: 0,
            reports: VecDeque::new(),
            produced: Vec::new(),
            spec,
        }
    }

    /// Everything this flow does at `now`.
    pub(crate) fn step(&mut self, now: Duration, delay: Duration, link: &mut Link) {
        if now < self.spec.from {
            return;
        }
        self.hear(now, delay);
        let instant = self.epoch + now;
        if self.estimator.poll_timeout().is_some_and(|at| at <= instant) {
            self.estimator.timeout(instant);
        }
        let estimate = self.estimator.estimate();
        let pace = (PACE * estimate.target as f64) as u64;
        self.pacer.set_pace(instant, pace.max(estimate.burst.unwrap_or(0)));
        while let Some(probe) = self.estimator.poll_probe() {
            match self.spec.unpaced {
                true => self.repeats.probe(probe),
                false => self.pacer.probe(pacing::Probe {
                    id: probe.id.0,
                    rate: probe.rate,
                    bytes: probe.bytes,
                    packets: probe.packets,
                }),
            }
        }
        let mut produced = std::mem::take(&mut self.produced);
        self.source
            .produce(now, estimate.sendable as f64, &mut self.rng, &mut produced);
        for (class, bytes) in produced.drain(..) {
            if self.spec.unpaced {
                self.copy(now, bytes as u16, link);
                continue;
            }
            match self.pacer.may_leave(instant, class) {
                true => self.send(now, bytes as u16, link),
                // A pacer that is full refuses: the packet is lost before the link.
                false => drop(self.pacer.push(instant, class, bytes as usize, bytes as u16)),
            }
        }
        self.produced = produced;
        self.leave(now, link);
    }

    fn leave(&mut self, now: Duration, link: &mut Link) {
        while let Some(leave) = self.pacer.poll(self.epoch + now) {
            match leave {
                Leave::Packet(size) => self.send(now, size, link),
                Leave::Padding => {
                    self.padding_bytes += u64::from(PADDING);
                    self.send(now, PADDING, link);
                }
            }
        }
    }

    /// As the kernel does.
    fn copy(&mut self, now: Duration, size: u16, link: &mut Link) {
        let (probe, again) = self.repeats.leaves(now, size);
        self.padding_bytes += again * u64::from(size);
        (0..=again).for_each(|_| self.let_go(now, size, probe, link));
    }

    fn send(&mut self, now: Duration, size: u16, link: &mut Link) {
        let probe = self.pacer.left(self.epoch + now, usize::from(size)).map(ProbeId);
        self.let_go(now, size, probe, link);
    }

    fn let_go(&mut self, now: Duration, size: u16, probe: Option<ProbeId>, link: &mut Link) {
        let number = self.number;
        self.number = number.wrapping_add(1);
        self.sent_bytes += u64::from(size);
        self.estimator.sent(&[Sent {
            number,
            at: self.epoch + now,
            size,
            probe,
        }]);
        link.offer(Packet {
            flow: self.index,
            number,
            size,
            entered: now,
        });
    }

    /// The receiver's reports travel back, and arrived ones are read.
    fn hear(&mut self, now: Duration, delay: Duration) {
        let mut datagrams = Vec::new();
        self.receiver.report(now, &mut datagrams);
        for datagram in datagrams {
            if !self.rng.random_bool(self.spec.feedback_loss) {
                self.reports.push_back((now + delay + self.spec.farther, datagram));
            }
        }
        while self.reports.front().is_some_and(|(at, _)| *at <= now) {
            let Some((_, datagram)) = self.reports.pop_front() else {
                return;
            };
            for packet in RtcpPacket::compound(&datagram) {
                if let Ok(RtcpPacket::TransportFeedback(report)) = packet {
                    self.estimator.feedback(self.epoch + now, &mut report.packets());
                }
            }
        }
    }
}
