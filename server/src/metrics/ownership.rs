//! The rooms of a controller among those of the other controllers of its cluster.

use std::collections::BTreeMap;
use std::time::Duration;

use cluster::{Event, LostReason, UnavailableReason};
use operator::Cluster;
use operator::cluster::Connection;

use super::text::Text;

/// Bounds of how long rooms take to be adopted, in seconds.
const ADOPTIONS: [f64; 9] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5];

/// The end of an attempt to serve a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Adoption {
    /// The room goes on with its participants.
    Adopted,
    /// Its participants join again.
    BeganAnew,
    /// No media node had the room.
    New,
    /// Another controller serves it.
    Elsewhere,
    /// The store cannot be reached.
    NoStore,
    /// Its record cannot be read.
    BadRecord,
    /// Several controllers claimed it.
    Contended,
    /// This controller has as many rooms as it takes.
    Full,
}

impl Adoption {
    const NAMES: [(Self, &'static str); 8] = [
        (Self::Adopted, "adopted"),
        (Self::BeganAnew, "began_anew"),
        (Self::New, "new"),
        (Self::Elsewhere, "elsewhere"),
        (Self::NoStore, "unavailable_store"),
        (Self::BadRecord, "unavailable_record"),
        (Self::Contended, "unavailable_contended"),
        (Self::Full, "unavailable_full"),
    ];
}

impl From<UnavailableReason> for Adoption {
    fn from(reason: UnavailableReason) -> Self {
        match reason {
            UnavailableReason::Store => Self::NoStore,
            UnavailableReason::Record => Self::BadRecord,
            UnavailableReason::Contended => Self::Contended,
            UnavailableReason::Full => Self::Full,
        }
    }
}

/// The names of events of the cluster.
const EVENTS: [&str; 8] = [
    "lease_lost",
    "unreadable_member",
    "too_many_members",
    "claim_refused",
    "late_node",
    "parts_dropped",
    "part_refused",
    "node_full",
];

fn name(event: &Event) -> &'static str {
    match event {
        Event::LeaseLost => "lease_lost",
        Event::UnreadableMember { .. } => "unreadable_member",
        Event::TooManyMembers => "too_many_members",
        Event::ClaimRefused { .. } => "claim_refused",
        Event::Late { .. } => "late_node",
        Event::PartsDropped { .. } => "parts_dropped",
        Event::PartRefused { .. } => "part_refused",
        Event::NodeFull { .. } => "node_full",
    }
}

/// Counts of the rooms that a controller claims, adopts and loses.
#[derive(Debug, Default)]
pub(crate) struct OwnershipCounts {
    adoptions: BTreeMap<Adoption, u64>,
    /// Adoptions up to each bound and above the one before; those above all bounds last.
    durations: [u64; ADOPTIONS.len() + 1],
    duration: Duration,
    fenced: u64,
    recorded: u64,
    events: BTreeMap<&'static str, u64>,
}

impl OwnershipCounts {
    /// Counts the end of an attempt to serve a room.
    pub(crate) fn adoption(&mut self, adoption: Adoption) {
        *self.adoptions.entry(adoption).or_default() += 1;
    }

    /// Notes how long it took to get a room from its nodes.
    pub(crate) fn adopted_after(&mut self, duration: Duration) {
        let at = ADOPTIONS.partition_point(|bound| *bound < duration.as_secs_f64());
        self.durations[at] += 1;
        self.duration += duration;
    }

    /// Counts a room that another controller has now.
    pub(crate) fn lost(&mut self, reason: LostReason) {
        match reason {
            LostReason::Fenced => self.fenced += 1,
            LostReason::Record => self.recorded += 1,
        }
    }

    /// Counts an event of the cluster.
    pub(crate) fn event(&mut self, event: &Event) {
        *self.events.entry(name(event)).or_default() += 1;
    }

