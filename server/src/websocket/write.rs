//! From messages to frames: one for each, written from where the message is.

use std::io;

use bytes::Buf;
use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::{CONTROL_MAX, FIN, Side, opcode};

/// The longest header of a frame.
const HEADER_MAX: usize = 14;

/// The bit of a header that says that a mask follows the length.
const MASKED: u8 = 0x80;

/// Pieces of a message are written together up to so many bytes.
const GATHERED_MAX: usize = 16 << 10;

/// Writes messages to a client. Dropping the future of one of its methods before it is done leaves
/// half a frame: nothing more can be sent then.
pub(crate) struct Writer<W> {
    stream: W,
    side: Side,
}

impl<W: AsyncWrite + Unpin> Writer<W> {
    pub(super) fn new(stream: W, side: Side) -> Self {
        Writer { stream, side }
    }

    /// Sends bytes.
    pub(crate) async fn binary(&mut self, payload: &[u8]) -> io::Result<()> {
        self.frame(opcode::BINARY, payload).await
    }

    /// Sends bytes that are in pieces, `len` of them in all.
    pub(crate) async fn pieces(&mut self, len: usize, pieces: impl Iterator<Item = &[u8]>) -> io::Result<()> {
        let mut bytes = [0; HEADER_MAX];
        let mut gathered = write_header(&mut bytes, opcode::BINARY, len, self.side).to_vec();
        for piece in pieces {
            if gathered.len() + piece.len() > GATHERED_MAX {
                self.stream.write_all(&gathered).await?;
                gathered.clear();
            }
            match piece.len() > GATHERED_MAX {
                true => self.stream.write_all(piece).await?,
                false => gathered.extend_from_slice(piece),
            }
        }
        self.stream.write_all(&gathered).await?;
        self.stream.flush().await
    }

    /// Sends a text.
    pub(crate) async fn text(&mut self, payload: &[u8]) -> io::Result<()> {
        self.frame(opcode::TEXT, payload).await
    }

    /// Asks whether the client is there.
    pub(crate) async fn ping(&mut self) -> io::Result<()> {
        self.frame(opcode::PING, &[]).await
    }

    /// Says that we are here.
    pub(crate) async fn pong(&mut self, payload: &[u8]) -> io::Result<()> {
        self.frame(opcode::PONG, payload).await
    }

    /// Says goodbye, and why; of a reason that is too long, the beginning.
    pub(crate) async fn close(&mut self, code: u16, reason: &str) -> io::Result<()> {
        let reason = &reason[..reason.floor_char_boundary(CONTROL_MAX - 2)];
        let payload = [&code.to_be_bytes(), reason.as_bytes()].concat();
        self.frame(opcode::CLOSE, &payload).await
    }

    async fn frame(&mut self, opcode: u8, payload: &[u8]) -> io::Result<()> {
        let mut bytes = [0; HEADER_MAX];
        let header = write_header(&mut bytes, opcode, payload.len(), self.side);
        self.stream.write_all_buf(&mut header.chain(payload)).await?;
        self.stream.flush().await
    }
}

fn write_header(bytes: &mut [u8; HEADER_MAX], opcode: u8, len: usize, side: Side) -> &[u8] {
    bytes[0] = FIN | opcode;
    let header_len = match len {
        0..126 => {
            bytes[1] = len as u8;
            2
        }
        126..65_536 => {
            bytes[1] = 126;
            bytes[2..4].copy_from_slice(&(len as u16).to_be_bytes());
            4
        }
        _ => {
            bytes[1] = 127;
            bytes[2..10].copy_from_slice(&(len as u64).to_be_bytes());
            10
        }
    };
    match side {
        Side::Server => &bytes[..header_len],
        // A mask of zeros, which changes no payload.
        Side::Client => {
            bytes[1] |= MASKED;
            &bytes[..header_len + 4]
        }
    }
}
