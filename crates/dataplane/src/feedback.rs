//! The classes of receivers' feedback, by which a device forwards it to a publisher.
//!
//! Source: Scallop sections 5.3 and 5.5.

const RECEIVER_REPORT: u8 = 201;
const TRANSPORT_FEEDBACK: u8 = 205;
const PAYLOAD_FEEDBACK: u8 = 206;

/// A class of RTCP from a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FeedbackClass {
    /// Receiver reports, and the receiver's own estimate (REMB).
    Estimates,
    /// Requests for packets.
    Nacks,
    /// Requests for key frames: PLI and FIR.
    KeyFrames,
}

impl FeedbackClass {
    /// Every class.
    pub const ALL: [Self; 3] = [Self::Estimates, Self::Nacks, Self::KeyFrames];

    /// The class of a datagram, which is forwarded as a whole: that of the feedback at its
    /// beginning, or directly after a receiver report at its beginning (RFC 3550 section 6.1,
    /// RFC 5506). `None` for other datagrams, such as sender reports and transport-wide feedback.
    pub fn of(datagram: &[u8]) -> Option<Self> {
        let first = Head::of(datagram)?;
        if first.kind != RECEIVER_REPORT {
            return first.class();
        }
        let next = datagram.get(first.len..).and_then(Head::of);
        let feedback = next.filter(|next| matches!(next.kind, TRANSPORT_FEEDBACK | PAYLOAD_FEEDBACK));
        feedback.map_or(Some(Self::Estimates), |feedback| feedback.class())
    }
}

/// The first bytes of an RTCP packet.
struct Head {
    kind: u8,
    /// The format of feedback.
    format: u8,
    /// Bytes of the packet.
    len: usize,
}

impl Head {
    fn of(bytes: &[u8]) -> Option<Self> {
        let [first, kind, words @ ..] = bytes.first_chunk::<4>()?;
        Some(Head {
            kind: *kind,
            format: first & 0x1f,
            len: 4 + 4 * usize::from(u16::from_be_bytes(*words)),
        })
    }

    fn class(&self) -> Option<FeedbackClass> {
        match (self.kind, self.format) {
            (PAYLOAD_FEEDBACK, 15) => Some(FeedbackClass::Estimates),
            (TRANSPORT_FEEDBACK, 1) => Some(FeedbackClass::Nacks),
            (PAYLOAD_FEEDBACK, 1 | 4) => Some(FeedbackClass::KeyFrames),
            _ => None,
        }
    }
}
