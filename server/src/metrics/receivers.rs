//! Receivers in `/metrics`: their numbers by quality, and on request their names.
//!
//! The library has no gauge histograms, so these families are written by hand.

use std::collections::BTreeMap;

use agent::Receiver;
use agent::receivers::{Granted, limit};
use operator::receivers as views;
use wire::MediaKind;

use super::text::{GaugeHistogram, Text};

/// Edges of the estimates, from a voice to a wall of pictures. Shape: bytes per second.
const RATES: [f64; 10] = [
    6_250.0,
    12_500.0,
    25_000.0,
    50_000.0,
    100_000.0,
    187_500.0,
    375_000.0,
    750_000.0,
    1_500_000.0,
    3_750_000.0,
];
const LOSSES: [f64; 7] = [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2];
/// Edges of round trips and queues. Shape: seconds.
const TIMES: [f64; 8] = [0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6];

/// How all receivers together do, at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Summary {
    receivers: u64,
    estimates: GaugeHistogram<10>,
    losses: GaugeHistogram<7>,
    round_trips: GaugeHistogram<8>,
    queues: GaugeHistogram<8>,
    allocated: u64,
    wanted: u64,
    limits: BTreeMap<&'static str, u64>,
    subscriptions: BTreeMap<(&'static str, &'static str), u64>,
}

impl Default for Summary {
    fn default() -> Self {
        Self {
            receivers: 0,
            estimates: GaugeHistogram::new(RATES),
            losses: GaugeHistogram::new(LOSSES),
            round_trips: GaugeHistogram::new(TIMES),
            queues: GaugeHistogram::new(TIMES),
            allocated: 0,
            wanted: 0,
            limits: BTreeMap::new(),
            subscriptions: BTreeMap::new(),
        }
    }
}

impl Summary {
    /// One more receiver.
    pub(crate) fn add(&mut self, receiver: &Receiver) {
        self.receivers += 1;
        for subscription in &receiver.subscriptions {
            let kind = media_kind(subscription.kind).name();
            let state = subscription_state(subscription.granted).name();
            *self.subscriptions.entry((kind, state)).or_default() += 1;
        }
        let Some(downlink) = &receiver.downlink else { return };
        let estimate = &downlink.estimate;
        *self.limits.entry(limit(estimate.limit).name()).or_default() += 1;
        self.estimates.observe(bytes(estimate.target));
        self.losses.observe(estimate.loss);
        self.queues.observe(estimate.queue.as_secs_f64());
        if let Some(round_trip) = estimate.round_trip {
            self.round_trips.observe(round_trip.as_secs_f64());
        }
        self.allocated = self.allocated.saturating_add(downlink.allocated);
        self.wanted = self.wanted.saturating_add(downlink.wanted);
    }

    /// The families of all receivers together: a fixed number of lines for any number of receivers.
    pub(crate) fn write(&self, text: &mut Text) {
        text.family("weir_receivers", "gauge", "Transports that get something");
        text.sample("weir_receivers", &[], self.receivers);
        let name = "weir_receivers_limited";
        text.family(
            name,
            "gauge",
            "Downlinks that are estimated, by what holds the estimate",
        );
        for (limit, count) in &self.limits {
            text.sample(name, &[("limit", limit)], count);
        }
        let name = "weir_subscriptions";
        text.family(name, "gauge", "Subscriptions, by what becomes of them");
        for ((kind, state), count) in &self.subscriptions {
            text.sample(name, &[("kind", kind), ("state", state)], count);
        }
        let name = "weir_receivers_allocated_bytes_per_second";
        text.family(name, "gauge", "Rate granted to all estimated downlinks together");
        text.sample(name, &[], bytes(self.allocated));
        let name = "weir_receivers_wanted_bytes_per_second";
        text.family(
            name,
            "gauge",
            "Rate of all estimated downlinks together if everything wanted were sent",
        );
        text.sample(name, &[], bytes(self.wanted));
        self.estimates.write(
            text,
            "weir_receiver_estimate_bytes_per_second",
            "Estimated capacity of each downlink",
        );
        self.losses.write(
            text,
            "weir_receiver_loss_ratio",
            "Part of the packets each downlink loses",
        );
        self.round_trips
            .write(text, "weir_receiver_round_trip_seconds", "To each receiver and back");
        self.queues
            .write(text, "weir_receiver_queue_seconds", "Delay in the queue of each path");
    }
}

/// One receiver by name: only where the operator asked for it, since there is a line for each.
pub(crate) struct Named<'a> {
    /// The room's name.
    pub room: &'a str,
    /// The participant's identity.
    pub identity: &'a str,
    /// How it does.
    pub receiver: &'a Receiver,
}

