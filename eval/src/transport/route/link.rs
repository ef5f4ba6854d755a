//! The connection of a forwarder with the server or its TURN server.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::ops::Range;
use std::time::Duration;

use turn::framing as channel;
use wire::framing as length;

/// How long the other end may take to connect.
const CONNECT: Duration = Duration::from_secs(5);
/// The time limit of a read.
pub(super) const WAIT: Duration = Duration::from_millis(500);
/// The longest datagram of a client.
pub(super) const DATAGRAM_MAX: usize = 1_500;
/// As much as is read at once.
const READ_MAX: usize = 1 << 16;
/// Bytes of the header of ChannelData: number and length.
const CHANNEL_HEADER: usize = 4;

/// A connection, whose reads have a time limit.
pub(super) enum Link {
    /// UDP.
    Datagrams(UdpSocket),
    /// TCP.
    Stream(TcpStream),
}

/// The form of datagrams on a link.
#[derive(Clone, Copy)]
pub(super) enum Framing {
    /// After their length (RFC 4571).
    Length,
    /// Data of this channel of a TURN server (RFC 8656 section 12.4).
    Channel(u16),
}

impl Link {
    pub(super) fn udp(server: SocketAddr) -> io::Result<Self> {
        let any: SocketAddr = if server.is_ipv4() {
            ([0; 4], 0).into()
        } else {
            ([0_u16; 8], 0).into()
        };
        let socket = UdpSocket::bind(any)?;
        socket.connect(server)?;
        socket.set_read_timeout(Some(WAIT))?;
        Ok(Link::Datagrams(socket))
    }

    pub(super) fn tcp(server: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&server, CONNECT)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(WAIT))?;
        Ok(Link::Stream(stream))
    }

    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Link::Datagrams(socket) => Link::Datagrams(socket.try_clone()?),
            Link::Stream(stream) => Link::Stream(stream.try_clone()?),
        })
    }

    /// Sends whole messages. A stream pads those of a TURN client.
    pub(super) fn send(&mut self, framing: Framing, mut message: Vec<u8>) -> io::Result<()> {
        match self {
            Link::Datagrams(socket) => socket.send(&message).map(drop),
            Link::Stream(stream) => {
                if let Framing::Channel(_) = framing {
                    channel::pad(&mut message);
                }
                stream.write_all(&message)
            }
        }
    }

    /// Waits for more bytes of a stream, or for the next datagram instead of the last.
    ///
    /// Errors: those of the socket, `WouldBlock` after the time limit; `UnexpectedEof` at the end
    /// of a stream.
    pub(super) fn read(&mut self, into: &mut Vec<u8>) -> io::Result<()> {
        let mut buffer = [0; READ_MAX];
        match self {
            Link::Datagrams(socket) => {
                let len = socket.recv(&mut buffer)?;
                into.clear();
                into.extend_from_slice(&buffer[..len]);
                // As in a stream.
                channel::pad(into);
            }
            Link::Stream(stream) => {
                let len = stream.read(&mut buffer)?;
                if len == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                into.extend_from_slice(&buffer[..len]);
            }
        }
        Ok(())
    }
}

impl Framing {
    /// A datagram as one message.
    pub(super) fn message(self, datagram: &[u8]) -> Vec<u8> {
        let mut message = Vec::with_capacity(CHANNEL_HEADER + datagram.len());
        if let Framing::Channel(number) = self {
            message.extend(number.to_be_bytes());
        }
        length::write(datagram, &mut message);
        message
    }

    /// The place of the datagram in the first message, and the length of the message; `None` while
    /// it is incomplete.
    ///
    /// Errors: the bytes are no such message.
    pub(super) fn first(self, bytes: &[u8]) -> io::Result<Option<(Range<usize>, usize)>> {
        let (header, whole) = match self {
            Framing::Length => (length::HEADER, length::first(bytes, DATAGRAM_MAX).ok()),
            Framing::Channel(_) => (CHANNEL_HEADER, channel::first(bytes).ok()),
        };
        let whole = whole
            .ok_or(io::ErrorKind::InvalidData)?
            .filter(|len| *len <= bytes.len());
        Ok(whole.map(|whole| {
            let len = u16::from_be_bytes([bytes[header - 2], bytes[header - 1]]);
            (header..(header + usize::from(len)).min(whole), whole)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_are_found_in_both_forms() {
        let length = Framing::Length;
        let mut bytes = length.message(b"one");
        assert_eq!(length.first(&bytes[..4]).unwrap(), None);
        assert_eq!(length.first(&bytes).unwrap(), Some((2..5, 5)));
        let numbered = Framing::Channel(0x4001);
        bytes = numbered.message(b"one");
        assert_eq!(bytes, [0x40, 1, 0, 3, b'o', b'n', b'e']);
        assert_eq!(numbered.first(&bytes).unwrap(), None, "without its padding");
        channel::pad(&mut bytes);
        assert_eq!(numbered.first(&bytes).unwrap(), Some((4..7, 8)));
        assert!(numbered.first(b"GET /").is_err());
    }
}
