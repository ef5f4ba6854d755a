//! How good a participant's connection is, in the four words clients show.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use southbound::{TransportId, TransportQuality};

use crate::ConnectionQuality;

/// A change is told no more often than this.
pub(crate) const INTERVAL: Duration = Duration::from_secs(5);

/// The quality of one participant's connection.
#[derive(Debug, Default)]
pub(crate) struct QualityState {
    transports: BTreeMap<TransportId, TransportQuality>,
    told: Option<(Instant, ConnectionQuality)>,
}

impl QualityState {
    /// Takes a measurement; what is to be told, if that is something new.
    pub(crate) fn measure(
        &mut self,
        now: Instant,
        transport: TransportId,
        measured: TransportQuality,
    ) -> Option<(ConnectionQuality, f32)> {
        self.transports.insert(transport, measured);
        let score = self.score();
        let quality = in_words(score);
        match self.told {
            Some((_, told)) if told == quality => return None,
            Some((at, _)) if now < at + INTERVAL => return None,
            _ => self.told = Some((now, quality)),
        }
        Some((quality, score))
    }

    /// As it was last told, for those who come in or back.
    pub(crate) fn told(&self) -> Option<(ConnectionQuality, f32)> {
        self.told.map(|(_, quality)| (quality, self.score()))
    }

    /// A mean opinion score, 1 to 5: that of the worse transport.
    pub(crate) fn score(&self) -> f32 {
        self.transports.values().map(score).fold(5.0, f32::min)
    }
}

/// The E-model for Opus in short: delay costs little up to 160 ms one way, loss about 2.5 points of
/// R a percent.
///
/// Source: ITU-T G.107, simplified as Cole and Rosenbluth, "Voice over IP performance monitoring"
/// (2001).
fn score(measured: &TransportQuality) -> f32 {
    let round_trip = measured.round_trip.unwrap_or_default().as_secs_f32() * 1000.0;
    let delay = round_trip / 2.0 + measured.jitter.as_secs_f32() * 2000.0 + 20.0;
    let delay_cost = if delay < 160.0 {
        delay / 40.0
    } else {
        (delay - 120.0) / 10.0
    };
    let loss = measured.uplink_loss.max(measured.downlink_loss).clamp(0.0, 1.0) * 100.0;
    let r = (93.2 - delay_cost - 2.5 * loss).clamp(0.0, 100.0);
    1.0 + 0.035 * r + 7.0e-6 * r * (r - 60.0) * (100.0 - r)
}

fn in_words(score: f32) -> ConnectionQuality {
    match score {
        score if score > 4.1 => ConnectionQuality::Excellent,
        score if score > 3.1 => ConnectionQuality::Good,
        _ => ConnectionQuality::Poor,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(loss: f32, round_trip_ms: u64) -> TransportQuality {
        TransportQuality {
            downlink_loss: loss,
            round_trip: Some(Duration::from_millis(round_trip_ms)),
            ..TransportQuality::default()
        }
    }

    #[test]
    fn loss_and_delay_make_a_connection_worse() {
        let words = |loss, round_trip| in_words(score(&measured(loss, round_trip)));
        assert_eq!(words(0.0, 30), ConnectionQuality::Excellent);
        assert_eq!(words(0.06, 100), ConnectionQuality::Good);
        assert_eq!(words(0.2, 100), ConnectionQuality::Poor);
        assert_eq!(words(0.0, 1200), ConnectionQuality::Poor);
    }

    #[test]
    fn only_changes_are_told_and_not_too_often() {
        let (mut state, start) = (QualityState::default(), Instant::now());
        let transport = TransportId(1);
        assert!(state.measure(start, transport, measured(0.0, 10)).is_some());
        assert!(state.measure(start + INTERVAL, transport, measured(0.0, 11)).is_none());
        assert!(
            state
                .measure(start + INTERVAL / 2, transport, measured(0.3, 10))
                .is_none()
        );
        assert_eq!(
            state
                .measure(start + INTERVAL, transport, measured(0.3, 10))
                .map(|told| told.0),
            Some(ConnectionQuality::Poor)
        );
    }
}
