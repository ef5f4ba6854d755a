//! P4Runtime 1.5, the protocol between a controller and a P4 switch: messages, client and server.
//!
//! The files under `proto` are those of the P4 language consortium and of Google, under the Apache
//! licence, unchanged. Their comments are the reference of the messages. [`p4info`] reads the
//! description of a program in the form in which the compiler writes it.

#![forbid(unsafe_code)]

/// The output of the build script.
#[allow(
    missing_docs,
    unreachable_pub,
    clippy::allow_attributes_without_reason,
    clippy::large_enum_variant,
    reason = "generated: the files under `proto` document it and determine its form"
)]
mod protocol {
    include!(concat!(env!("OUT_DIR"), "/protocol.rs"));
}
mod text;

/// Messages of `p4.v1`, [`v1::p4_runtime_client`] and [`v1::p4_runtime_server`].
pub use protocol::p4::v1;

/// Descriptions of programs: `p4.config.v1`.
pub use protocol::p4::config::v1 as config;

/// The status of an update: `google.rpc`.
pub use protocol::google::rpc;

pub use text::{TextError, p4info};
