//! Faults between clients and node, and their probabilities.

use std::time::{Duration, Instant};

use rand::Rng;
use rand::rngs::StdRng;

/// Faults while a history is played. Probabilities are of one datagram, or of one signalling
/// message.
#[derive(Clone, Debug)]
pub struct Faults {
    /// A datagram is lost.
    pub packet_loss_probability: f64,
    /// A datagram arrives twice.
    pub packet_duplication_probability: f64,
    /// A datagram is overtaken by later ones.
    pub packet_reordering_probability: f64,
    /// One way, at least.
    pub delay_min: Duration,
    /// Added to the delay: up to this much, differently for each datagram.
    pub jitter_max: Duration,
    /// The greatest delay of an overtaken datagram.
    pub reordering_delay_max: Duration,
    /// A bit of a connectivity check flips. The rest is spared: media is protected in reality and
    /// in clear here, and a handshake whose unprotected half is changed may well fail.
    pub packet_corruption_probability: f64,
    /// A signalling connection breaks as a message is sent.
    pub signal_break_probability: f64,
    /// One way, at most.
    pub signal_delay_max: Duration,
}

impl Faults {
    /// Draws how bad it is: one network in four is perfect, most are poor, some are terrible.
    pub fn random(rng: &mut StdRng) -> Self {
        let severity = [0.0, 0.3, 0.3, 1.0][rng.random_range(0..4)];
        let mut upto = |max: f64| rng.random_range(0.0..=max) * severity;
        Self {
            packet_loss_probability: upto(0.2),
            packet_duplication_probability: upto(0.05),
            packet_reordering_probability: upto(0.2),
            packet_corruption_probability: upto(0.05),
            signal_break_probability: upto(0.02),
            delay_min: Duration::from_millis(rng.random_range(1..80)),
            jitter_max: Duration::from_millis(rng.random_range(1..40)),
            reordering_delay_max: Duration::from_millis(rng.random_range(1..300)),
            signal_delay_max: Duration::from_millis(rng.random_range(2..200)),
        }
    }

    /// The same network without faults; it is no faster.
    pub fn healed(&self) -> Self {
        Self {
            packet_loss_probability: 0.0,
            packet_duplication_probability: 0.0,
            packet_reordering_probability: 0.0,
            packet_corruption_probability: 0.0,
            signal_break_probability: 0.0,
            ..self.clone()
        }
    }

    /// Arrivals of the copies of a datagram that is sent now: none, one or two. A link keeps the
    /// order except for deliberate overtaking: `last` is the arrival of its newest datagram.
    pub(crate) fn carry(
        &self,
        now: Instant,
        last: &mut Instant,
        rng: &mut StdRng,
    ) -> impl Iterator<Item = Instant> + use<> {
        let copies = if rng.random_bool(self.packet_loss_probability) {
            0
        } else {
            1 + usize::from(rng.random_bool(self.packet_duplication_probability))
        };
        let arrivals = [0, 1].map(|_| self.arrival(now, last, rng));
        arrivals.into_iter().take(copies)
    }

    fn arrival(&self, now: Instant, last: &mut Instant, rng: &mut StdRng) -> Instant {
        let in_order = (now + self.delay_min + rng.random_range(Duration::ZERO..=self.jitter_max)).max(*last);
        if rng.random_bool(self.packet_reordering_probability) {
            return in_order + rng.random_range(Duration::ZERO..=self.reordering_delay_max);
        }
        *last = in_order;
        in_order
    }
}
