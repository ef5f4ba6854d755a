//! One client of the LiveKit protocol: its signalling, its descriptions, its transports.

mod offer;
mod participant;
mod sctp;
mod sdp;
mod signal;
mod transport;

pub use participant::{Joining, Mode, Participant, ParticipantError, Plan};
pub use sdp::{Description, Direction, Format, Kind, Media, SdpError, Setup};
pub use signal::{Server, Signal, SignalError};
pub use transport::{Identity, Incoming, Transport, TransportError};
