//! rtpengine's control protocol, `ng`.
//!
//! A message is a cookie, a space and a dictionary, in bencode or JSON; the reply has the same
//! cookie and the same encoding. [`Stream`] and [`route`] find messages in byte streams and HTTP
//! bodies; the commands are the [`CallController`](crate::CallController)'s.
//!
//! Source: rtpengine's documents, `ng_control_protocol.md`.

pub mod bencode;
pub mod json;
pub mod value;

mod commands;
mod features;
mod flags;
mod framing;
mod report;
mod statistics;
mod subject;

pub(crate) use commands::{execute, failed, out_of_ports};
use flags::Flags;
pub use framing::{CONTENT_TYPE, Encoding, Route, Stream, route, subprotocol};
pub(crate) use subject::{call_reported_on, subject};
pub use value::Unreadable;

pub use crate::cookie::split;
