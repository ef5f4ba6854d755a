//! The messages that wait for one link, and the packets of data tracks beside them.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use agent::fence::PacketQueue;
use agent::limits::LINK_MESSAGES_MAX;
use southbound::{LinkMessage, LinkedMessage};
use tokio::sync::mpsc;
use tokio_stream::Stream;

/// Messages to a node that wait for its link. A link may have to repeat as many as there may be,
/// and new ones follow.
const MESSAGES_MAX: usize = 2 * LINK_MESSAGES_MAX;

/// Messages to a node that wait when one that may be lost is not added to them.
const LOSSY_WAITING_MAX: usize = 256;

/// A queue of one link, and its end at the connection.
pub(crate) fn link_queue() -> (LinkSender, LinkReceiver) {
    let (messages, taken) = mpsc::channel(MESSAGES_MAX);
    let (wake, woken) = mpsc::channel(1);
    let packets = Arc::<Mutex<PacketQueue>>::default();
    let sender = LinkSender {
        messages,
        packets: packets.clone(),
        wake,
    };
    let receiver = LinkReceiver {
        messages: taken,
        packets,
        woken,
        has_packets_turn: false,
    };
    (sender, receiver)
}

/// The end of the thread. The link ends with it.
#[derive(Debug)]
pub(crate) struct LinkSender {
    messages: mpsc::Sender<LinkMessage>,
    packets: Arc<Mutex<PacketQueue>>,
    wake: mpsc::Sender<()>,
}

impl LinkSender {
    /// Adds a message. Returns false if there is no place, or the connection is gone.
    pub(super) fn send(&self, message: LinkMessage) -> bool {
        self.messages.try_send(message).is_ok()
    }

    /// Whether so much waits that a message which may be lost is not added to it.
    pub(super) fn is_congested(&self) -> bool {
        self.messages.max_capacity() - self.messages.capacity() >= LOSSY_WAITING_MAX
    }

    /// The bytes of packets that wait.
    pub(super) fn packet_bytes(&self) -> usize {
        lock(&self.packets).bytes()
    }

    /// Adds a packet of a data track. Returns how many were dropped for it.
    pub(super) fn send_packet(&self, packet: Arc<LinkedMessage>) -> usize {
        let dropped = lock(&self.packets).push(packet);
        // An error means that the connection has been woken already, or is gone.
        let _ = self.wake.try_send(());
        dropped
    }
}

/// The end of the connection. Messages and packets have turns.
#[derive(Debug)]
pub(crate) struct LinkReceiver {
    messages: mpsc::Receiver<LinkMessage>,
    packets: Arc<Mutex<PacketQueue>>,
    woken: mpsc::Receiver<()>,
    has_packets_turn: bool,
}

impl LinkReceiver {
    fn packet(&mut self) -> Option<LinkMessage> {
        let packet = lock(&self.packets).pop()?;
        self.has_packets_turn = false;
        Some(LinkMessage::Message(packet))
    }
}

impl Stream for LinkReceiver {
    type Item = LinkMessage;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<LinkMessage>> {
        if self.has_packets_turn
            && let Some(packet) = self.packet()
        {
            return Poll::Ready(Some(packet));
        }
        if let Poll::Ready(message) = self.messages.poll_recv(cx) {
            self.has_packets_turn = true;
            return Poll::Ready(message);
        }
        // A wake-up may be of packets that were taken before.
        while let Poll::Ready(Some(())) = self.woken.poll_recv(cx) {}
        self.packet().map_or(Poll::Pending, |packet| Poll::Ready(Some(packet)))
    }
}

fn lock(packets: &Mutex<PacketQueue>) -> std::sync::MutexGuard<'_, PacketQueue> {
    packets.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use southbound::{LinkHello, NodeId, Versions};
    use tokio_stream::StreamExt;

    use super::*;

    fn packet(reach: u64) -> Arc<LinkedMessage> {
        Arc::new(LinkedMessage {
            number: 0,
            room: "lobby".into(),
            reach,
            sender: "PA_ada".into(),
            message: None,
            label: "_data_track".into(),
            payload: [0; 100].into(),
            identities: Vec::new(),
            sids: Vec::new(),
            only: None,
            track: Some(1),
        })
    }

    fn message(series: u64) -> LinkMessage {
        LinkMessage::Hello(LinkHello {
            versions: Versions::OURS,
            node: NodeId(1),
            series,
        })
    }

    #[tokio::test]
    async fn packets_and_messages_of_a_link_have_turns() {
        let (sender, mut receiver) = link_queue();
        for number in 0..3 {
            assert!(sender.send(message(number)));
            assert_eq!(sender.send_packet(packet(number)), 0);
        }
        for number in 0..3 {
            assert_eq!(receiver.next().await, Some(message(number)));
            assert_eq!(receiver.next().await, Some(LinkMessage::Message(packet(number))));
        }
        let waiting = tokio::spawn(async move { (receiver.next().await, receiver.next().await) });
        tokio::task::yield_now().await;
        sender.send_packet(packet(9));
        tokio::task::yield_now().await;
        drop(sender);
        assert_eq!(waiting.await.unwrap(), (Some(LinkMessage::Message(packet(9))), None));
    }

    #[test]
    fn packets_of_a_link_that_takes_none_are_dropped_and_its_messages_stay() {
        let (sender, _receiver) = link_queue();
        assert!(sender.send(message(0)));
        let dropped: usize = (0..10_000).map(|number| sender.send_packet(packet(number))).sum();
        assert!(dropped > 8_000 && !sender.is_congested());
        assert!(sender.send(message(1)));
    }
}
