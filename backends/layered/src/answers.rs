//! What the offload has to say to reports the base has not answered yet.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::time::Instant;

use dataplane::{Event, RelayTraffic};

/// What a relay did in the offload, at some time.
pub(crate) type Part = (RelayTraffic, Option<Instant>);

/// The offload's part of each answer that is still to come, in the order of the questions.
///
/// Kept from when the question was put: when the answer comes, the relay may be gone from the
/// offload, or be another one at the same address.
#[derive(Debug, Default)]
pub(crate) struct Answers(HashMap<SocketAddr, VecDeque<Part>>);

impl Answers {
    /// The base has been asked about a relay.
    pub(crate) fn expect(&mut self, at: SocketAddr, part: Option<Part>) {
        self.0.entry(at).or_default().push_back(part.unwrap_or_default());
    }

    /// The base's answer, with the offload's part added.
    pub(crate) fn complete(&mut self, at: SocketAddr, traffic: RelayTraffic, last: Option<Instant>) -> Event {
        let (part, part_last) = self.take(at);
        Event::RelayTraffic {
            at,
            traffic: RelayTraffic {
                packets: traffic.packets + part.packets,
                bytes: traffic.bytes + part.bytes,
                dropped: traffic.dropped + part.dropped,
            },
            last: last.max(part_last),
        }
    }

    fn take(&mut self, at: SocketAddr) -> Part {
        let Some(parts) = self.0.get_mut(&at) else {
            return Part::default();
        };
        let part = parts.pop_front().unwrap_or_default();
        if parts.is_empty() {
            self.0.remove(&at);
        }
        part
    }
}
