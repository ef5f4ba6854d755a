//! The operator's view of one receiver: the state of the agent with the names of the controller.

use std::collections::BTreeMap;
use std::time::Duration;

use agent::receivers::{DownlinkState, Granted, LayerRate, SubscriptionState, Target, limit, usage};
use controller::Subscribed;
use operator::receivers as views;
use southbound::{SubscriptionId, SubscriptionSettings};

use crate::metrics::receivers::{media_kind, subscription_state};

/// Combines the state of the controller and the agent. A downlink that the agent does not know gets
/// nothing.
pub(super) fn receiver(downlink: controller::Downlink, receiver: Option<agent::Receiver>) -> views::Receiver {
    let controller::Downlink {
        room,
        identity,
        subscriptions: mut names,
        ..
    } = downlink;
    let (state, delay, subscriptions) = receiver.map_or_else(Default::default, |receiver| {
        (receiver.downlink, receiver.playout_delay, receiver.subscriptions)
    });
    views::Receiver {
        room,
        identity,
        downlink: state.map(view_of_downlink),
        playout_delay_ms: milliseconds(delay),
        subscriptions: subscriptions
            .into_iter()
            .filter_map(|state| subscription(state, &mut names))
            .collect(),
    }
}

fn view_of_downlink(state: DownlinkState) -> views::Downlink {
    let estimate = state.estimate;
    views::Downlink {
        target_bps: estimate.target,
        sendable_bps: estimate.sendable,
        acknowledged_bps: estimate.acknowledged,
        allocated_bps: state.allocated,
        wanted_bps: state.wanted,
        pace_bps: state.pace,
        limit: limit(estimate.limit),
        usage: usage(estimate.usage),
        loss: estimate.loss,
        round_trip_ms: estimate.round_trip.map(milliseconds),
        queue_ms: milliseconds(estimate.queue),
        application_limited: estimate.application_limited,
        reports: state.reports,
        probes: state.probes,
    }
}

/// `None` for one that the controller has ended already.
fn subscription(
    state: SubscriptionState,
    names: &mut BTreeMap<SubscriptionId, Subscribed>,
) -> Option<views::Subscription> {
    let name = names.remove(&state.subscription)?;
    Some(views::Subscription {
        track: name.track,
        publisher: name.publisher,
        kind: media_kind(state.kind),
        source: name.source,
        state: subscription_state(state.granted),
        wanted: settings(state.settings),
        speaker: state.speaker,
        granted: match state.granted {
            Granted::Send(granted) => Some(target(granted)),
            _ => None,
        },
        current: state.current.map(target),
        awaits_key_frame: state.awaits_key_frame,
        arrives: state.arrives.into_iter().map(layer).collect(),
    })
}

fn settings(settings: SubscriptionSettings) -> views::Settings {
    let (width, height) = settings.size;
    let some = |value: u16| (value != 0).then_some(value);
    views::Settings {
        width: some(width),
        height: some(height),
        fps: some(settings.fps),
        priority: settings.priority,
        encoding_max: bounded(settings.encoding_max),
        spatial_max: bounded(settings.spatial_max),
    }
}

fn target(target: Target) -> views::Target {
    views::Target {
        encoding: target.encoding,
        spatial: bounded(target.layer.spatial),
        temporal: bounded(target.layer.temporal),
    }
}

fn layer(layer: LayerRate) -> views::Layer {
    let (width, height) = layer.size;
    views::Layer {
        target: target(layer.target),
        rate_bps: layer.rate,
        width,
        height,
        fps: layer.fps,
    }
}

/// The greatest number means "no limit".
fn bounded(value: u8) -> Option<u8> {
    (value != u8::MAX).then_some(value)
}

fn milliseconds(duration: Duration) -> f64 {
    // More digits than a clock has would only make the answer longer.
    (duration.as_secs_f64() * 1e4).round() / 10.0
}

#[cfg(test)]
mod tests {
    use agent::Receiver;
    use controller::Downlink;
    use southbound::{TrackId, TrackSource, TransportId};
    use wire::MediaKind;
    use wire::codec::Layer;

    use super::*;

    fn subscription(id: u64, granted: Granted) -> SubscriptionState {
        let target = Target {
            encoding: 1,
            layer: Layer {
                spatial: u8::MAX,
                temporal: 2,
            },
        };
        SubscriptionState {
            subscription: SubscriptionId(id),
            track: TrackId(7),
            kind: MediaKind::Video,
            source: TrackSource::Camera,
            settings: SubscriptionSettings {
                size: (640, 360),
                ..SubscriptionSettings::BEST
            },
            speaker: Some(1),
            granted,
            current: Some(target),
            awaits_key_frame: false,
            arrives: vec![LayerRate {
                target,
                rate: 430_000,
                size: (480, 270),
                fps: 20,
            }],
        }
    }

    fn downlink(subscriptions: &[u64]) -> Downlink {
        let named = |id: &u64| {
            let subscribed = Subscribed {
                track: format!("TR_{id}"),
                publisher: "bob".to_owned(),
                source: "camera".to_owned(),
            };
            (SubscriptionId(*id), subscribed)
        };
        Downlink {
            transport: TransportId(3),
            room: "lobby".to_owned(),
            identity: "ada".to_owned(),
            subscriptions: subscriptions.iter().map(named).collect(),
        }
    }

    #[test]
    fn names_and_states_meet_by_subscription() {
        let state = Receiver {
            playout_delay: Duration::from_millis(190),
            transport: TransportId(3),
            downlink: None,
            subscriptions: vec![subscription(1, Granted::NoRoom), subscription(9, Granted::Undecided)],
        };
        let view = serde_json::to_value(receiver(downlink(&[1, 2]), Some(state))).unwrap();
        let expected = serde_json::json!({
            "room": "lobby",
            "identity": "ada",
            "downlink": null,
            "playout_delay_ms": 190.0,
            "subscriptions": [{
                "track": "TR_1",
                "publisher": "bob",
                "kind": "video",
                "source": "camera",
                "state": "no_room",
                "wanted": {
                    "width": 640, "height": 360, "fps": null,
                    "priority": 0, "encoding_max": null, "spatial_max": null,
                },
                "speaker": 1,
                "granted": null,
                "current": {"encoding": 1, "spatial": null, "temporal": 2},
                "awaits_key_frame": false,
                "arrives": [{
                    "encoding": 1, "spatial": null, "temporal": 2,
                    "rate_bps": 430_000, "width": 480, "height": 270, "fps": 20,
                }],
            }],
        });
        assert_eq!(view, expected);
    }

    #[test]
    fn a_receiver_the_agent_does_not_know_gets_nothing() {
        let view = serde_json::to_value(receiver(downlink(&[1]), None)).unwrap();
        assert_eq!(view["downlink"], serde_json::Value::Null);
        assert_eq!(view["subscriptions"], serde_json::json!([]));
    }

    #[test]
    fn times_have_a_tenth_of_a_millisecond() {
        assert_eq!(milliseconds(Duration::from_micros(31_449)), 31.4);
    }
}
