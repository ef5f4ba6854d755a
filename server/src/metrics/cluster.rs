//! The calls of a cluster's store, and the record of this machine in it.

use std::collections::BTreeMap;

use agent::fence::LinkFigures;
use stores::StoreError;

use super::text::Text;

/// A call of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StoreCall {
    /// Grants a lease, which ends unless it is prolonged.
    Grant,
    /// Lets a lease live for another of its terms.
    KeepAlive,
    /// Ends a lease with what is bound to it.
    Revoke,
    /// Reads the entry of one key.
    Get,
    /// Reads all entries of a prefix.
    List,
    /// Writes an entry where there is none.
    Claim,
    /// Replaces one revision of an entry.
    Swap,
    /// Removes one revision of an entry.
    Delete,
    /// Begins to follow the entries of a prefix.
    Watch,
}

impl StoreCall {
    /// All of them, with their names in metrics.
    pub(crate) const NAMES: [(Self, &'static str); 9] = [
        (StoreCall::Grant, "grant"),
        (StoreCall::KeepAlive, "keep_alive"),
        (StoreCall::Revoke, "revoke"),
        (StoreCall::Get, "get"),
        (StoreCall::List, "list"),
        (StoreCall::Claim, "claim"),
        (StoreCall::Swap, "swap"),
        (StoreCall::Delete, "delete"),
        (StoreCall::Watch, "watch"),
    ];
}

/// The names of the outcomes of calls. The first is that of a call that was answered.
const OUTCOMES: [&str; 7] = [
    "ok",
    "unavailable",
    "timed_out",
    "lease_lost",
    "too_long",
    "refused",
    "malformed",
];

/// The counts of a cluster.
#[derive(Debug, Default)]
pub(crate) struct ClusterCounts {
    calls: BTreeMap<(StoreCall, &'static str), u64>,
    leases_lost: u64,
    /// Whether this machine's record is in the store as far as is known, if it is to be there.
    is_registered: Option<bool>,
    registrations: u64,
    twins: usize,
    controllers: usize,
    /// The links of a media node, and the bytes of packets that wait for them.
    links: Option<(LinkFigures, usize)>,
    /// The Unix time at which the machine's certificate ends, in seconds.
    certificate_end: Option<i64>,
}

impl ClusterCounts {
    /// Counts a call by its outcome.
    pub(crate) fn call<T>(&mut self, call: StoreCall, answer: &Result<T, StoreError>) {
        let outcome = match answer {
            Ok(_) => OUTCOMES[0],
            Err(StoreError::Unavailable(_)) => "unavailable",
            Err(StoreError::TimedOut) => "timed_out",
            Err(StoreError::LeaseLost) => "lease_lost",
            Err(StoreError::TooLong(_)) => "too_long",
            Err(StoreError::Refused(_)) => "refused",
            Err(StoreError::Malformed(_)) => "malformed",
        };
        *self.calls.entry((call, outcome)).or_default() += 1;
    }

    /// Counts a lease that the store does not have any more.
    pub(crate) fn lease_lost(&mut self) {
        self.leases_lost += 1;
    }

    /// Shows whether the store has this machine's record. Counts each time that it is entered.
    pub(crate) fn set_registered(&mut self, is_registered: bool) {
        if is_registered && self.is_registered != Some(true) {
            self.registrations += 1;
        }
        self.is_registered = Some(is_registered);
    }

    /// Shows how many other nodes have the name or the address of this one.
    pub(crate) fn set_twins(&mut self, twins: usize) {
        self.twins = twins;
    }

    /// Shows how many controllers are connected.
    pub(crate) fn set_controllers(&mut self, controllers: usize) {
        self.controllers = controllers;
    }

    /// Shows the links to and from other media nodes.
    pub(crate) fn set_links(&mut self, figures: LinkFigures, packet_bytes: usize) {
        self.links = Some((figures, packet_bytes));
    }

    /// Shows when the machine's certificate ends. Shape: Unix time in seconds.
    pub(crate) fn set_certificate_end(&mut self, end: i64) {
        self.certificate_end = Some(end);
    }

