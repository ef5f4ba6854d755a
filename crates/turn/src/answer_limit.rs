//! The rate of answers to senders that have proved nothing.
//!
//! The address of such a sender may be forged, and the answers then reach another. So there are
//! only so many for an address in a second. An address shares its count with few others, by a hash
//! that nobody can guess: the counts take the same memory for any number of addresses, and none of
//! them can be pushed out.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use crate::limits::{ANSWERS_AT_ONCE, ANSWERS_PER_SECOND};

/// How many counts there are.
const COUNTS: usize = 16_384;
/// The part of an IPv6 address that one subscriber chooses freely.
const SUBSCRIBER_BITS: u32 = 64;

/// Counts answers by address.
#[derive(Debug)]
pub struct AnswerLimit {
    began: Instant,
    hash: RandomState,
    /// When each count is used up by no answer any more, since it began (the generic cell rate
    /// algorithm).
    free: Vec<Duration>,
}

impl AnswerLimit {
    /// Without any answer.
    pub fn new(now: Instant) -> Self {
        AnswerLimit {
            began: now,
            hash: RandomState::new(),
            free: vec![Duration::ZERO; COUNTS],
        }
    }

    /// Whether one more answer may be sent to this address. It counts then.
    pub fn admits(&mut self, now: Instant, address: IpAddr) -> bool {
        const EACH: Duration = Duration::from_millis(1_000 / ANSWERS_PER_SECOND as u64);
        const AT_ONCE: Duration = EACH.saturating_mul(ANSWERS_AT_ONCE);
        let now = now.saturating_duration_since(self.began);
        let at = self.hash.hash_one(subscriber(address)) as usize % COUNTS;
        let free = self.free[at].max(now) + EACH;
        let is_admitted = free <= now + AT_ONCE;
        if is_admitted {
            self.free[at] = free;
        }
        is_admitted
    }
}

/// An IPv4 address, or the network of an IPv6 address.
fn subscriber(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> SUBSCRIBER_BITS << SUBSCRIBER_BITS).into(),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_gets_so_many_answers_and_then_some_in_each_second() {
        let now = Instant::now();
        let mut limit = AnswerLimit::new(now);
        let mut sent = |seconds, address: &str| {
            let (now, address) = (now + Duration::from_secs(seconds), address.parse().unwrap());
            (0..5_000).filter(|_| limit.admits(now, address)).count() as u32
        };
        assert_eq!(sent(0, "192.0.2.1"), ANSWERS_AT_ONCE);
        assert_eq!(sent(0, "::ffff:192.0.2.1"), 0, "the same address");
        assert_eq!(sent(1, "192.0.2.1"), ANSWERS_PER_SECOND);
        assert_eq!(sent(3_600, "192.0.2.1"), ANSWERS_AT_ONCE, "a flood has no effect later");
        assert_eq!(sent(7_200, "2001:db8::1"), ANSWERS_AT_ONCE);
        assert_eq!(sent(7_200, "2001:db8::2"), 0, "the same subscriber");
    }

    #[test]
    fn other_addresses_are_answered_during_a_flood() {
        let now = Instant::now();
        let mut limit = AnswerLimit::new(now);
        let flooded = "192.0.2.1".parse().unwrap();
        while limit.admits(now, flooded) {}
        let others = (0..=255).map(|host| IpAddr::from([198, 51, 100, host]));
        let answered = others.filter(|other| limit.admits(now, *other)).count();
        assert!(answered >= 253, "{answered}");
    }
}
