//! Receivers' estimates, which a device may forward to a publisher.
//!
//! Source: Scallop sections 5.3 and 5.5.

const RECEIVER_REPORT: u8 = 201;
const TRANSPORT_FEEDBACK: u8 = 205;
const PAYLOAD_FEEDBACK: u8 = 206;

/// The format of REMB, among other application layer feedback (RFC 4585 section 6.4).
const REMB: u8 = 15;

/// Whether an RTCP datagram has a receiver's estimates: it begins with a receiver report that no
/// other feedback follows directly, or with a REMB, alone or directly after a receiver report (RFC
/// 3550 section 6.1, RFC 5506). Such a datagram is forwarded as a whole.
pub fn has_estimates(datagram: &[u8]) -> bool {
    let Some(first) = Head::of(datagram) else { return false };
    if first.kind != RECEIVER_REPORT {
        return first.is_remb();
    }
    let next = datagram.get(first.len..).and_then(Head::of);
    let feedback = next.filter(|next| matches!(next.kind, TRANSPORT_FEEDBACK | PAYLOAD_FEEDBACK));
    feedback.is_none_or(|feedback| feedback.is_remb())
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

    fn is_remb(&self) -> bool {
        (self.kind, self.format) == (PAYLOAD_FEEDBACK, REMB)
    }
}
