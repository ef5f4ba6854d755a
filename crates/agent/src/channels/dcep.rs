//! The two messages that open a data channel.
//!
//! Source: RFC 8832 section 5.

use std::sync::Arc;

use sctp_proto::ReliabilityType;
use southbound::Channel;

use crate::limits::LABEL_MAX;

/// DATA_CHANNEL_ACK is its type and nothing else.
pub(super) const ACK: [u8; 1] = [2];

const OPEN: u8 = 3;
const UNORDERED: u8 = 0x80;
const RETRANSMITS: u8 = 1;
const LIFETIME: u8 = 2;
const HEADER: usize = 12;

/// A message, parsed.
#[derive(Debug, PartialEq)]
pub enum Message {
    /// DATA_CHANNEL_ACK
    Ack,
    /// DATA_CHANNEL_OPEN
    Open(Opened),
}

/// A channel the peer opens.
#[derive(Debug, PartialEq)]
pub struct Opened {
    /// Its name.
    pub label: Arc<str>,
    /// Whether messages arrive in the order in which they were sent.
    pub ordered: bool,
    /// How often a message is sent again.
    pub reliability: ReliabilityType,
    /// Retransmissions, or milliseconds.
    pub value: u32,
}

/// DATA_CHANNEL_OPEN for one of our channels. No priority and no subprotocol.
pub(super) fn open(channel: &Channel) -> Vec<u8> {
    let order = if channel.ordered { 0 } else { UNORDERED };
    let reliability = if channel.retransmits_max.is_some() {
        RETRANSMITS
    } else {
        0
    };
    let label = channel.label.as_bytes();
    let mut message = vec![OPEN, order | reliability, 0, 0];
    message.extend(u32::from(channel.retransmits_max.unwrap_or(0)).to_be_bytes());
    message.extend((label.len() as u16).to_be_bytes());
    message.extend([0, 0]);
    message.extend(label);
    message
}

/// Reads a message. `None` when it is malformed, of another type, or its label is too long.
pub fn parse(message: &[u8]) -> Option<Message> {
    match message.first()? {
        2 => Some(Message::Ack),
        &OPEN => parse_open(message).map(Message::Open),
        _ => None,
    }
}

fn parse_open(message: &[u8]) -> Option<Opened> {
    let (header, rest) = message.split_at_checked(HEADER)?;
    let value = u32::from_be_bytes(header[4..8].try_into().ok()?);
    let label_len = usize::from(u16::from_be_bytes([header[8], header[9]]));
    let protocol_len = usize::from(u16::from_be_bytes([header[10], header[11]]));
    let (label, protocol) = rest.split_at_checked(label_len)?;
    if label_len > LABEL_MAX || protocol.len() != protocol_len {
        return None;
    }
    let reliability = match header[1] & !UNORDERED {
        0 => ReliabilityType::Reliable,
        RETRANSMITS => ReliabilityType::Rexmit,
        LIFETIME => ReliabilityType::Timed,
        _ => return None,
    };
    let label = str::from_utf8(label).ok()?.into();
    Some(Opened {
        label,
        ordered: header[1] & UNORDERED == 0,
        reliability,
        value,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_a_round_trip() {
        for (ordered, retransmits_max) in [(true, None), (false, Some(0)), (false, Some(3))] {
            let message = open(&Channel {
                label: "_lossy".into(),
                ordered,
                retransmits_max,
                stream: None,
            });
            let Some(Message::Open(opened)) = parse(&message) else {
                panic!("not an open")
            };
            assert_eq!((&*opened.label, opened.ordered), ("_lossy", ordered));
            assert_eq!(opened.value, u32::from(retransmits_max.unwrap_or(0)));
            assert_eq!(
                opened.reliability == ReliabilityType::Reliable,
                retransmits_max.is_none()
            );
            for len in 0..message.len() {
                assert_eq!(parse(&message[..len]), None);
            }
        }
        assert_eq!(parse(&ACK), Some(Message::Ack));
        assert_eq!(parse(&[9]), None);
    }
}
