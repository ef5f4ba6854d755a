//! Counts of datagrams that are done with.

use dataplane::{Counter, Counters};

/// At least as much as how many datagrams were judged: each counts as something besides received.
pub(super) fn verdicts(counters: &Counters) -> u64 {
    let only_on_the_way = [Counter::Received, Counter::Recovered];
    let judged = counters
        .iter()
        .filter(|(counter, _)| !only_on_the_way.contains(counter));
    judged.map(|(_, count)| count).sum()
}

/// How many questions for a retransmission were answered, one way or the other.
pub(super) fn resends(counters: &Counters) -> u64 {
    use Counter::{NoRetransmission, NotInCache, NotNegotiated, NotReady, ReplicaOversized, Resent};
    let answers = [
        Resent,
        NotInCache,
        NoRetransmission,
        NotNegotiated,
        NotReady,
        ReplicaOversized,
    ];
    answers.iter().map(|counter| counters[*counter]).sum()
}
