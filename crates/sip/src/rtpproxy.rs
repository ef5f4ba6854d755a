//! rtpproxy's control protocol: one line of text for each media section of an offer or an answer.
//!
//! Over UDP the command and the reply begin with a cookie; on a stream there is none. The commands
//! that a proxy needs are supported: `V`, `VF`, `U`, `L`, `D`, `Q`, `X` and `I`. The others are
//! answered with an error code.
//!
//! Source: the documents and sources of rtpproxy.

mod command;
mod commands;

pub use command::{Allocate, Command, ErrorCode, Names, Side};
pub(crate) use commands::{call_reported_on, execute, subject};
