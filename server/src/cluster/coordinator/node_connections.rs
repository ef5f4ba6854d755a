//! The connections of a controller with the media nodes of its cluster.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use operator::cluster::Connection;
use southbound::{ControllerHello, NodeId, NodeMessage, RoomMessage, RoomState};
use tokio::sync::{Notify, mpsc};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use super::Event;
use crate::cluster::southbound::controller::{ConnectError, RemoteNode, connect};
use crate::cluster::tls::ClusterTls;
use crate::os::clock;

/// The pauses before a node is connected to again: the first, and the longest.
const AGAIN: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(2)];

/// How long a node that was connected may be away before its participants are sent elsewhere. One
/// whose machine is gone has been silent for the time of a keep-alive before.
const AWAY_MAX: Duration = Duration::from_secs(1);

/// How often the port of a node that was connected may refuse before its process counts as gone.
const REFUSALS_MAX: u32 = 2;

/// How long the list of a node's rooms may take.
const ROOMS_MAX_TIME: Duration = Duration::from_secs(10);

/// One thing that happened to the connection of a node.
#[derive(Debug)]
pub(crate) enum NodeUpdate {
    /// The node is connected, and has these rooms. Messages to it go into the queue.
    Connected(Vec<RoomState>, mpsc::Sender<RoomMessage>),
    /// The node said something.
    Message(NodeMessage),
    /// The connection is lost. It is made again.
    Lost,
    /// The node has been away for too long: its participants are better served elsewhere.
    Away,
}

/// The nodes that are connected to, or tried.
pub(super) struct NodeConnections {
    tls: ClusterTls,
    hello: ControllerHello,
    events: mpsc::Sender<Event>,
    nodes: BTreeMap<NodeId, NodeConnection>,
    /// Counts connections, so that what an earlier one says is told from what a later one says.
    attempts: u64,
}

struct NodeConnection {
    attempt: u64,
    address: String,
    task: AbortHandle,
    messages: Option<mpsc::Sender<RoomMessage>>,
    /// Has the task make the connection again.
    stuck: Arc<Notify>,
    /// Whether it has been connected.
    was_connected: bool,
    /// When it was connected or lost, or else when it was first tried.
    since: Instant,
    /// The store does not know the node any more, so it is not connected to again.
    is_retired: bool,
}

impl Drop for NodeConnection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl NodeConnections {
    pub(super) fn new(tls: ClusterTls, hello: ControllerHello, events: mpsc::Sender<Event>) -> Self {
        Self {
            tls,
            hello,
            events,
            nodes: BTreeMap::new(),
            attempts: 0,
        }
    }

    /// Keeps a connection with the node at an address from now on.
    pub(super) fn connect(&mut self, now: Instant, node: NodeId, address: String) {
        if let Some(known) = self.nodes.get_mut(&node).filter(|known| known.address == address) {
            known.is_retired = false;
            return;
        }
        self.attempts += 1;
        let attempt = self.attempts;
        let follower_address = address.clone();
        let stuck = Arc::new(Notify::new());
        let follower = Follower {
            node,
            attempt,
            address,
            stuck: stuck.clone(),
            tls: self.tls.clone(),
            hello: self.hello,
            events: self.events.clone(),
        };
        let task = tokio::spawn(follower.run()).abort_handle();
        let connection = NodeConnection {
            attempt,
            address: follower_address,
            task,
            messages: None,
            stuck,
            was_connected: false,
            since: now,
            is_retired: false,
        };
        self.nodes.insert(node, connection);
    }

    /// A node takes no messages. It is connected to again, and told everything that it has missed.
    pub(super) fn reconnect(&mut self, node: NodeId) {
        if let Some(known) = self.nodes.get_mut(&node) {
            warn!(
                node = node.0,
                "a media node takes no messages, and is connected to again"
            );
            known.messages = None;
            known.stuck.notify_one();
        }
    }

    /// The store does not know a node any more. Its connection ends by itself: it may be the store
    /// that has forgotten. Returns whether there is none.
    pub(super) fn retire(&mut self, node: NodeId) -> bool {
        match self.nodes.get_mut(&node) {
            Some(known) if known.messages.is_some() => {
                known.is_retired = true;
                false
            }
            _ => {
                self.nodes.remove(&node);
                true
            }
        }
    }

    /// Notes what a connection says of itself. Returns whether it is the last one of its node.
    pub(super) fn note(&mut self, now: Instant, node: NodeId, attempt: u64, update: &NodeUpdate) -> bool {
        let Some(known) = self.nodes.get_mut(&node).filter(|known| known.attempt == attempt) else {
            return false;
        };
        match update {
            NodeUpdate::Connected(_, messages) => {
                known.messages = Some(messages.clone());
                (known.was_connected, known.since) = (true, now);
            }
            NodeUpdate::Lost => (known.messages, known.since) = (None, now),
            NodeUpdate::Away if known.is_retired => drop(self.nodes.remove(&node)),
            NodeUpdate::Message(_) | NodeUpdate::Away => {}
        }
        true
    }

