//! The offloads' parts of reports the base has not answered yet.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::time::Instant;

use dataplane::{Event, OffloadedTraffic, RelayTraffic, WriteId};

/// The counts of a relay in one place or several, at some time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Part(RelayTraffic, Option<Instant>);

/// The offloads' parts of each answer that is still to come, in the order of the questions.
///
/// Kept from when the question was put: when the answer comes, the relay may be gone from the
/// offloads, or be another one at the same address.
#[derive(Debug, Default)]
pub(crate) struct DeferredReports {
    expected: HashMap<SocketAddr, VecDeque<Expected>>,
    ready: VecDeque<Event>,
}

#[derive(Debug)]
struct Expected {
    part: Part,
    /// Removals whose outcome is to come, and with it the last word of their offload.
    waits: Vec<WriteId>,
    /// The base's answer.
    base: Option<Part>,
}

impl Part {
    /// From what an offload says.
    pub(crate) fn new(traffic: Option<(RelayTraffic, Option<Instant>)>) -> Self {
        let Some((traffic, last)) = traffic else {
            return Part::default();
        };
        let offloaded = OffloadedTraffic {
            packets: traffic.packets,
            bytes: traffic.bytes,
            dropped: traffic.dropped,
        };
        Part(RelayTraffic { offloaded, ..traffic }, last)
    }

    /// Both together. The last packet is the later one of both, if its SSRC is known.
    pub(crate) fn and(self, other: Part) -> Part {
        let (later, earlier) = match self.1 >= other.1 {
            true => (self.0, other.0),
            false => (other.0, self.0),
        };
        let traffic = RelayTraffic {
            packets: self.0.packets + other.0.packets,
            bytes: self.0.bytes + other.0.bytes,
            dropped: self.0.dropped + other.0.dropped,
            ssrc: later.ssrc.or(earlier.ssrc),
            offloaded: OffloadedTraffic {
                packets: self.0.offloaded.packets + other.0.offloaded.packets,
                bytes: self.0.offloaded.bytes + other.0.offloaded.bytes,
                dropped: self.0.offloaded.dropped + other.0.offloaded.dropped,
            },
        };
        Part(traffic, self.1.max(other.1))
    }
}

impl DeferredReports {
    /// The base has been asked about a relay, of which the offloads say this, and more once these
    /// writes are done.
    pub(crate) fn expect(&mut self, at: SocketAddr, part: Part, waits: Vec<WriteId>) {
        let expected = Expected {
            part,
            waits,
            base: None,
        };
        self.expected.entry(at).or_default().push_back(expected);
    }

    /// The base's answer. One that nobody asked for through us goes on as it is.
    pub(crate) fn answered(&mut self, at: SocketAddr, traffic: RelayTraffic, last: Option<Instant>) {
        let waiting = self.expected.get_mut(&at);
        let first = waiting.and_then(|waiting| waiting.iter_mut().find(|expected| expected.base.is_none()));
        match first {
            Some(expected) => expected.base = Some(Part(traffic, last)),
            None => self.ready.push_back(Event::RelayTraffic { at, traffic, last }),
        }
        self.complete(at);
    }

    /// The outcome of a removal has come, and this is the last word of its offload.
    /// Says whether anybody waits for it.
    pub(crate) fn removed(&mut self, at: SocketAddr, write: WriteId, last_word: Part) -> bool {
        let waiting = self.expected.get_mut(&at).into_iter().flatten();
        let found = waiting.filter_map(|expected| {
            let position = expected.waits.iter().position(|waits| *waits == write)?;
            expected.waits.swap_remove(position);
            expected.part = expected.part.and(last_word);
            Some(())
        });
        let is_waited_for = found.count() > 0;
        self.complete(at);
        is_waited_for
    }

    /// The next answer that is complete, in the order of the questions about each relay.
    pub(crate) fn next(&mut self) -> Option<Event> {
        self.ready.pop_front()
    }

    fn complete(&mut self, at: SocketAddr) {
        let Some(waiting) = self.expected.get_mut(&at) else {
            return;
        };
        while let Some(expected) = waiting.front()
            && let Some(base) = expected.base
            && expected.waits.is_empty()
        {
            let Part(traffic, last) = base.and(expected.part);
            self.ready.push_back(Event::RelayTraffic { at, traffic, last });
            waiting.pop_front();
        }
        if waiting.is_empty() {
            self.expected.remove(&at);
        }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test needs some instant to begin at")]
mod tests {
    use std::time::Duration;

    use wire::Ssrc;

    use super::*;

    #[test]
    fn the_ssrc_is_that_of_the_place_with_the_later_packet() {
        let start = Instant::now();
        let part = |ssrc: Option<u32>, after: Option<u64>| {
            let traffic = RelayTraffic {
                ssrc: ssrc.map(Ssrc),
                ..RelayTraffic::default()
            };
            Part(traffic, after.map(|after| start + Duration::from_millis(after)))
        };
        for (one, other, expected) in [
            ((Some(1), Some(20)), (Some(2), Some(10)), Some(1)),
            ((Some(1), Some(10)), (Some(2), Some(20)), Some(2)),
            ((None, None), (Some(2), Some(10)), Some(2)),
            // A switch counts packets and does not know their SSRC.
            ((Some(1), Some(10)), (None, Some(20)), Some(1)),
            ((None, Some(10)), (None, None), None),
        ] {
            let Part(both, _) = part(one.0, one.1).and(part(other.0, other.1));
            assert_eq!(both.ssrc, expected.map(Ssrc), "{one:?} and {other:?}");
        }
    }
}
