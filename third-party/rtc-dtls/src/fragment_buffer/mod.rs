use crate::content::*;
use crate::handshake::handshake_header::*;
use crate::record_layer::record_layer_header::*;
use shared::error::*;

use std::collections::HashMap;

/// The longest handshake message; a longer one is dropped. Chains of RSA certificates have several
/// thousand bytes.
const MESSAGE_MAX: usize = 32_768;

/// How far after the next message a message may be; later ones are dropped, and the peer repeats
/// them. The longest flight has six messages.
const MESSAGES_AHEAD_MAX: u16 = 8;

/// The bytes of all messages of a handshake, those that were whole included, which are kept for its
/// transcript; fragments beyond are dropped.
const BYTES_MAX: usize = 65_536;

/// The number of messages of a handshake from one side; later ones are dropped. The longest has
/// nine.
const MESSAGES_MAX: u16 = 16;

/// The pieces of a message between gaps; fragments that make further ones are dropped.
const RANGES_MAX: usize = 64;

/// A message of which some bytes have arrived.
struct Message {
    header: HandshakeHeader,
    epoch: u16,
    /// The bytes before the first gap, and then those after it.
    data: Vec<u8>,
    /// Ranges that have arrived: sorted, disjoint, not adjacent.
    ranges: Vec<(usize, usize)>,
}

impl Message {
    /// Takes the bytes of a fragment.
    fn insert(&mut self, offset: usize, fragment: &[u8]) {
        let end = offset + fragment.len();
        let first = self.ranges.partition_point(|(_, e)| *e < offset);
        let last = self.ranges.partition_point(|(s, _)| *s <= end);
        if first == last && self.ranges.len() >= RANGES_MAX {
            return;
        }
        if self.data.len() < end {
            self.data.resize(end, 0);
        }
        self.data[offset..end].copy_from_slice(fragment);
        let merged = self.ranges[first..last]
            .iter()
            .fold((offset, end), |(s, e), (start, stop)| {
                (s.min(*start), e.max(*stop))
            });
        self.ranges.splice(first..last, [merged]);
    }

    fn is_whole(&self) -> bool {
        self.ranges == [(0, self.header.length as usize)]
    }
}

/// Assembles handshake messages from fragments, in the order of their sequence numbers.
pub(crate) struct FragmentBuffer {
    messages: HashMap<u16, Message>,
    current_message_sequence_number: u16,
    /// The bytes of the messages that were whole.
    whole: usize,
}

impl FragmentBuffer {
    pub fn new() -> Self {
        FragmentBuffer {
            messages: HashMap::new(),
            current_message_sequence_number: 0,
            whole: 0,
        }
    }

    /// Takes the fragments of a record. Returns whether it is a record of handshake.
    pub fn push(&mut self, buf: &[u8]) -> Result<bool> {
        let mut reader = buf;
        let record_layer_header = RecordLayerHeader::unmarshal(&mut reader)?;
        if record_layer_header.content_type != ContentType::Handshake {
            return Ok(false);
        }
        let mut rest = &buf[RECORD_LAYER_HEADER_SIZE..];
        while !rest.is_empty() {
            let mut reader = rest;
            let header = HandshakeHeader::unmarshal(&mut reader)?;
            let body = &rest[HANDSHAKE_HEADER_LENGTH..];
            let len = header.fragment_length as usize;
            if body.len() < len {
                return Err(Error::ErrLengthMismatch);
            }
            let (fragment, next) = body.split_at(len);
            self.insert(record_layer_header.epoch, header, fragment);
            rest = next;
        }
        Ok(true)
    }

    fn insert(&mut self, epoch: u16, header: HandshakeHeader, fragment: &[u8]) {
        let ahead = header
            .message_sequence
            .wrapping_sub(self.current_message_sequence_number);
        let (offset, length) = (header.fragment_offset as usize, header.length as usize);
        if ahead >= MESSAGES_AHEAD_MAX
            || header.message_sequence >= MESSAGES_MAX
            || length > MESSAGE_MAX
            || offset + fragment.len() > length
            || (fragment.is_empty() && length > 0)
        {
            return;
        }
        let bytes: usize = self.messages.values().map(|message| message.data.len()).sum();
        if self.whole + bytes + offset + fragment.len() > BYTES_MAX {
            return;
        }
        let message = self
            .messages
            .entry(header.message_sequence)
            .or_insert_with(|| Message {
                header,
                epoch,
                data: vec![],
                ranges: vec![],
            });
        if message.epoch == epoch
            && message.header.length == header.length
            && message.header.handshake_type == header.handshake_type
        {
            message.insert(offset, fragment);
        }
    }

    /// The next message if it is whole: its header and body, and its epoch.
    pub fn pop(&mut self) -> Result<(Vec<u8>, u16)> {
        let next = self.current_message_sequence_number;
        if !self.messages.get(&next).is_some_and(Message::is_whole) {
            return Err(Error::ErrEmptyFragment);
        }
        let message = self.messages.remove(&next).ok_or(Error::ErrEmptyFragment)?;
        self.current_message_sequence_number = next.wrapping_add(1);
        self.whole += message.data.len();
        let mut whole = vec![];
        let mut header = message.header;
        header.fragment_offset = 0;
        header.fragment_length = header.length;
        header.marshal(&mut whole)?;
        whole.extend_from_slice(&message.data);
        Ok((whole, message.epoch))
    }
}
