//! The connections between machines that relay SIP calls: each of them to each other.
//!
//! A machine learns of the others from the records of media nodes in the store, and connects to
//! them over mutual TLS. The store may be away afterwards. [`registry`] keeps one connection to
//! each, and [`link`] carries a [`PeerMessage`] each time. Everything that happens goes to the
//! task of calls as a [`RelayEvent`].

mod accept;
mod dial;
mod discovery;
mod link;
mod registry;
#[cfg(test)]
pub(crate) mod tests;

use std::sync::Arc;

use sip::PeerMessage;
use southbound::NodeId;
use stores::Store;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::tls::ClusterTls;
use crate::metrics::relay_peers::PeerCounts;
pub(crate) use link::{ANSWER_LEN_MAX, Link};
pub(crate) use registry::LinkId;
use registry::Registry;

/// Events that wait for the task of calls; then the connections wait.
const EVENTS_MAX: usize = 4_096;

/// Something that happened to another machine.
#[derive(Debug)]
pub(crate) enum RelayEvent {
    /// The machines that the store has.
    Known(Vec<NodeId>),
    /// A machine is connected. An earlier connection of it is over.
    Joined(NodeId, Link),
    /// A machine could not be reached.
    Unreached(NodeId),
    /// A connection is over.
    Left(NodeId, LinkId),
    /// A machine says something.
    Said(NodeId, LinkId, PeerMessage),
}

/// The parts that connections need. Cheap to clone.
#[derive(Clone)]
struct Context {
    own: NodeId,
    tls: ClusterTls,
    registry: Arc<Registry>,
    events: mpsc::Sender<RelayEvent>,
    counts: PeerCounts,
}

/// The connections to the other machines, which end when this is dropped.
pub(crate) struct Relays {
    /// All events, in their order.
    pub events: mpsc::Receiver<RelayEvent>,
    _tasks: JoinSet<()>,
}

/// Takes connections of others from now on, and connects to those that the store has.
///
/// Panics outside of a tokio runtime.
pub(crate) fn start(
    own: NodeId,
    listener: TcpListener,
    tls: ClusterTls,
    store: Arc<dyn Store>,
    counts: PeerCounts,
) -> Relays {
    let (told, events) = mpsc::channel(EVENTS_MAX);
    let context = Context {
        own,
        tls,
        registry: Arc::new(Registry::new(own)),
        events: told,
        counts,
    };
    let mut tasks = JoinSet::new();
    tasks.spawn(accept::serve(listener, context.clone()));
    tasks.spawn(discovery::follow(store, context));
    Relays { events, _tasks: tasks }
}
