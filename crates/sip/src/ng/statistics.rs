//! What the relay has done so far, under rtpengine's names.

use std::time::Instant;

use super::value::Dictionary;
use crate::{Counter, Relay};

/// The part of rtpengine's statistics that there is. Rates and averages over intervals are left to who asks twice.
pub(super) fn of(relay: &Relay, now: Instant) -> Dictionary {
    Dictionary::default()
        .with("currentstatistics", current(relay))
        .with("totalstatistics", total(relay, now))
        .with("controlstatistics", control(relay))
}

fn current(relay: &Relay) -> Dictionary {
    let calls = relay.calls() as u64;
    Dictionary::default()
        .with("sessionsown", calls)
        .with("sessionsforeign", 0_u64)
        .with("sessionstotal", calls)
        .with("transcodedmedia", 0_u64)
}

fn total(relay: &Relay, now: Instant) -> Dictionary {
    let count = |counter: Counter| relay.counters[counter];
    let uptime = now.saturating_duration_since(relay.started).as_secs();
    Dictionary::default()
        .with("uptime", uptime.to_string())
        .with("managedsessions", count(Counter::CallsBegun))
        .with(
            "rejectedsessions",
            count(Counter::CallsFull) + count(Counter::PortsExhausted),
        )
        .with("timeoutsessions", count(Counter::CallsMediaTimeout))
        .with("silenttimeoutsessions", count(Counter::CallsSilentTimeout))
        .with("finaltimeoutsessions", 0_u64)
        .with("offertimeoutsessions", count(Counter::CallsOfferTimeout))
        .with("regularterminatedsessions", count(Counter::CallsEnded))
        .with("forcedterminatedsessions", 0_u64)
        .with("relayedpackets", relay.relayed.packets)
        .with("relayedpacketerrors", relay.relayed.errors)
        .with("relayedbytes", relay.relayed.bytes)
}

fn control(relay: &Relay) -> Dictionary {
    let count = |counter: Counter| relay.counters[counter];
    Dictionary::default()
        .with("totalpingcount", count(Counter::Pings))
        .with("totaloffercount", count(Counter::Offers))
        .with("totalanswercount", count(Counter::Answers))
        .with("totaldeletecount", count(Counter::Deletes))
        .with("totalquerycount", count(Counter::Queries))
        .with("totallistcount", count(Counter::Lists))
        .with("totalstatistics", count(Counter::StatisticsAsked))
        .with("totalerrorcount", count(Counter::Errors))
}
