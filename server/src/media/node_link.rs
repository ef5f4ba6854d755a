//! A controller's end of its two queues with the media node.

use std::collections::VecDeque;
use std::pin::pin;

use southbound::{Command, NodeId};
use tokio::sync::mpsc;

use super::command_queue::CommandSender;

/// The commands to the node and its notices, which are `N`, in their order.
pub(crate) struct NodeLink<N> {
    id: NodeId,
    commands: CommandSender,
    notices: mpsc::Receiver<N>,
    /// Notices that were taken while the node took no commands, so that neither waits for the other
    /// for ever. The node takes commands in each of its turns, so these are few.
    taken: VecDeque<N>,
}

impl<N> NodeLink<N> {
    /// With the node of this id, over these queues.
    pub(crate) fn new(id: NodeId, commands: CommandSender, notices: mpsc::Receiver<N>) -> Self {
        Self {
            id,
            commands,
            notices,
            taken: VecDeque::new(),
        }
    }

    /// The id of the node.
    pub(crate) fn id(&self) -> NodeId {
        self.id
    }

    /// The next notice; `None` once the node is gone. Nothing is lost if this is given up.
    pub(crate) async fn next(&mut self) -> Option<N> {
        match self.taken.pop_front() {
            Some(notice) => Some(notice),
            None => self.notices.recv().await,
        }
    }

    /// Hands commands over, waiting while the node has as many as it takes.
    pub(crate) async fn send(&mut self, commands: impl IntoIterator<Item = Command>) {
        let mut sent = pin!(self.commands.send_all(commands));
        loop {
            tokio::select! {
                biased;
                () = &mut sent => return,
                Some(notice) = self.notices.recv() => self.taken.push_back(notice),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use southbound::TransportId;

    use super::super::command_queue::command_queue;
    use super::super::waker::Waker;
    use super::*;

    #[tokio::test]
    async fn commands_wait_for_a_node_that_waits_for_its_notices_to_be_taken() {
        let (commands, mut taken) = command_queue(2, Waker::default());
        let (notify, notices) = mpsc::channel(1);
        let mut link = NodeLink::new(NodeId(1), commands, notices);
        let node = tokio::spawn(async move {
            // The node says more than its queue takes before it takes the first command.
            for notice in 0..10 {
                notify.send(notice).await.unwrap();
            }
            let mut transports = Vec::new();
            for _ in 0..5 {
                match taken.recv().await {
                    Some(Command::Close { transport }) => transports.push(transport.0),
                    other => panic!("a command, and not {other:?}"),
                }
            }
            transports
        });
        let close = |number| Command::Close {
            transport: TransportId(number),
        };
        link.send((1..=5).map(close)).await;
        assert_eq!(node.await.unwrap(), [1, 2, 3, 4, 5], "none is dropped");
        for expected in 0..10 {
            assert_eq!(link.next().await, Some(expected), "in their order");
        }
        assert_eq!(link.next().await, None);
    }
}
