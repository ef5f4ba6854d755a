//! The interface of an estimator: its input and its output.

use std::time::{Duration, Instant};

use wire::rtcp::ArrivalTicks;

/// Estimates the capacity of one downlink.
///
/// The owner calls [`sent`](Self::sent) with every sent packet that has a transport-wide sequence
/// number, [`feedback`](Self::feedback) or [`remb`](Self::remb) with the receiver's reports, and
/// [`timeout`](Self::timeout) when [`poll_timeout`](Self::poll_timeout) is due. After each of them
/// it reads [`estimate`](Self::estimate) and empties [`poll_probe`](Self::poll_probe).
pub trait Estimator {
    /// Packets were sent, in the order of their numbers. The call must precede the feedback on
    /// them.
    fn sent(&mut self, packets: &[Sent]);

    /// The receiver reports on packets, as
    /// [`TransportFeedback::packets`](wire::rtcp::TransportFeedback::packets) yields them.
    ///
    /// Errors: none; an impossible report is ignored and counted in [`anomalies`](Self::anomalies).
    fn feedback(&mut self, now: Instant, report: &mut dyn Iterator<Item = (u16, Option<ArrivalTicks>)>);

    /// The receiver's own estimate (REMB). Without other feedback it is the estimate, otherwise an
    /// upper bound.
    fn remb(&mut self, now: Instant, bits_per_second: u64);

    /// The rate that could be used if the path carried it: the sum of all subscriptions at their
    /// best. Probes do not exceed it.
    fn wanted(&mut self, bits_per_second: u64);

    /// Whether less is sent than is wanted, by a decision that may change at any time. If much less
    /// is sent than the estimate, probes check that the estimate still holds, before the decision
    /// changes.
    fn held_back(&mut self, is_held_back: bool);

    /// A time given by [`poll_timeout`](Self::poll_timeout) has passed.
    fn timeout(&mut self, now: Instant);

    /// When to call [`timeout`](Self::timeout), if at all.
    fn poll_timeout(&self) -> Option<Instant>;

    /// The next probe to send, if any.
    fn poll_probe(&mut self) -> Option<Probe>;

    /// The current estimate.
    fn estimate(&self) -> Estimate;

    /// Impossible reports since the beginning.
    fn anomalies(&self) -> Anomalies;
}

/// The initial settings of an estimator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The initial rate. Shape: bits per second, as everything here.
    pub start: u64,
    /// The lower bound of every estimate: audio must continue in any case.
    pub min: u64,
    /// The upper bound of every estimate.
    pub max: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            start: 300_000,
            min: 50_000,
            max: 30_000_000,
        }
    }
}

/// One packet that left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its transport-wide sequence number.
    pub number: u16,
    /// When it left: after the pacer, before the socket.
    pub at: Instant,
    /// Bytes of UDP payload.
    pub size: u16,
    /// The probe it is part of. Media sent while a probe runs is part of it like padding is.
    pub probe: Option<ProbeId>,
}

/// Names one probe of one estimator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProbeId(pub u32);

/// A burst to send at a given rate, made of waiting packets and, for the rest, of padding or
/// retransmissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// To be noted with each of its packets.
    pub id: ProbeId,
    /// How fast. Shape: bits per second.
    pub rate: u64,
    /// The least number of bytes.
    pub bytes: u32,
    /// The least number of packets, whose distances are measured.
    pub packets: u32,
}

/// An estimate, and the measurements behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The capacity of the path. Shape: bits per second of UDP payload.
    pub target: u64,
    /// The rate to send now: less than the target while a queue that we filled drains.
    pub sendable: u64,
    /// The reason that the target is not higher.
    pub limit: Limit,
    /// The state of the delay.
    pub usage: Usage,
    /// The received rate, once known. Shape: bits per second.
    pub acknowledged: Option<u64>,
    /// Part of the packets that did not arrive, over the last few seconds. Shape: 0 to 1.
    pub loss: f64,
    /// Round-trip time without the time the receiver waited to report, smoothed.
    pub round_trip: Option<Duration>,
    /// How much longer packets take than the fastest ones of the last ten seconds.
    pub queue: Duration,
    /// The rate at which packets of a burst may follow each other, if bursts as large passed
    /// without a queue. Shape: bits per second.
    pub burst: Option<u64>,
    /// Whether much less is sent than could be, so that only probes can find out more.
    pub application_limited: bool,
}

/// The reason that an estimate is not higher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// Nothing is known yet.
    Start,
    /// Growing or falling delay.
    Delay,
    /// Packets that do not arrive.
    Loss,
    /// The receiver's own estimate.
    Remb,
    /// The receiver no longer reports.
    FeedbackTimeout,
}

/// The use of the path, as seen from delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Usage {
    /// As much as is carried, or less.
    #[default]
    Normal,
    /// More: a queue grows.
    Over,
    /// Less: a queue drains.
    Under,
}

/// Impossible reports, by kind. They have no effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Anomalies {
    /// Numbers that were never sent, or were forgotten.
    pub unknown: u64,
    /// Packets that had arrived already.
    pub repeated: u64,
    /// Arrival times that jump, back or ahead, by more than a queue can explain.
    pub jumps: u64,
    /// Probes that arrived faster than they can have been sent.
    pub impossible_probes: u64,
}
