//! How netlink messages are put together and taken apart: a header, a body of the message's kind,
//! attributes.

const HEADER: usize = 16;

/// A request in the making.
pub(super) struct Message {
    bytes: Vec<u8>,
    /// Whether the answer is a list.
    pub(super) is_dump: bool,
}

impl Message {
    pub(super) fn new(kind: u16, flags: u16, body: &[u8]) -> Self {
        let is_dump = flags & libc::NLM_F_DUMP as u16 == libc::NLM_F_DUMP as u16;
        let acknowledge = if is_dump { 0 } else { libc::NLM_F_ACK as u16 };
        let flags = flags | acknowledge | libc::NLM_F_REQUEST as u16;
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        bytes.extend_from_slice(body);
        Message { bytes, is_dump }
    }

    pub(super) fn attribute(&mut self, name: u16, value: &[u8]) {
        self.bytes.extend_from_slice(&(4 + value.len() as u16).to_ne_bytes());
        self.bytes.extend_from_slice(&name.to_ne_bytes());
        self.bytes.extend_from_slice(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    pub(super) fn finish(mut self, sequence: u32) -> Vec<u8> {
        let len = self.bytes.len() as u32;
        self.bytes[..4].copy_from_slice(&len.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.bytes
    }
}

/// Type, sequence number and body of each message in a datagram.
pub(super) fn messages(mut datagram: &[u8]) -> impl Iterator<Item = (u16, u32, &[u8])> {
    std::iter::from_fn(move || {
        let len = number(datagram)? as usize;
        let message = datagram.get(..len).filter(|message| message.len() >= HEADER)?;
        datagram = datagram.get(len.next_multiple_of(4)..).unwrap_or(&[]);
        let kind = u16::from_ne_bytes([message[4], message[5]]);
        Some((kind, number(&message[8..])?, &message[HEADER..]))
    })
}

/// Name and value of each attribute.
pub(super) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    /// The upper bits are flags of nesting and byte order, which are known here.
    const NAME: u16 = 0x3fff;
    std::iter::from_fn(move || {
        let header = bytes.first_chunk::<4>()?;
        let len = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let attribute = bytes.get(..len).filter(|attribute| attribute.len() >= 4)?;
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or(&[]);
        Some((u16::from_ne_bytes([header[2], header[3]]) & NAME, &attribute[4..]))
    })
}

/// The number a value begins with.
pub(super) fn number(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_off_messages_end_the_list() {
        let mut message = Message::new(1, 0, &[1, 2, 3, 4]);
        message.attribute(7, &[9]);
        let bytes = message.finish(5);
        assert_eq!(messages(&bytes).count(), 1);
        assert_eq!(attributes(&bytes[HEADER + 4..]).collect::<Vec<_>>(), [(7, &[9][..])]);
        for end in 0..bytes.len() {
            assert_eq!(messages(&bytes[..end]).count(), 0, "cut at {end}");
        }
    }
}