/// The families that have a line for each receiver.
pub(crate) fn write_named(named: &[Named<'_>], text: &mut Text) {
    type Value = fn(&Receiver) -> Option<f64>;
    let families: [(&str, &str, Value); 6] = [
        (
            "estimate_bytes_per_second",
            "Estimated capacity of the downlink",
            |it| Some(bytes(it.downlink.as_ref()?.estimate.target)),
        ),
        ("allocated_bytes_per_second", "Rate granted to the downlink", |it| {
            Some(bytes(it.downlink.as_ref()?.allocated))
        }),
        ("wanted_bytes_per_second", "Rate if everything wanted were sent", |it| {
            Some(bytes(it.downlink.as_ref()?.wanted))
        }),
        ("loss_ratio", "Part of the packets that are lost", |it| {
            Some(it.downlink.as_ref()?.estimate.loss)
        }),
        ("round_trip_seconds", "To the receiver and back", |it| {
            Some(it.downlink.as_ref()?.estimate.round_trip?.as_secs_f64())
        }),
        ("paused_subscriptions", "Videos that find no room", |it| {
            Some(paused(it))
        }),
    ];
    for (name, help, value) in families {
        let name = format!("weir_downlink_{name}");
        text.family(&name, "gauge", help);
        for one in named {
            if let Some(value) = value(one.receiver) {
                text.sample(&name, &[("room", one.room), ("identity", one.identity)], value);
            }
        }
    }
}

/// Bits as bytes, the unit of Prometheus.
fn bytes(bits: u64) -> f64 {
    bits as f64 / 8.0
}

fn paused(receiver: &Receiver) -> f64 {
    let without = receiver.subscriptions.iter();
    without
        .filter(|subscription| subscription.granted == Granted::NoRoom)
        .count() as f64
}

/// The outcome of a subscription, in the operator's view.
pub(crate) fn subscription_state(granted: Granted) -> views::SubscriptionState {
    match granted {
        Granted::Send(_) => views::SubscriptionState::Sent,
        Granted::Undecided => views::SubscriptionState::Undecided,
        Granted::NoRoom => views::SubscriptionState::NoRoom,
        Granted::LeftOut => views::SubscriptionState::LeftOut,
        Granted::Held => views::SubscriptionState::Held,
        Granted::Disabled => views::SubscriptionState::Disabled,
    }
}

/// A kind of media, in the operator's view.
pub(crate) fn media_kind(kind: MediaKind) -> views::MediaKind {
    match kind {
        MediaKind::Audio => views::MediaKind::Audio,
        MediaKind::Video => views::MediaKind::Video,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use agent::receivers::{Anomalies, DownlinkState, Estimate, Limit, Usage};
    use southbound::TransportId;

    use super::*;

    fn receiver(target: u64) -> Receiver {
        Receiver {
            playout_delay: Duration::ZERO,
            transport: TransportId(1),
            downlink: Some(DownlinkState {
                estimate: Estimate {
                    target,
                    sendable: target,
                    limit: Limit::Delay,
                    usage: Usage::Normal,
                    acknowledged: None,
                    loss: 0.0,
                    round_trip: Some(Duration::from_millis(30)),
                    queue: Duration::ZERO,
                    burst: None,
                    application_limited: false,
                },
                reports: true,
                pace: None,
                allocated: 300_000,
                wanted: 900_000,
                probes: 0,
                anomalies: Anomalies::default(),
            }),
            subscriptions: Vec::new(),
        }
    }

    #[test]
    fn a_thousand_receivers_are_as_many_lines_as_one() {
        let lines = |count: u64| {
            let (mut summary, mut text) = (Summary::default(), Text::default());
            (0..count).for_each(|i| summary.add(&receiver(i * 10_000)));
            summary.write(&mut text);
            text.finish().lines().count()
        };
        assert_eq!(lines(1), lines(1000));
    }

    #[test]
    fn estimates_fall_into_cumulative_buckets() {
        let (mut summary, mut text) = (Summary::default(), Text::default());
        for target in [40_000, 150_000, 90_000_000] {
            summary.add(&receiver(target));
        }
        summary.write(&mut text);
        let text = text.finish();
        let name = "weir_receiver_estimate_bytes_per_second";
        for line in [
            format!("# TYPE {name} gaugehistogram"),
            format!("{name}_bucket{{le=\"6250.0\"}} 1"),
            format!("{name}_bucket{{le=\"25000.0\"}} 2"),
            format!("{name}_bucket{{le=\"+Inf\"}} 3"),
            format!("{name}_gcount 3"),
            "weir_receivers_wanted_bytes_per_second 337500".to_owned(),
        ] {
            assert!(text.lines().any(|it| it == line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn a_name_cannot_break_out_of_its_label() {
        let mut text = Text::default();
        let receiver = receiver(1000);
        let named = Named {
            room: "a\"b\\c\nd",
            identity: "ada",
            receiver: &receiver,
        };
        write_named(&[named], &mut text);
        let text = text.finish();
        assert!(text.contains(r#"{room="a\"b\\c\nd",identity="ada"} 125"#), "{text}");
    }
}
