//! From frames to messages.

use std::io::ErrorKind;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt, BufReader};

use super::memory::{Memory, Share};
use super::{CONTROL_MAX, FIN, Message, NORMAL, ReadError, Side, opcode};

/// The bytes read at a time. Most messages are shorter; the rest of a longer one is read into its
/// own buffer.
const BUFFER: usize = 512;

/// The bytes of a payload that are read before its memory is looked at again.
const PIECE: u64 = 64 << 10;

/// Reads a client's messages.
pub(crate) struct Reader<R> {
    stream: BufReader<R>,
    message_max: usize,
    memory: Memory,
    side: Side,
    /// A message whose last frame has not arrived.
    begun: Option<Begun>,
}

struct Begun {
    opcode: u8,
    payload: Vec<u8>,
    share: Share,
}

/// The first bytes of a frame.
struct Header {
    opcode: u8,
    is_last: bool,
    len: u64,
    mask: [u8; 4],
}

impl<R: AsyncRead + Unpin> Reader<R> {
    pub(super) fn new(stream: R, message_max: usize, memory: Memory, side: Side) -> Self {
        Reader {
            stream: BufReader::with_capacity(BUFFER, stream),
            message_max,
            memory,
            side,
            begun: None,
        }
    }

    /// The next message; `None` when the client has hung up. After an error, or when this was
    /// dropped before it was done, nothing more can be read.
    pub(crate) async fn next(&mut self) -> Option<Result<Message, ReadError>> {
        match self.read_message().await {
            Err(ReadError::Io(error)) if error.kind() == ErrorKind::UnexpectedEof => None,
            read => Some(read),
        }
    }

    async fn read_message(&mut self) -> Result<Message, ReadError> {
        loop {
            let header = self.read_header().await?;
            if let Some(message) = self.read_frame(header).await? {
                return Ok(message);
            }
        }
    }

    async fn read_header(&mut self) -> Result<Header, ReadError> {
        let [first, second] = self.read_array().await?;
        let (is_last, reserved, opcode) = (first & FIN != 0, first & 0x70, first & 0x0f);
        let (is_masked, short) = (second & 0x80 != 0, second & 0x7f);
        if reserved != 0 {
            return Err(ReadError::Protocol("no extension was negotiated"));
        }
        match (self.side, is_masked) {
            (Side::Server, false) => return Err(ReadError::Protocol("a frame is not masked")),
            (Side::Client, true) => return Err(ReadError::Protocol("a frame is masked")),
            _ => {}
        }
        let len = match short {
            126 => u16::from_be_bytes(self.read_array().await?).into(),
            127 => u64::from_be_bytes(self.read_array().await?),
            len => len.into(),
        };
        Ok(Header {
            opcode,
            is_last,
            len,
            mask: match is_masked {
                true => self.read_array().await?,
                false => [0; 4],
            },
        })
    }

    /// Reads the rest of a frame; `None` if more frames of its message follow.
    async fn read_frame(&mut self, header: Header) -> Result<Option<Message>, ReadError> {
        match header.opcode {
            opcode::CLOSE | opcode::PING | opcode::PONG => self.read_control(header).await.map(Some),
            opcode::CONTINUATION => {
                let begun = self.begun.take();
                let begun = begun.ok_or(ReadError::Protocol("a message goes on that has not begun"))?;
                self.read_data(header, begun).await
            }
            opcode @ (opcode::TEXT | opcode::BINARY) => {
                if self.begun.is_some() {
                    return Err(ReadError::Protocol("a message begins within another"));
                }
                let (payload, share) = (Vec::new(), self.memory.share());
                let begun = Begun { opcode, payload, share };
                self.read_data(header, begun).await
            }
            _ => Err(ReadError::Protocol("a frame of unknown kind")),
        }
    }

    async fn read_control(&mut self, header: Header) -> Result<Message, ReadError> {
        if !header.is_last || header.len > CONTROL_MAX as u64 {
            return Err(ReadError::Protocol("a control frame that is too long or in pieces"));
        }
        let mut payload = Vec::new();
        self.read_payload(&header, &mut payload, &mut self.memory.share())
            .await?;
        Ok(match header.opcode {
            opcode::PING => Message::Ping(payload.into()),
            opcode::PONG => Message::Pong,
            _ => Message::Close(close_code(&payload)?),
        })
    }

    async fn read_data(&mut self, header: Header, mut begun: Begun) -> Result<Option<Message>, ReadError> {
        self.read_payload(&header, &mut begun.payload, &mut begun.share).await?;
        if !header.is_last {
            self.begun = Some(begun);
            return Ok(None);
        }
        let payload = begun.payload;
        if begun.opcode == opcode::BINARY {
            return Ok(Some(Message::Binary(Bytes::from(payload))));
        }
        let text = String::from_utf8(payload).map_err(|_| ReadError::NotUtf8)?;
        Ok(Some(Message::Text(text)))
    }

    /// Appends the payload to `to`, which grows with what arrives and not with what is announced.
    async fn read_payload(&mut self, header: &Header, to: &mut Vec<u8>, share: &mut Share) -> Result<(), ReadError> {
        let begin = to.len();
        let fits = usize::try_from(header.len).is_ok_and(|len| len <= self.message_max - begin);
        if !fits {
            return Err(ReadError::TooLong);
        }
        let mut left = header.len;
        while left > 0 {
            let piece = left.min(PIECE);
            if !share.grow(to.len() + piece as usize) {
                return Err(ReadError::Busy);
            }
            let read = (&mut self.stream).take(piece).read_to_end(to).await;
            if read.map_err(ReadError::Io)? as u64 != piece {
                return Err(ReadError::Io(ErrorKind::UnexpectedEof.into()));
            }
            left -= piece;
        }
        for (byte, mask) in to[begin..].iter_mut().zip(header.mask.iter().cycle()) {
            *byte ^= mask;
        }
        Ok(())
    }

    async fn read_array<const N: usize>(&mut self) -> Result<[u8; N], ReadError> {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes).await.map_err(ReadError::Io)?;
        Ok(bytes)
    }
}

/// The code that answers a close frame with this payload (sections 5.5.1 and 7.4).
///
/// Errors: a payload of one byte, a code that must not be sent, a reason that is not UTF-8.
fn close_code(payload: &[u8]) -> Result<u16, ReadError> {
    let Some((code, reason)) = payload.split_first_chunk() else {
        return match payload {
            [] => Ok(NORMAL),
            _ => Err(ReadError::Protocol("a close frame with half a code")),
        };
    };
    let code = u16::from_be_bytes(*code);
    // 1004 to 1006 and 1015 are reserved, 1012 to 1014 are registered since the RFC, 3000 and up
    // are for libraries and applications.
    if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        return Err(ReadError::Protocol("a close code that must not be sent"));
    }
    match std::str::from_utf8(reason) {
        Ok(_) => Ok(code),
        Err(_) => Err(ReadError::NotUtf8),
    }
}
