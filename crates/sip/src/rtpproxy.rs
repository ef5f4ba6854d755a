//! rtpproxy's control protocol: one line of text for each media section of an offer or an answer.
//!
//! Over UDP a cookie stands before the command and before the reply; on a stream there is none. The
//! commands that a proxy needs are done: `V`, `VF`, `U`, `L`, `D`, `Q`, `X` and `I`; the others are
//! answered with an error code.
//!
//! Source: the documents and sources of rtpproxy.

mod command;
mod commands;

pub use command::{Allocate, Command, ErrorCode, Names, Side};
