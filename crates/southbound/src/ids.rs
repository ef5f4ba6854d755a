//! Ids that both sides use. The controller assigns them, except those of nodes and of messages, and
//! never uses one twice.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u64);
    };
}

id! {
    /// One ICE + DTLS + SRTP association with one peer.
    TransportId
}
id! {
    /// One published source: a camera, a microphone, a shared screen (RFC 7656 "media source").
    TrackId
}
id! {
    /// One receiver's wish to get one track over one transport.
    SubscriptionId
}
id! {
    /// One media node: an agent and its data plane. The node chooses its id when it starts, at
    /// random.
    NodeId
}

/// One message that arrived on a data channel. The node it arrived at hands these out, so a
/// controller with several nodes can tell one node's messages from another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId {
    /// The node that the message arrived at.
    pub node: NodeId,
    /// Counts that node's messages.
    pub number: u64,
}
