//! Reports of the layer switches of a subscription, each with its cause.

use std::time::{Duration, Instant};

use operator::observation::SwitchCause;
use southbound::{Observation, SentLayer, SubscriptionId};

use crate::context::Context;
use crate::media::observer::Observer;

/// A switch within this time of a request of the receiver follows from the request: the switch
/// needs a key frame.
const FOLLOWS: Duration = Duration::from_secs(3);

/// The layer switches of a subscription.
#[derive(Debug)]
pub(super) struct LayerSwitches {
    observer: Observer,
    /// When the receiver last asked for something else.
    asked: Option<Instant>,
    /// Why the layer is not higher. A switch upwards has the cause of the switch that it undoes.
    lowered: SwitchCause,
}

impl Default for LayerSwitches {
    fn default() -> Self {
        Self {
            observer: Observer::default(),
            asked: None,
            lowered: SwitchCause::Downlink,
        }
    }
}

impl LayerSwitches {
    /// The receiver asks for another size, rate or priority.
    pub(super) fn request(&mut self, now: Instant) {
        self.asked = Some(now);
    }

    /// Reports that a subscription is sent another layer from now on. `still_arrives` says whether
    /// the layer before does.
    pub(super) fn report(
        &mut self,
        cx: &mut Context<'_>,
        subscription: SubscriptionId,
        (from, to): (Option<SentLayer>, SentLayer),
        still_arrives: bool,
    ) {
        let cause = Some(self.cause(cx.now, from, to, still_arrives));
        let switch = Observation::LayerSwitch {
            subscription,
            from,
            to,
            cause,
        };
        self.observer.report(cx, switch);
    }

    /// The cause of a switch.
    fn cause(&mut self, now: Instant, from: Option<SentLayer>, to: SentLayer, still_arrives: bool) -> SwitchCause {
        let rank = |sent: SentLayer| (sent.encoding, sent.layer.spatial, sent.layer.temporal);
        let Some(from) = from else {
            return SwitchCause::Start;
        };
        let is_asked = self
            .asked
            .is_some_and(|asked| now.saturating_duration_since(asked) <= FOLLOWS);
        let is_lower = rank(to) < rank(from);
        let cause = match (is_asked, is_lower) {
            (_, true) if !still_arrives => SwitchCause::Publisher,
            (true, _) => SwitchCause::Request,
            (false, true) => SwitchCause::Downlink,
            (false, false) => self.lowered,
        };
        if is_lower {
            self.lowered = cause;
        }
        cause
    }
}

#[cfg(test)]
mod tests {
    use wire::codec::Layer;

    use super::*;

    fn sent(encoding: u8, temporal: u8) -> SentLayer {
        let layer = Layer { spatial: 0, temporal };
        SentLayer { encoding, layer }
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "tests read a clock")]
    fn layer_switch_has_the_cause_of_the_change_before_it() {
        let now = Instant::now();
        let mut switches = LayerSwitches::default();
        let (high, low) = (sent(2, 2), sent(0, 2));
        assert_eq!(switches.cause(now, None, high, false), SwitchCause::Start);
        assert_eq!(switches.cause(now, Some(high), low, true), SwitchCause::Downlink);
        assert_eq!(switches.cause(now, Some(low), high, true), SwitchCause::Downlink);
        assert_eq!(switches.cause(now, Some(high), low, false), SwitchCause::Publisher);
        assert_eq!(switches.cause(now, Some(low), high, true), SwitchCause::Publisher);
        switches.request(now);
        assert_eq!(
            switches.cause(now + FOLLOWS, Some(high), low, true),
            SwitchCause::Request
        );
        let later = now + 2 * FOLLOWS;
        assert_eq!(
            switches.cause(later, Some(low), sent(0, 1), true),
            SwitchCause::Downlink
        );
    }
}
