//! Commands of the controller to the agent.

use std::sync::Arc;

use wire::{Codec, MediaKind, Mid, PayloadType, Rid, Ssrc};

use crate::{
    DataTrackRoute, DistantEndpoint, DistantTrack, MessageEndpoint, MessageId, NodeId, OpenDirect, OpenTransport,
    RemoteTransport, SubscriptionId, TrackId, TransportId, relay,
};

/// A command of the controller. Setting a value that is already set replaces it. Removing a value
/// that is absent does nothing, so that a controller that has lost its state may repeat all
/// commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Creates a transport, or gives an existing one new local credentials (an ICE restart).
    Open(OpenTransport),
    /// Creates a transport to a known address, which needs no description, or gives an existing one
    /// other extension ids.
    OpenDirect(Box<OpenDirect>),
    /// The peer's half of a transport's description.
    Connect {
        /// Which transport.
        transport: TransportId,
        /// The remote description.
        remote: RemoteTransport,
    },
    /// Ends a transport and everything published or subscribed over it.
    Close {
        /// Which transport.
        transport: TransportId,
    },
    /// Announces a track, or changes it.
    Publish(Publication),
    /// Withdraws a track. Its subscriptions end with it.
    Unpublish {
        /// Which track.
        track: TrackId,
    },
    /// Forwards a track to a receiver, or changes how.
    Subscribe(Subscription),
    /// A receiver no longer gets a track.
    Unsubscribe {
        /// Which subscription.
        subscription: SubscriptionId,
    },
    /// Sets whether a track is forwarded to anybody; a new one is. In a large room only the loudest
    /// few voices are: one command for each change, however many listen.
    SetForwarding {
        /// Which track.
        track: TrackId,
        /// Nothing of it is sent while false; its audio levels are still measured.
        forwarding: bool,
    },
    /// Sets the rank of a video track by its publisher's voice. Receivers whose downlink does not
    /// carry everything get more of a track with a rank than of one without.
    SetSpeakerRank {
        /// Which video track.
        track: TrackId,
        /// 0 for the loudest speaker; `None` for a publisher who does not speak.
        rank: Option<u8>,
    },
    /// Sets the highest rate that is divided among a transport's subscriptions, below what its
    /// downlink carries. It holds for receivers that report on packets or estimate their downlink;
    /// audio is always sent.
    SetDownlinkLimit {
        /// Which transport.
        transport: TransportId,
        /// Bits per second; `None` for no limit, as of a new one.
        limit: Option<u64>,
    },
    /// Sends one message on a data channel of each of several transports.
    Send {
        /// To whom.
        to: Vec<TransportId>,
        /// On which channel: the label.
        label: Arc<str>,
        /// The message; shared, since it often goes to a whole room.
        payload: Arc<[u8]>,
        /// Whether it must arrive. If so, it waits for a channel that is not open yet.
        reliable: bool,
        /// The message that is passed on by this, if it came from a peer: its sender is held back
        /// until the receivers have taken it.
        message: Option<MessageId>,
    },
    /// Acknowledges a message of [`Notice::MessageReceived`](crate::Notice::MessageReceived): each
    /// [`Command::Send`] that passes it on was given before this. Given once for each message.
    MessageHandled {
        /// Which message.
        message: MessageId,
    },
    /// Lets a node pass on the messages of a participant by itself, to those of the room who are on
    /// it. Said again, it replaces the endpoint of the same transport, which goes on with its
    /// numbers. Only nodes that several controllers command take it and the next five: in one
    /// process the controller passes messages on.
    SetEndpoint(Box<MessageEndpoint>),
    /// Ends an endpoint. It also ends with its transport.
    RemoveEndpoint {
        /// The transport that names it.
        transport: TransportId,
    },
    /// Says whether somebody of the room has no endpoint at the node. If so, as at first, the
    /// controller is told the messages that are for everybody, and passes them on to the others.
    SetElsewhere {
        /// Whether there is anybody.
        elsewhere: bool,
    },
    /// Sets the receivers of a data track.
    SetDataTrack(Box<DataTrackRoute>),
    /// Ends a data track. It also ends with its endpoint.
    RemoveDataTrack {
        /// The endpoint of the track's publisher.
        endpoint: TransportId,
        /// The publisher's handle of the track.
        handle: u16,
    },
    /// Sends a participant that came back the reliable messages that it says it has not received,
    /// of senders that have endpoints at the node.
    Resend {
        /// The endpoint of the participant.
        transport: TransportId,
        /// The number of the last message that it has received of each sender, by the id of the
        /// sender's stay.
        received: Vec<(Arc<str>, u32)>,
    },
    /// Tells a node of a participant that is on another one. Said again, it replaces the endpoint
    /// of the same transport. The node takes this and the next three from version 3 on.
    SetDistantEndpoint(Box<DistantEndpoint>),
    /// Ends a distant endpoint.
    RemoveDistantEndpoint {
        /// The transport that names it.
        transport: TransportId,
    },
    /// Has the node send messages over a link to another node, from and to endpoints whose numbers
    /// are not above this one. All of those were set before. Answered with
    /// [`Notice::Reaches`](crate::Notice::Reaches) as soon as there is a link.
    SetReach {
        /// The node that they go to.
        node: NodeId,
        /// The number; 0 if the node sends nothing there from now on.
        number: u64,
    },
    /// Sets the receivers of a data track whose packets come over a link.
    SetDistantTrack(Box<DistantTrack>),
    /// Ends such a data track.
    RemoveDistantTrack {
        /// The handle that receivers know.
        handle: u16,
    },
    /// Passes on a notice [`Notice::Reaches`](crate::Notice::Reaches) of another node. Everything
    /// that the controller got from that node before was passed on before this.
    SetSource {
        /// The node that has said it.
        node: NodeId,
        /// The series of its messages.
        series: u64,
        /// The number of [`Command::SetReach`] that it has taken; 0 if the link has failed: nothing
        /// more of the series is taken.
        number: u64,
    },
    /// Something about a relayed call.
    Relay(relay::RelayCommand),
}

