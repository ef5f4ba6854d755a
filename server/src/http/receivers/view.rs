//! The JSON of one receiver. Rates are in bits per second of UDP payload, times in milliseconds.

use std::collections::BTreeMap;
use std::time::Duration;

use agent::Receiver;
use agent::receivers::{DownlinkState, Granted, LayerRate, SubscriptionState, Target, Usage};
use controller::{Downlink, Subscribed};
use serde::Serialize;
use southbound::{SubscriptionId, SubscriptionSettings};
use wire::MediaKind;

use crate::metrics::receivers::{granted_name, limit_name};

/// One receiver.
#[derive(Debug, Serialize)]
pub(crate) struct ReceiverView {
    room: String,
    identity: String,
    /// `null` where nothing is measured: it gets sound only, reports nothing, or adaptation is off.
    downlink: Option<DownlinkView>,
    /// The playout delay that it is told because it loses packets; 0 for none.
    playout_delay_ms: f64,
    subscriptions: Vec<SubscriptionView>,
}

#[derive(Debug, Serialize)]
struct DownlinkView {
    target_bps: u64,
    sendable_bps: u64,
    acknowledged_bps: Option<u64>,
    allocated_bps: u64,
    wanted_bps: u64,
    pace_bps: Option<u64>,
    limit: &'static str,
    usage: &'static str,
    loss: f64,
    round_trip_ms: Option<f64>,
    queue_ms: f64,
    application_limited: bool,
    reports: bool,
    probes: u64,
}

#[derive(Debug, Serialize)]
struct SubscriptionView {
    track: String,
    publisher: String,
    kind: &'static str,
    source: String,
    /// `sent`, or why nothing is.
    state: &'static str,
    wanted: WantedView,
    /// Its publisher's rank among the speakers; `null` for a silent one.
    speaker: Option<u8>,
    granted: Option<TargetView>,
    current: Option<TargetView>,
    awaits_key_frame: bool,
    arrives: Vec<LayerView>,
}

#[derive(Debug, Serialize)]
struct WantedView {
    /// `null` where the size it is shown at is not known.
    width: Option<u16>,
    height: Option<u16>,
    /// `null` for no limit, as below.
    fps: Option<u16>,
    priority: u8,
    encoding_max: Option<u8>,
    spatial_max: Option<u8>,
}

/// An encoding and the highest layer of it; `null` where nothing limits the layer.
#[derive(Debug, Serialize)]
struct TargetView {
    encoding: u8,
    spatial: Option<u8>,
    temporal: Option<u8>,
}

#[derive(Debug, Serialize)]
struct LayerView {
    #[serde(flatten)]
    target: TargetView,
    rate_bps: u64,
    width: u16,
    height: u16,
    fps: u16,
}

impl ReceiverView {
    /// Combines the state of the controller and the agent. A downlink that the agent does not know
    /// gets nothing.
    pub(crate) fn new(downlink: Downlink, receiver: Option<Receiver>) -> Self {
        let Downlink {
            room,
            identity,
            subscriptions: mut names,
            ..
        } = downlink;
        let (state, delay, subscriptions) = receiver.map_or_else(Default::default, |receiver| {
            (receiver.downlink, receiver.playout_delay, receiver.subscriptions)
        });
        Self {
            room,
            identity,
            downlink: state.map(DownlinkView::new),
            playout_delay_ms: milliseconds(delay),
            subscriptions: subscriptions
                .into_iter()
                .filter_map(|state| SubscriptionView::new(state, &mut names))
                .collect(),
        }
    }
}

impl DownlinkView {
    fn new(state: DownlinkState) -> Self {
        let estimate = state.estimate;
        Self {
            target_bps: estimate.target,
            sendable_bps: estimate.sendable,
            acknowledged_bps: estimate.acknowledged,
            allocated_bps: state.allocated,
            wanted_bps: state.wanted,
            pace_bps: state.pace,
            limit: limit_name(estimate.limit),
            usage: usage_name(estimate.usage),
            loss: estimate.loss,
            round_trip_ms: estimate.round_trip.map(milliseconds),
            queue_ms: milliseconds(estimate.queue),
            application_limited: estimate.application_limited,
            reports: state.reports,
            probes: state.probes,
        }
    }
}

impl SubscriptionView {
    /// `None` for one that the controller has ended already.
    fn new(state: SubscriptionState, names: &mut BTreeMap<SubscriptionId, Subscribed>) -> Option<Self> {
        let name = names.remove(&state.subscription)?;
        Some(Self {
            track: name.track,
            publisher: name.publisher,
            kind: match state.kind {
                MediaKind::Audio => "audio",
                MediaKind::Video => "video",
            },
            source: name.source,
            state: granted_name(state.granted),
            wanted: WantedView::new(state.settings),
            speaker: state.speaker,
            granted: match state.granted {
                Granted::Send(target) => Some(TargetView::new(target)),
                _ => None,
            },
            current: state.current.map(TargetView::new),
            awaits_key_frame: state.awaits_key_frame,
            arrives: state.arrives.into_iter().map(LayerView::new).collect(),
        })
    }
}

impl WantedView {
    fn new(settings: SubscriptionSettings) -> Self {
        let (width, height) = settings.size;
        let some = |value: u16| (value != 0).then_some(value);
        Self {
            width: some(width),
            height: some(height),
            fps: some(settings.fps),
            priority: settings.priority,
            encoding_max: bounded(settings.encoding_max),
            spatial_max: bounded(settings.spatial_max),
        }
    }
}

impl TargetView {
    fn new(target: Target) -> Self {
        Self {
            encoding: target.encoding,
            spatial: bounded(target.layer.spatial),
            temporal: bounded(target.layer.temporal),
        }
    }
}

impl LayerView {
    fn new(layer: LayerRate) -> Self {
        let (width, height) = layer.size;
        Self {
            target: TargetView::new(layer.target),
            rate_bps: layer.rate,
            width,
            height,
            fps: layer.fps,
        }
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

fn usage_name(usage: Usage) -> &'static str {
    match usage {
        Usage::Normal => "normal",
        Usage::Over => "over",
        Usage::Under => "under",
    }
}

#[cfg(test)]
mod tests {
    use southbound::{TrackId, TrackSource, TransportId};
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
        let receiver = Receiver {
            playout_delay: Duration::from_millis(190),
            transport: TransportId(3),
            downlink: None,
            subscriptions: vec![subscription(1, Granted::NoRoom), subscription(9, Granted::Undecided)],
        };
        let view = serde_json::to_value(ReceiverView::new(downlink(&[1, 2]), Some(receiver))).unwrap();
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
        let view = serde_json::to_value(ReceiverView::new(downlink(&[1]), None)).unwrap();
        assert_eq!(view["downlink"], serde_json::Value::Null);
        assert_eq!(view["subscriptions"], serde_json::json!([]));
    }

    #[test]
    fn times_have_a_tenth_of_a_millisecond() {
        assert_eq!(milliseconds(Duration::from_micros(31_449)), 31.4);
    }
}