    /// The queue of messages to a node, while it is connected.
    pub(super) fn messages(&self, node: NodeId) -> Option<mpsc::Sender<RoomMessage>> {
        self.nodes.get(&node)?.messages.clone()
    }

    /// All nodes with their addresses, the states of their connections, and since when.
    pub(super) fn standings(&self) -> impl Iterator<Item = (NodeId, &str, Connection, Instant)> {
        self.nodes.iter().map(|(node, known)| {
            let connection = match (&known.messages, known.was_connected) {
                (Some(_), _) => Connection::Connected,
                (None, true) => Connection::Away,
                (None, false) => Connection::Connecting,
            };
            (*node, known.address.as_str(), connection, known.since)
        })
    }

    /// Which nodes are connected.
    pub(super) fn connected(&self) -> impl Iterator<Item = NodeId> {
        let connected = self.nodes.iter().filter(|(_, known)| known.messages.is_some());
        connected.map(|(node, _)| *node)
    }
}

/// Keeps the connection with one node.
struct Follower {
    node: NodeId,
    attempt: u64,
    address: String,
    stuck: Arc<Notify>,
    tls: ClusterTls,
    hello: ControllerHello,
    events: mpsc::Sender<Event>,
}

/// Nobody takes events any more.
struct Gone;

impl Follower {
    async fn run(self) {
        let (mut pause, mut refusals) = (AGAIN[0], 0);
        let mut lost: Option<Instant> = None;
        loop {
            let connecting = connect(&self.address, &self.tls, self.hello);
            // An address that does not answer takes longer than a node may be away.
            let connected = match lost {
                Some(at) => {
                    let left = (at + AWAY_MAX).saturating_duration_since(clock::now());
                    timeout(left, connecting).await.unwrap_or(Err(ConnectError::Silent))
                }
                None => connecting.await,
            };
            match connected {
                Ok(remote) if remote.hello.node == self.node => match self.follow(remote).await {
                    Ok(true) => (pause, refusals, lost) = (AGAIN[0], 0, Some(clock::now())),
                    Ok(false) => {}
                    Err(Gone) => return,
                },
                Ok(remote) => {
                    // It has started again, and the other one has a connection of its own. Each
                    // further attempt would end that.
                    (refusals, pause) = (REFUSALS_MAX, AGAIN[1]);
                    let (other, address) = (remote.hello.node.0, &self.address);
                    warn!(
                        node = self.node.0,
                        other, address, "another media node answers at its address"
                    );
                }
                Err(error) => {
                    refusals += u32::from(is_refusal(&error));
                    warn!(node = self.node.0, address = self.address, %error, "a media node cannot be reached");
                }
            }
            let is_away = lost.is_some_and(|at| refusals >= REFUSALS_MAX || clock::now() >= at + AWAY_MAX);
            if is_away {
                lost = None;
                if self.tell(NodeUpdate::Away).await.is_err() {
                    return;
                }
            }
            sleep(pause).await;
            pause = (pause * 2).min(if lost.is_some() { AGAIN[0] } else { AGAIN[1] });
        }
    }

    /// Passes on what a node says until the connection is lost. Returns whether the node was
    /// connected.
    async fn follow(&self, mut remote: RemoteNode) -> Result<bool, Gone> {
        let listed = timeout(ROOMS_MAX_TIME, rooms(&mut remote));
        let Ok(Some(rooms)) = listed.await else {
            warn!(node = self.node.0, "a media node does not say which rooms it has");
            return Ok(false);
        };
        info!(
            node = self.node.0,
            address = self.address,
            version = remote.version,
            rooms = rooms.len(),
            "a media node is connected"
        );
        self.tell(NodeUpdate::Connected(rooms, remote.messages.clone())).await?;
        loop {
            tokio::select! {
                message = remote.events.recv() => match message {
                    Some(message) => self.tell(NodeUpdate::Message(message)).await?,
                    None => break,
                },
                () = self.stuck.notified() => break,
            }
        }
        self.tell(NodeUpdate::Lost).await?;
        Ok(true)
    }

    async fn tell(&self, update: NodeUpdate) -> Result<(), Gone> {
        let event = Event::Node {
            node: self.node,
            attempt: self.attempt,
            update,
        };
        self.events.send(event).await.map_err(|_| Gone)
    }
}

/// The rooms of a node, which begins with them.
async fn rooms(remote: &mut RemoteNode) -> Option<Vec<RoomState>> {
    let mut all = Vec::new();
    loop {
        match remote.events.recv().await? {
            NodeMessage::Rooms { rooms, is_last } => {
                all.extend(rooms);
                if is_last {
                    return Some(all);
                }
            }
            _ => return None,
        }
    }
}

fn is_refusal(error: &ConnectError) -> bool {
    matches!(error, ConnectError::Unreachable(error) if error.kind() == io::ErrorKind::ConnectionRefused)
}
