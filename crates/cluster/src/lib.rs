//! Controllers and media nodes as one cluster: which controller owns a room, and in which epoch.
//!
//! A [`Cluster`] stands beside the rooms of a controller. It registers the controller in a store
//! that all share, claims rooms there, and claims them at the nodes that have them. It is a state
//! machine without a clock, a socket or a thread: `(now, input) -> outputs`.
//!
//! The nodes are the fence. Each obeys the highest epoch of a room that it has seen, so two
//! controllers that believe they own a room do no harm, whatever the store says. The store makes
//! that rare, and tells everybody where to find the owner.

#![forbid(unsafe_code)]

mod cluster;
mod io;
mod lease;
pub mod limits;
mod members;
mod nodes;
mod record;
mod rooms;
pub mod seal;

pub use cluster::{Cluster, Config, RoomStanding, Standing};
pub use io::{
    Event, Holder, Input, LostReason, MemberChange, NodeEvent, Output, Part, RequestId, StoreAnswer, StoreOperation,
    StoredValue, UnavailableReason,
};
pub use record::{
    ControllerRecord, MEDIA_PREFIX, MEMBERS_PREFIX, MediaRecord, RoomRecord, controller_key, media_key, media_node,
    room_key,
};
