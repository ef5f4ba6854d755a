//! The queue of commands to the media node.

use southbound::Command;
use tokio::sync::mpsc;
use tracing::error;

use super::waker::Waker;

/// The controller's handle on the node.
#[derive(Clone)]
pub(crate) struct CommandSender {
    commands: mpsc::Sender<Command>,
    waker: Waker,
}

impl CommandSender {
    /// Hands commands over, waiting while the node has as many as it takes, and wakes it once.
    pub(crate) async fn send_all(&self, commands: impl IntoIterator<Item = Command>) {
        let mut sent = false;
        for command in commands {
            // The node may sleep while it has commands that it was not woken for.
            if self.commands.capacity() == 0 {
                self.waker.wake();
            }
            if self.commands.send(command).await.is_err() {
                // The end of the node ends the process.
                return error!("the media node is gone");
            }
            sent = true;
        }
        if sent {
            self.waker.wake();
        }
    }
}

/// A queue of at most `max` commands.
pub(crate) fn command_queue(max: usize, waker: Waker) -> (CommandSender, mpsc::Receiver<Command>) {
    let (commands, taken) = mpsc::channel(max);
    (CommandSender { commands, waker }, taken)
}
