//! Handshakes that wait to be computed, in shares by the address of the peer.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

use slots::{WEIGHT, address_block};

use crate::limits::HANDSHAKES_WAITING_MAX;
use crate::owner::Owner;

/// Owners of handshakes that wait, each once. Some of them may be gone already.
///
/// Addresses take turns, so that one with many peers delays another by one handshake. Under
/// pressure a handshake begins only if its address has less than [`WEIGHT`] times as many as are
/// free.
#[derive(Debug, Default)]
pub(crate) struct HandshakeQueue {
    waiting: HashMap<IpAddr, VecDeque<Owner>>,
    /// The addresses of those, in turn.
    turns: VecDeque<IpAddr>,
    len: usize,
}

impl HandshakeQueue {
    /// Whether a new handshake with a peer at this address may begin.
    pub(crate) fn admits(&self, peer: IpAddr) -> bool {
        let free = HANDSHAKES_WAITING_MAX.saturating_sub(self.len);
        let of_peer = self.waiting.get(&address_block(peer)).map_or(0, VecDeque::len);
        of_peer < WEIGHT * free
    }

    /// One more waits.
    pub(crate) fn push(&mut self, peer: IpAddr, owner: Owner) {
        let peer = address_block(peer);
        let of_peer = self.waiting.entry(peer).or_default();
        if of_peer.is_empty() {
            self.turns.push_back(peer);
        }
        of_peer.push_back(owner);
        self.len += 1;
    }

    /// The one whose turn it is.
    pub(crate) fn pop(&mut self) -> Option<Owner> {
        let peer = self.turns.pop_front()?;
        let of_peer = self.waiting.get_mut(&peer)?;
        let owner = of_peer.pop_front();
        match of_peer.is_empty() {
            true => _ = self.waiting.remove(&peer),
            false => self.turns.push_back(peer),
        }
        self.len -= 1;
        owner
    }
}

#[cfg(test)]
mod tests {
    use southbound::TransportId;

    use super::*;

    #[test]
    fn an_address_with_many_handshakes_delays_another_by_one() {
        let address = |number: u8| IpAddr::from([192, 0, 2, number]);
        let owner = |number| Owner::Transport(TransportId(number));
        let mut queue = HandshakeQueue::default();
        let mut of_one = 0;
        while queue.admits(address(1)) {
            queue.push(address(1), owner(of_one));
            of_one += 1;
        }
        assert!(of_one < 230, "{of_one}");
        assert!(queue.admits(address(2)), "others find room");
        queue.push(address(2), owner(1_000));
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(order[..3], [owner(0), owner(1_000), owner(1)]);
        assert_eq!((order.len() as u64, queue.len), (of_one + 1, 0));
        assert!(queue.turns.is_empty() && queue.waiting.is_empty());
    }
}
