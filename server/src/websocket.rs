//! WebSockets, without buffers that outlive a message.
//!
//! A signalling connection carries a few descriptions of tens of kilobytes when a client joins, and
//! hardly anything for hours afterwards. Libraries keep a buffer of the longest message in each
//! direction for as long as the connection lasts, which in a large room was half of the server's
//! memory. Here a message is read into memory of its own and written from where it is.
//!
//! No extensions: an extension that is not offered is not used. Subprotocols are for callers that
//! serve one.
//!
//! Source: RFC 6455.

mod memory;
mod read;
mod upgrade;
mod write;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};

pub(crate) use memory::Memory;
pub(crate) use read::Reader;
pub(crate) use upgrade::{Upgrade, is_asked, listed, upgrade};
pub(crate) use write::Writer;

/// A message of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// Bytes.
    Binary(Bytes),
    /// Text.
    Text(String),
    /// To be answered with a pong of the same content.
    Ping(Bytes),
    /// An answer to our ping.
    Pong,
    /// The last message, with the code to answer it with: its own, or 1000 where it has none.
    Close(u16),
}

/// Why nothing more can be read.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// The client broke a rule of the protocol.
    Protocol(&'static str),
    /// A text or the reason of a close frame is not UTF-8.
    NotUtf8,
    /// A message is longer than one may be.
    TooLong,
    /// Too much of other messages is in memory.
    Busy,
    /// The connection is gone.
    Io(std::io::Error),
}

impl ReadError {
    /// The close code for the client, if one can be sent.
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            ReadError::Protocol(_) => Some(1002),
            ReadError::NotUtf8 => Some(1007),
            ReadError::TooLong => Some(1009),
            ReadError::Busy => Some(1013),
            ReadError::Io(_) => None,
        }
    }
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ReadError::Protocol(what) => write!(f, "the client broke the protocol: {what}"),
            ReadError::NotUtf8 => write!(f, "a text message is not UTF-8"),
            ReadError::TooLong => write!(f, "a message is too long"),
            ReadError::Busy => write!(f, "too much of long messages is in memory"),
            ReadError::Io(error) => error.fmt(f),
        }
    }
}

/// The two directions of a connection that has been upgraded. No message may be longer than
/// `message_max` bytes, and what is read of it has a share of `memory`.
pub(crate) fn split<S: AsyncRead + AsyncWrite>(
    stream: S,
    message_max: usize,
    memory: &Memory,
) -> (Reader<tokio::io::ReadHalf<S>>, Writer<tokio::io::WriteHalf<S>>) {
    let (reader, writer) = tokio::io::split(stream);
    let reader = Reader::new(reader, message_max, memory.clone(), Side::Server);
    (reader, Writer::new(writer, Side::Server))
}

/// The same for a connection that this end has asked for. Frames are masked with zeros: the mask
/// protects proxies, and there are none between controllers.
pub(crate) fn split_client<S: AsyncRead + AsyncWrite>(
    stream: S,
    message_max: usize,
    memory: &Memory,
) -> (Reader<tokio::io::ReadHalf<S>>, Writer<tokio::io::WriteHalf<S>>) {
    let (reader, writer) = tokio::io::split(stream);
    let reader = Reader::new(reader, message_max, memory.clone(), Side::Client);
    (reader, Writer::new(writer, Side::Client))
}

/// The end of a connection that we are. Clients mask their frames, and servers do not (section
/// 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

/// The kinds of frames (section 5.2).
mod opcode {
    pub(crate) const CONTINUATION: u8 = 0x0;
    pub(crate) const TEXT: u8 = 0x1;
    pub(crate) const BINARY: u8 = 0x2;
    pub(crate) const CLOSE: u8 = 0x8;
    pub(crate) const PING: u8 = 0x9;
    pub(crate) const PONG: u8 = 0xa;
}

/// The last frame of a message.
const FIN: u8 = 0x80;

/// The code of a close frame that reports no error (section 7.4.1).
const NORMAL: u16 = 1000;

/// The longest payload of a control frame (section 5.5).
const CONTROL_MAX: usize = 125;

#[cfg(test)]
mod tests;