    /// The families, of which only those that apply are written. `unix` is in seconds.
    pub(super) fn write(&self, unix: i64, text: &mut Text) {
        if let Some(end) = self.certificate_end {
            let name = "weir_cluster_certificate_expiry_seconds";
            text.family(
                name,
                "gauge",
                "Seconds for which the cluster's certificate of this machine is still valid",
            );
            text.sample(name, &[], end.saturating_sub(unix));
            let name = "weir_southbound_controllers";
            text.family(name, "gauge", "Controllers that are connected to this media node");
            text.sample(name, &[], self.controllers);
        }
        if let Some((figures, packet_bytes)) = self.links {
            write_links(figures, packet_bytes, text);
        }
        if !self.calls.is_empty() {
            self.write_calls(text);
        }
        if let Some(is_registered) = self.is_registered {
            let name = "weir_registered";
            text.family(
                name,
                "gauge",
                "1 while the cluster's store confirms the record of this machine",
            );
            text.sample(name, &[], u8::from(is_registered));
            let name = "weir_registrations";
            text.family(
                name,
                "counter",
                "Times that this machine was entered into the cluster's store",
            );
            text.sample(&format!("{name}_total"), &[], self.registrations);
            let name = "weir_registered_twins";
            text.family(
                name,
                "gauge",
                "Other nodes in the store that have the name or the address of this one",
            );
            text.sample(name, &[], self.twins);
        }
    }

    fn write_calls(&self, text: &mut Text) {
        let name = "weir_store_calls";
        text.family(
            name,
            "counter",
            "Calls of the cluster's store, by operation and outcome",
        );
        for (call, operation) in StoreCall::NAMES {
            for outcome in OUTCOMES {
                let count = self.calls.get(&(call, outcome)).copied().unwrap_or_default();
                let labels = [("operation", operation), ("outcome", outcome)];
                text.sample(&format!("{name}_total"), &labels, count);
            }
        }
        let name = "weir_store_leases_lost";
        text.family(
            name,
            "counter",
            "Leases that ended at the cluster's store before they were given up",
        );
        text.sample(&format!("{name}_total"), &[], self.leases_lost);
    }
}

fn write_links(figures: LinkFigures, packet_bytes: usize, text: &mut Text) {
    let name = "weir_links";
    text.family(
        name,
        "gauge",
        "Links between this media node and others that messages go over",
    );
    text.sample(name, &[("direction", "to")], figures.to);
    text.sample(name, &[("direction", "from")], figures.from);
    let name = "weir_link_waiting_bytes";
    text.family(name, "gauge", "Bytes of messages of links that wait, by what for");
    text.sample(name, &[("queue", "untaken")], figures.untaken_bytes);
    text.sample(name, &[("queue", "packets")], packet_bytes);
    text.sample(name, &[("queue", "received")], figures.waiting_bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(counts: &ClusterCounts) -> String {
        let mut text = Text::default();
        counts.write(100, &mut text);
        text.finish()
    }

    #[test]
    fn a_process_without_a_cluster_says_nothing_of_one() {
        assert_eq!(text(&ClusterCounts::default()), "# EOF\n");
    }

    #[test]
    fn calls_are_counted_by_operation_and_outcome() {
        let mut counts = ClusterCounts::default();
        counts.call(StoreCall::Grant, &Ok(()));
        counts.call(StoreCall::Grant, &Ok(()));
        counts.call::<()>(StoreCall::KeepAlive, &Err(StoreError::LeaseLost));
        let text = text(&counts);
        for line in [
            "weir_store_calls_total{operation=\"grant\",outcome=\"ok\"} 2\n",
            "weir_store_calls_total{operation=\"keep_alive\",outcome=\"lease_lost\"} 1\n",
            "weir_store_calls_total{operation=\"watch\",outcome=\"refused\"} 0\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(!text.contains("weir_registered"));
    }

    #[test]
    fn links_of_a_media_node_are_shown_by_direction_and_queue() {
        let mut counts = ClusterCounts::default();
        let figures = LinkFigures {
            to: 2,
            from: 1,
            untaken_bytes: 300,
            waiting_bytes: 20,
        };
        counts.set_links(figures, 7);
        let text = text(&counts);
        for line in [
            "weir_links{direction=\"to\"} 2\n",
            "weir_links{direction=\"from\"} 1\n",
            "weir_link_waiting_bytes{queue=\"untaken\"} 300\n",
            "weir_link_waiting_bytes{queue=\"packets\"} 7\n",
            "weir_link_waiting_bytes{queue=\"received\"} 20\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }

    #[test]
    fn each_return_into_the_store_is_a_registration() {
        let mut counts = ClusterCounts::default();
        counts.set_registered(false);
        for is_registered in [true, true, false, true] {
            counts.set_registered(is_registered);
        }
        counts.set_certificate_end(40);
        let text = text(&counts);
        for line in [
            "weir_registered 1\n",
            "weir_registrations_total 2\n",
            "weir_cluster_certificate_expiry_seconds -60\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
