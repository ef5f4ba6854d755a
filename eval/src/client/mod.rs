//! One client: its signalling, its descriptions, its transports.

mod downlink;
mod error;
mod identity;
mod impairment;
mod offer;
mod participant;
mod plan;
mod route;
mod sctp;
mod sdp;
mod signal;
mod srtp;
mod transport;

pub use error::ParticipantError;
pub use identity::Identity;
pub use impairment::{Dice, Impairment};
pub use participant::{Joining, Milestones, Participant};
pub use plan::{Mode, Plan};
pub use route::RouteKind;
pub use sdp::{Description, Direction, Format, Kind, Media, SdpError, Setup};
pub use signal::{Count, Purpose, Server, Signal, SignalError, Traffic};
pub use srtp::seal_rtcp;
pub use transport::{Incoming, Transport, TransportError};
