//! The contract of every data plane, and its reference model.
//!
//! A data plane forwards media by table. The agent writes entries ([`Update`]), the device applies
//! them to packets, and every packet ends in a [`Verdict`]. Devices differ only in speed. [`Model`]
//! defines their behaviour and is written to be read; every back end is tested against it with the
//! same vectors and the same random histories.
//!
//! Read [`table`] first (the entries), then [`model`] (their meaning), then [`device`] (how a real
//! device is driven).
//!
//! # The pipeline
//!
//! 1. **classify**: by RFC 7983 and RFC 5761. STUN, DTLS and RTCP are punted to the agent; RTP goes
//!    on; the rest is dropped.
//! 2. **match**: the leg by the address pair, the stream by the SSRC. Retransmissions are
//!    unwrapped, padding is taken out.
//! 3. **select**: for each replica of the stream, whether it gets this packet.
//! 4. **rewrite**: SSRC, payload type, sequence number, timestamp, VP8 picture ids, header
//!    extensions.
//! 5. **protect, emit**: with the receiver's keys, from the local address the receiver chose.

#![forbid(unsafe_code)]

mod boxed;
pub mod capabilities;
pub mod counter;
pub mod device;
pub mod feedback;
pub mod limits;
pub mod model;
pub mod offload;
pub mod path;
pub mod protection;
pub mod relay;
pub mod replica_offload;
pub mod reports;
pub mod snapshot;
pub mod statistics;
pub mod table;

pub use capabilities::{Capabilities, RewritingModes};
pub use counter::{Counter, Counters, Verdict};
pub use device::{Arrival, Clock, DataPlane, Departure, Event, Inject, PuntKind, WriteError};
pub use model::{Egress, Ingress, Model};
pub use offload::{Answer, Offload, Reason, Refused, WriteId, Written};
pub use path::Path;
pub use protection::{MasterKey, Mki, Protection, SessionParameters, SrtpProfile};
pub use relay::{Accept, Hop, OffloadedTraffic, Relay, RelayProtection, RelayTraffic};
pub use replica_offload::{Candidate, ReplicaOffload};
pub use reports::{ReplicaStatistics, StreamStatistics};
pub use snapshot::{Decided, ReplicaSnapshot};
pub use statistics::{Family, Sample, Statistics};
pub use table::{Leg, LegId, Replica, ReplicaFormat, ReplicaId, Rewriting, Stream, StreamFormat, StreamKey, Update};
