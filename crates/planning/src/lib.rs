//! Plans meetings on a packet-replication engine, such as that of a Tofino2 switch.
//!
//! Start with [`capacity`]: the number of meetings of one shape that a [`Device`] carries, and the
//! [`Resource`] that binds. [`Allocator`] places meetings of any shapes into multicast trees
//! through [`ReplicationEngine`], the trait of a switch's driver. [`sweep`] compares a device with
//! a [`Server`].
//!
//! No code here reads a clock, draws a random number or opens a socket. The same history of calls
//! gives the same trees.
//!
//! Source: Michel et al., "Scalable Video Conferencing Using SDN Principles" (Scallop), SIGCOMM
//! 2025, sections 6.2 and 8.4 and appendix F.

#![forbid(unsafe_code)]

pub mod limits;

mod allocator;
mod capacity;
mod design;
mod device;
mod engine;
mod meeting;
mod quality;
mod server;
mod sweep;

pub use allocator::{Allocator, Refusal};
pub use capacity::{Capacity, Headroom, capacity, capacity_as, capacity_for};
pub use design::{Demand, Design};
pub use device::{Device, Resource, Rewriter};
pub use engine::{ExclusionId, MeetingId, Node, NodeId, ReplicaId, ReplicationEngine, Route, Source, TreeId};
pub use meeting::{Meeting, Place};
pub use quality::{LAYERS, Quality, Rates};
pub use server::Server;
pub use sweep::{Alone, Envelope, PARTICIPANTS_SWEPT, Point, alone, envelope, sweep};
