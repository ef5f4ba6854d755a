//! What controller and agent say to each other.
//!
//! The controller decides who may send what to whom and tells the agent in [`Command`]s; the agent
//! runs the transports, fills the data plane's tables and answers in [`Notice`]s. Neither side
//! waits for the other: a command has no return value, and what came of it, if anybody needs to
//! know, is a notice. All values are plain data that could be written to a connection: no clock of
//! one process, no pointer, no static string. So the two may live on different machines, and one
//! controller may have several nodes: the connection tells which node a notice is from, and
//! [`NodeId`] is in [`Node`] and in [`MessageId`], which go on to others.
//!
//! The words are RFC 8834's and RFC 7656's. There are no rooms and no participants here (the agent
//! has never heard of them), and no tables and no packets (the controller has not heard of those).

mod capabilities;
mod command;
mod ids;
mod notice;
pub mod relay;
mod transport;

pub use capabilities::{Capabilities, RewritingModes};
pub use command::{Command, Encoding, PayloadFormat, Publication, Subscription, SubscriptionSettings, TrackSource};
pub use ids::{MessageId, NodeId, SubscriptionId, TrackId, TransportId};
pub use notice::{AudioActivity, ChannelEnd, CloseReason, Node, Notice, TransportQuality};
pub use transport::{Channel, DtlsRole, OpenTransport, RemoteTransport};
pub use wire::sdp::{Fingerprint, HashFunction, IceCredentials};
