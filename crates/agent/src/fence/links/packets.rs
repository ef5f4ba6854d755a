//! Packets of data tracks that wait for a link.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use southbound::LinkedMessage;

use crate::limits::{LINK_PACKETS_BYTES_MAX, LINK_PACKETS_MAX, LINKED_COST};

/// The packets of one link. Senders have turns, and a sender with more than the link carries loses
/// its own oldest packets.
#[derive(Debug, Default)]
pub struct PacketQueue {
    senders: BTreeMap<Arc<str>, OfSender>,
    /// The senders with packets, the one whose turn it is first.
    turns: VecDeque<Arc<str>>,
    len: usize,
    bytes: usize,
}

#[derive(Debug, Default)]
struct OfSender {
    packets: VecDeque<Arc<LinkedMessage>>,
    bytes: usize,
}

impl OfSender {
    fn pop(&mut self) -> Option<Arc<LinkedMessage>> {
        let packet = self.packets.pop_front()?;
        self.bytes -= cost(&packet);
        Some(packet)
    }
}

impl PacketQueue {
    /// Adds a packet. Returns how many were dropped for it.
    pub fn push(&mut self, packet: Arc<LinkedMessage>) -> usize {
        let cost = cost(&packet);
        let of_sender = self.senders.entry(packet.sender.clone()).or_default();
        if of_sender.packets.is_empty() {
            self.turns.push_back(packet.sender.clone());
        }
        of_sender.bytes += cost;
        of_sender.packets.push_back(packet);
        self.len += 1;
        self.bytes += cost;
        let mut dropped = 0;
        while self.len > LINK_PACKETS_MAX || self.bytes > LINK_PACKETS_BYTES_MAX {
            self.drop_oldest();
            dropped += 1;
        }
        dropped
    }

    /// The oldest packet of the sender whose turn it is.
    pub fn pop(&mut self) -> Option<Arc<LinkedMessage>> {
        let sender = self.turns.pop_front()?;
        let packet = self.take(&sender)?;
        if self.senders.contains_key(&sender) {
            self.turns.push_back(sender);
        }
        Some(packet)
    }

    /// The bytes that wait.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn drop_oldest(&mut self) {
        let longest = self.senders.iter().max_by_key(|(_, of_sender)| of_sender.bytes);
        let Some(sender) = longest.map(|(sender, _)| sender.clone()) else {
            return;
        };
        self.take(&sender);
        if !self.senders.contains_key(&sender) {
            self.turns.retain(|other| *other != sender);
        }
    }

    fn take(&mut self, sender: &Arc<str>) -> Option<Arc<LinkedMessage>> {
        let of_sender = self.senders.get_mut(sender)?;
        let packet = of_sender.pop()?;
        if of_sender.packets.is_empty() {
            self.senders.remove(sender);
        }
        self.len -= 1;
        self.bytes -= cost(&packet);
        Some(packet)
    }
}

fn cost(packet: &LinkedMessage) -> usize {
    packet.payload.len() + LINKED_COST
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sender: &str, number: usize, len: usize) -> Arc<LinkedMessage> {
        Arc::new(LinkedMessage {
            number: 0,
            room: "lobby".into(),
            reach: number as u64,
            sender: sender.into(),
            message: None,
            label: "_data_track".into(),
            payload: vec![0; len].into(),
            identities: Vec::new(),
            sids: Vec::new(),
            only: None,
            track: Some(1),
        })
    }

    fn drain(queue: &mut PacketQueue) -> Vec<(Arc<str>, u64)> {
        let packets = std::iter::from_fn(|| queue.pop());
        packets.map(|packet| (packet.sender.clone(), packet.reach)).collect()
    }

    #[test]
    fn packets_of_a_flood_are_dropped_for_its_own_later_ones() {
        let mut queue = PacketQueue::default();
        let mut dropped = 0;
        for number in 0..3 {
            dropped += queue.push(packet("quiet", number, 1_000));
        }
        for number in 0..10_000 {
            dropped += queue.push(packet("loud", number, 100));
        }
        assert_eq!(dropped, 10_003 - LINK_PACKETS_MAX);
        let left = drain(&mut queue);
        assert_eq!((left.len(), queue.bytes(), queue.len), (LINK_PACKETS_MAX, 0, 0));
        let quiet: Vec<_> = left.iter().filter(|(sender, _)| **sender == *"quiet").collect();
        assert_eq!(quiet.len(), 3);
        assert!(
            left[..6].iter().filter(|(sender, _)| **sender == *"quiet").count() == 3,
            "they have turns"
        );
        assert_eq!(left.last().unwrap().1, 9_999, "the newest are left");
        assert!(queue.senders.is_empty() && queue.turns.is_empty());
    }

    #[test]
    fn packets_that_wait_are_bounded_in_bytes() {
        let mut queue = PacketQueue::default();
        for number in 0..200 {
            queue.push(packet("loud", number, 60_000));
            assert!(queue.bytes() <= LINK_PACKETS_BYTES_MAX);
        }
        let left = drain(&mut queue);
        assert!(left.len() > 30 && left.is_sorted() && left.last().unwrap().1 == 199);
    }
}
