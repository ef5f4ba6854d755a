//! The interface between controller and agent.
//!
//! The controller decides who may send what to whom and tells the agent in [`Command`]s. The agent
//! runs the transports, fills the data plane's tables and answers in [`Notice`]s. Neither side
//! waits for the other: a command has no return value, and a result that is needed is a notice. All
//! values are plain data that could be written to a connection: no clock of one process, no
//! pointer, no static string. So the two may run on different machines, and one controller may have
//! several nodes: the connection tells which node a notice is from, and [`NodeId`] is in [`Node`]
//! and in [`MessageId`], which are passed on to others.
//!
//! The terms are those of RFC 8834 and RFC 7656. Rooms and participants belong to the controller
//! alone, tables and packets to the agent alone. Of them only the names of rooms appear here, where
//! several controllers may own one after the other ([`RoomMessage`]).

#![forbid(unsafe_code)]

mod capabilities;
mod command;
mod control;
mod epoch;
mod ids;
mod link;
mod messages;
mod notice;
mod observation;
pub mod relay;
mod sync;
mod transport;

pub use capabilities::{Capabilities, RewritingModes};
pub use command::{Command, Encoding, PayloadFormat, Publication, Subscription, SubscriptionSettings, TrackSource};
pub use control::{ControllerHello, ControllerMessage, NodeHello, NodeMessage, Refusal};
pub use epoch::Epoch;
pub use ids::{ControllerId, MessageId, NodeId, SubscriptionId, TrackId, TransportId};
pub use link::{LinkHello, LinkMessage, LinkReply, LinkWelcome, LinkedMessage};
pub use messages::{
    DataTrackRoute, DistantEndpoint, DistantTrack, FailedLink, Linked, MessageEndpoint, MessageProtocol, MessageRights,
    Posted, SignedMessage,
};
pub use notice::{AudioActivity, ChannelEnd, CloseReason, Node, Notice, TransportQuality};
pub use observation::{DownlinkEstimate, Observation, SentLayer};
pub use sync::{RoomContent, RoomMessage, RoomState, Versions};
pub use transport::{Channel, DirectKeys, DtlsRole, OpenDirect, OpenTransport, RemoteTransport};
pub use wire::sdp::{Fingerprint, HashFunction, IceCredentials};