    pub(super) fn write(&self, text: &mut Text) {
        let family = "weir_cluster_adoptions";
        text.family(
            family,
            "counter",
            "Attempts of this controller to serve a room that it did not own, by outcome",
        );
        for (adoption, outcome) in Adoption::NAMES {
            let count = self.adoptions.get(&adoption).copied().unwrap_or_default();
            text.sample(&format!("{family}_total"), &[("outcome", outcome)], count);
        }
        let family = "weir_cluster_adoption_seconds";
        text.family(
            family,
            "histogram",
            "How long it took until a room of another controller was owned, from the first request to the store",
        );
        let bounds = ADOPTIONS.iter().map(|bound| format!("{bound:?}"));
        let mut total = 0;
        for (bound, count) in bounds.chain(["+Inf".to_owned()]).zip(self.durations) {
            total += count;
            text.sample(&format!("{family}_bucket"), &[("le", &bound)], total);
        }
        text.sample(&format!("{family}_count"), &[], total);
        text.sample(&format!("{family}_sum"), &[], self.duration.as_secs_f64());
        let family = "weir_cluster_rooms_lost";
        text.family(
            family,
            "counter",
            "Rooms that other controllers took from this one, by the way it learned of it",
        );
        text.sample(&format!("{family}_total"), &[("reason", "fenced")], self.fenced);
        text.sample(&format!("{family}_total"), &[("reason", "record")], self.recorded);
        let family = "weir_cluster_events";
        text.family(family, "counter", "Events of the cluster at this controller");
        for event in EVENTS {
            let count = self.events.get(event).copied().unwrap_or_default();
            text.sample(&format!("{family}_total"), &[("event", event)], count);
        }
    }
}

/// The figures of a cluster at one moment.
pub(crate) fn write_standing(cluster: &Cluster, text: &mut Text) {
    let family = "weir_cluster_lease_held";
    text.family(
        family,
        "gauge",
        "1 while the cluster's store confirms the lease of this controller",
    );
    text.sample(family, &[], u8::from(cluster.has_lease));
    let family = "weir_cluster_controllers";
    text.family(family, "gauge", "Controllers that run, with this one");
    text.sample(family, &[], cluster.controllers.len() + 1);
    let family = "weir_cluster_nodes";
    text.family(
        family,
        "gauge",
        "Media nodes, by the state of their connection with this controller",
    );
    for (connection, state) in [
        (Connection::Connected, "connected"),
        (Connection::Connecting, "connecting"),
        (Connection::Away, "away"),
    ] {
        let nodes = cluster.nodes.iter().filter(|node| node.connection == connection);
        text.sample(family, &[("state", state)], nodes.count());
    }
    let family = "weir_cluster_rooms_owned";
    text.family(family, "gauge", "Rooms that this controller owns");
    text.sample(family, &[], cluster.rooms_owned);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adoptions_are_counted_with_their_time() {
        let mut counts = OwnershipCounts::default();
        counts.adoption(Adoption::Adopted);
        counts.adoption(UnavailableReason::Store.into());
        for milliseconds in [30, 50, 9_000] {
            counts.adopted_after(Duration::from_millis(milliseconds));
        }
        counts.lost(LostReason::Fenced);
        counts.event(&Event::LeaseLost);
        let mut text = Text::default();
        counts.write(&mut text);
        let text = text.finish();
        for line in [
            "weir_cluster_adoptions_total{outcome=\"adopted\"} 1\n",
            "weir_cluster_adoptions_total{outcome=\"began_anew\"} 0\n",
            "weir_cluster_adoptions_total{outcome=\"unavailable_store\"} 1\n",
            "weir_cluster_adoption_seconds_bucket{le=\"0.025\"} 0\n",
            "weir_cluster_adoption_seconds_bucket{le=\"0.05\"} 2\n",
            "weir_cluster_adoption_seconds_bucket{le=\"+Inf\"} 3\n",
            "weir_cluster_adoption_seconds_count 3\n",
            "weir_cluster_adoption_seconds_sum 9.08\n",
            "weir_cluster_rooms_lost_total{reason=\"fenced\"} 1\n",
            "weir_cluster_events_total{event=\"lease_lost\"} 1\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