/// A track as its publisher announced it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publication {
    /// The track.
    pub track: TrackId,
    /// The transport it arrives on.
    pub transport: TransportId,
    /// Audio or video.
    pub kind: MediaKind,
    /// Identification of its media section (RFC 9143).
    pub mid: Option<Mid>,
    /// The meaning of the negotiated payload types on this transport.
    pub formats: Vec<PayloadFormat>,
    /// The encodings in rising quality: one, or one for each simulcast version.
    pub encodings: Vec<Encoding>,
    /// The publisher muted it: silence is expected.
    pub muted: bool,
    /// A camera or microphone, or a screen: where a downlink does not carry everything, screens
    /// come first.
    pub source: TrackSource,
}

/// The content of a track.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TrackSource {
    /// A person.
    #[default]
    Camera,
    /// A shared screen.
    Screen,
}

/// One negotiated payload type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PayloadFormat {
    /// The payload type of the media.
    pub payload_type: PayloadType,
    /// Its codec.
    pub codec: Codec,
    /// The payload type of its retransmissions (RFC 4588), when negotiated.
    pub rtx: Option<PayloadType>,
    /// Whether the receiver of this format may ask for retransmissions (RFC 4585 generic NACK).
    pub nack: bool,
}

/// One encoding of a track. An encoding is found by its SSRC where the description names one, else
/// by its mid and rid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoding {
    /// Restriction identifier (RFC 8851) of a simulcast version.
    pub rid: Option<Rid>,
    /// SSRC, when the description says it.
    pub ssrc: Option<Ssrc>,
    /// SSRC of its retransmissions, when the description says it.
    pub rtx: Option<Ssrc>,
    /// Picture width in pixels; 0 for audio or when unknown.
    pub width: u32,
    /// Picture height in pixels; 0 for audio or when unknown.
    pub height: u32,
    /// Width and height of each spatial layer inside the encoding, in rising order, as announced;
    /// empty when it has one or nothing was said.
    pub layers: Vec<(u32, u32)>,
}

/// A track that one receiver gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// The subscription.
    pub subscription: SubscriptionId,
    /// The receiver's transport.
    pub transport: TransportId,
    /// The track to send there.
    pub track: TrackId,
    /// The SSRC that the receiver was given. It must never have been used before on this transport:
    /// a (key, SSRC, index) may protect only one packet.
    pub ssrc: Ssrc,
    /// The SSRC of retransmissions, when the receiver negotiated them.
    pub rtx: Option<Ssrc>,
    /// The media section the receiver was told, when packets must carry it because the description
    /// names no SSRC.
    pub mid: Option<Mid>,
    /// Publisher's payload type -> what the receiver calls it. Packets of a type that is missing
    /// here are not forwarded.
    pub formats: Vec<(PayloadType, PayloadFormat)>,
    /// How the receiver wants it.
    pub settings: SubscriptionSettings,
    /// Its client learns of a track by its packets: while no media arrives, packets are sent in its
    /// place.
    pub fill: bool,
}

/// The quality that a receiver wants of a track, or that it wants none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SubscriptionSettings {
    /// Not while false: the entry stays, nothing is sent.
    pub enabled: bool,
    /// The size it is displayed at, in pixels; 0 by 0 when that is unknown, and then the best there
    /// is counts as full.
    pub size: (u16, u16),
    /// The highest useful picture rate, in pictures per second; 0 for no limit.
    pub fps: u16,
    /// The priority over others of the same size; 0 is usual.
    pub priority: u8,
    /// The best encoding to send, as an index into [`Publication::encodings`]; the agent sends the
    /// best one at or below it that arrives, or the lowest above it where there is none.
    pub encoding_max: u8,
    /// Whether no other encoding is sent in its place. A trunk carries each encoding in a stream of
    /// its own, from which the node behind it chooses.
    pub encoding_exact: bool,
    /// The best spatial layer of an encoding that has several.
    pub spatial_max: u8,
}

impl SubscriptionSettings {
    /// As good as it is, among equals.
    pub const BEST: Self = SubscriptionSettings {
        enabled: true,
        size: (0, 0),
        fps: 0,
        priority: 0,
        encoding_max: u8::MAX,
        encoding_exact: false,
        spatial_max: u8::MAX,
    };
}
