//! Forwarding in the kernel: an offload in front of a base data plane.
//!
//! Read `program/packet.h` first: what every BPF program here takes for a packet. What programs and this crate say to each other is defined once, in
//! `program/*_layout.h`, of which the build makes Rust.

mod layout;
