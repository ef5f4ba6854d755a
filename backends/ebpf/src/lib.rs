//! Forwarding in the kernel: offloads in front of a base data plane.
//!
//! Read `program/common/packet.h` first: the packets that every BPF program here accepts. The
//! layouts that programs and this crate share are defined once, in `program/*/*_layout.h`, from
//! which the build generates Rust.
//!
//! [`RelayOffload`] relays RTP at the earliest point, XDP: read `program/relay/relay.bpf.c`, then
//! `relay` and in it `plan` (the relays that are taken), `table` (those in the kernel), `kernel`
//! (the writing of entries) and `pins` (the entries that outlive the process).
//!
//! [`Fanout`] copies RTP of rooms to its receivers, after XDP and before the stack: read
//! `program/fanout/fanout.bpf.c`, then `fanout`.

#![deny(unsafe_code)]
// Tests may read a clock.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests start the clock"))]

mod attach;
mod clock;
mod endpoint;
mod error;
mod fanout;
mod interfaces;
mod layout;
mod look_ups;
mod maps;
mod pass;
mod pins;
mod relay;

pub use attach::{Attached, Path};
pub use error::{EbpfError, Step};
pub use fanout::{Copies, CopiesAt, Fanout, FanoutConfig, RoomsPath};
pub use interfaces::{interfaces_with, is_loopback};
pub use pass::Pass;
pub use pins::{detach, detach_rooms};
pub use relay::{
    Attachment, Complexity, Counter, Counters, Hook, RelayConfig, RelayOffload, Statistics, Tried, Whereabouts,
    families_of_none,
};

/// How many interfaces there may be.
pub const INTERFACES_MAX: u32 = layout::relay::INTERFACES_MAX;
