//! Notices of the agent to the controller.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use wire::srtp::SrtpProfile;

use crate::{
    Capabilities, Fingerprint, Linked, MessageId, NodeId, Observation, SubscriptionId, TrackId, TransportId, relay,
};

/// One thing that happened on the media node.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// The node is ready; said before everything else, and again when its addresses change.
    Node(Node),
    /// ICE and DTLS are done: media flows, in both directions. Of a direct transport: the first
    /// packet of its peer was authenticated.
    Connected {
        /// Which transport.
        transport: TransportId,
        /// The SRTP protection profile; `None` for clear RTP.
        srtp: Option<SrtpProfile>,
    },
    /// The peer's consent expired (RFC 7675). An ICE restart may restore it. Of a direct transport:
    /// the peer is silent, and the next packet of it restores it.
    Disconnected {
        /// Which transport.
        transport: TransportId,
    },
    /// The transport is closed, with everything that used it. Not sent for a transport that the
    /// controller closed.
    Closed {
        /// Which transport.
        transport: TransportId,
        /// Why.
        reason: CloseReason,
    },
    /// A data channel is open in both directions.
    ChannelOpened {
        /// Which transport.
        transport: TransportId,
        /// Which channel.
        label: Arc<str>,
    },
    /// A data channel that was open is not open any more.
    ChannelClosed {
        /// Which transport.
        transport: TransportId,
        /// Which channel.
        label: Arc<str>,
        /// Why.
        why: ChannelEnd,
    },
    /// A message arrived on a data channel. Answered with
    /// [`Command::MessageHandled`](crate::Command::MessageHandled), even when its transport is
    /// closed: no more is read from a sender with too many unacknowledged messages.
    MessageReceived {
        /// From whom.
        transport: TransportId,
        /// On which channel.
        label: Arc<str>,
        /// The message.
        payload: Arc<[u8]>,
        /// Its name.
        message: MessageId,
        /// Whether it must arrive, as its channel has it. A node keeps it until it is handled, and
        /// says it to the next controller if one dies meanwhile.
        reliable: bool,
        /// The node has passed it on to those of its [endpoints](crate::MessageEndpoint) that it is
        /// for and whose numbers are not above this one; `None` if it has not passed it on.
        passed_on: Option<u64>,
        /// The endpoints of other nodes that it has been sent to over links.
        linked: Linked,
    },
    /// The node sends messages for the endpoints of another node over a link from now on, as
    /// [`Command::SetReach`](crate::Command::SetReach) said. Those of before were passed to the
    /// controller where they were for these endpoints, ahead of this.
    Reaches {
        /// The name of the endpoints' room.
        room: Arc<str>,
        /// The node that they go to.
        node: NodeId,
        /// The series of messages on the link.
        series: u64,
        /// The number that the command said; 0 if the link has failed.
        number: u64,
    },
    /// Somebody on another node said by [`Command::Resend`](crate::Command::Resend) that it has not
    /// received this message, and no link leads there. The controller passes it on.
    Missed {
        /// The name of the room.
        room: Arc<str>,
        /// The id of the sender's stay, who is on the node.
        sender: Arc<str>,
        /// The transport of the one who has missed it.
        transport: TransportId,
        /// The channel that it is sent on.
        label: Arc<str>,
        /// The message with its sender in it.
        payload: Arc<[u8]>,
    },
    /// The first media packet of a track arrived.
    TrackStarted {
        /// Which track.
        track: TrackId,
    },
    /// Which encodings of a track arrive now, as a bit set over
    /// [`Publication::encodings`](crate::Publication::encodings).
    Encodings {
        /// Which track.
        track: TrackId,
        /// Bit `i` is set while encoding `i` arrives.
        active: u8,
    },
    /// A receiver got its first packet of a subscription.
    SubscriptionStarted {
        /// Which subscription.
        subscription: SubscriptionId,
    },
    /// A receiver's downlink no longer carries even the lowest layer of a subscription, or it does
    /// again. The receiver is informed, so that it shows a pause and not a frozen picture.
    Paused {
        /// Which subscription.
        subscription: SubscriptionId,
        /// Whether nothing of it is sent now.
        paused: bool,
    },
    /// The activity on the tracks that carry an audio level (RFC 6464), every half second while
    /// there is any.
    Audio(Vec<AudioActivity>),
    /// How a transport does, every few seconds.
    Quality {
        /// Which transport.
        transport: TransportId,
        /// The measurements.
        quality: TransportQuality,
    },
    /// A command could not be carried out: a limit of the node was reached, or a direct transport
    /// cannot be as it was ordered.
    Refused {
        /// The transport whose command it was.
        transport: TransportId,
        /// A sentence for the log: which limit, or what is wrong with the order.
        why: String,
    },
    /// Something for the timelines of operators.
    Observation(Observation),
    /// Something about a relayed call.
    Relay(relay::RelayNotice),
}

/// The addresses and the certificate of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The node's id. A node takes another id each time it starts, since it has lost all state.
    pub node: NodeId,
    /// UDP addresses for host candidates, best first. With several ports, a participant is told
    /// those of one port.
    pub addresses: Vec<SocketAddr>,
    /// TCP addresses for passive host candidates (RFC 6544), best first.
    pub tcp_addresses: Vec<SocketAddr>,
    /// The node's certificate.
    pub fingerprint: Fingerprint,
    /// Whether a peer that offers no encryption gets none. For laboratories only.
    pub clear_rtp: bool,
    /// Whether it takes trunks without keys: its operator protects the network between the nodes
    /// otherwise.
    pub clear_trunks: bool,
    /// The abilities of its data plane.
    pub capabilities: Capabilities,
}

/// Why a transport ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CloseReason {
    /// Nobody proved to be at the other end in time.
    NeverConnected,
    /// Consent expired and no restart followed (RFC 7675), or the peer of a direct transport was
    /// silent for as long.
    ConsentExpired,
    /// The DTLS handshake failed or did not end in time.
    Handshake,
    /// The peer's certificate is not the one its description promised.
    Fingerprint,
    /// The peer closed the DTLS association.
    Peer,
}

/// Why a data channel ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChannelEnd {
    /// The peer closed it, or its SCTP association ended.
    Peer,
    /// The peer took too long to accept a reliable message.
    TooSlow,
}

/// The activity on one track in the last interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AudioActivity {
    /// Which track.
    pub track: TrackId,
    /// Mean level of the active packets, in -dBov: 0 is the loudest, 127 silence (RFC 6464).
    pub level: u8,
    /// How much of the interval was active.
    pub active: Duration,
}

/// Loss, delay and rate of one transport since the last notice.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TransportQuality {
    /// Part of the peer's packets that did not arrive here, 0 to 1, before repair.
    pub uplink_loss: f32,
    /// Part of our packets the peer reports as lost, 0 to 1.
    pub downlink_loss: f32,
    /// Round-trip time, when the peer's receiver reports allow it (RFC 3550 section 6.4.1).
    pub round_trip: Option<Duration>,
    /// The greatest interarrival jitter among the peer's reports.
    pub jitter: Duration,
}
