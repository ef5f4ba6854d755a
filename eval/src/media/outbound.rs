//! One outgoing stream: numbering, history, and retransmission.

use wire::{Csrcs, ExtensionWriter, PayloadType, RtpHeader, RtpTimestamp, SequenceNumber, Ssrc};

use super::Stamp;
use super::layers::Dependency;
use crate::clock;

/// The numbers that publisher and server agreed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Negotiated {
    /// Payload type of the media.
    pub payload_type: u8,
    /// Payload type of retransmissions.
    pub repair: Option<u8>,
    /// Id of the `mid` header extension.
    pub mid: Option<u8>,
    /// Id of the transport-wide sequence number.
    pub transport_sequence: Option<u8>,
    /// Id of the audio level.
    pub audio_level: Option<u8>,
    /// Id of the dependency descriptor.
    pub dependency: Option<u8>,
}

/// Packets kept for retransmission: two seconds of a 2 Mbit/s stream.
const HISTORY: usize = 512;

/// A packet that has been written but not yet protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Bytes of header and payload.
    pub len: usize,
    /// Bytes of header.
    pub header_len: usize,
    /// The 48-bit extended sequence number, for SRTP.
    pub index: u64,
    /// Its number at its source.
    pub number: u64,
    /// When it was stamped, in nanoseconds since 1970.
    pub sent_ns: u64,
}

/// A packet's position in its stream's media.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The RTP timestamp.
    pub timestamp: u32,
    /// The marker bit.
    pub marker: bool,
    /// Bytes of payload.
    pub payload_len: usize,
    /// For audio, how loud it is: RFC 6464's V bit and level.
    pub audio_level: u8,
    /// For layered video, the packet's dependency descriptor.
    pub dependency: Dependency,
}

impl Place {
    /// The audio level of speech: V bit, -20 dBov.
    pub const SPEECH: u8 = 0x80 | 20;
    /// The audio level of silence.
    pub const SILENCE: u8 = 127;
}

/// One SSRC going out, with the SSRC that repairs it.
pub struct Outbound {
    source: u32,
    ssrc: u32,
    mid: String,
    negotiated: Negotiated,
    sequence: u64,
    repair_sequence: u64,
    number: u64,
    octets: u64,
    repairs: u64,
    history: Vec<Stored>,
}

#[derive(Clone, Default)]
struct Stored {
    sequence: u64,
    place: Option<Place>,
    payload: Vec<u8>,
}

impl Outbound {
    /// A stream for the source with this number, whose packets carry `mid`.
    pub fn new(source: u32, mid: &str, negotiated: Negotiated) -> Self {
        // Below 2^15, so that the first packets cannot be taken for late ones of the rollover
        // before.
        let sequence = u64::from(source.wrapping_mul(0x9e37_79b1) >> 17);
        Self {
            source,
            ssrc: Self::ssrc_of(source),
            mid: mid.into(),
            negotiated,
            sequence,
            repair_sequence: sequence,
            number: 0,
            octets: 0,
            repairs: 0,
            history: vec![Stored::default(); HISTORY],
        }
    }

    /// The SSRC by which a source is announced.
    pub fn ssrc_of(source: u32) -> u32 {
        0x2000_0000 + 2 * source
    }

    /// The SSRC of a source's retransmissions.
    pub fn repair_ssrc_of(source: u32) -> u32 {
        Self::ssrc_of(source) + 1
    }

    /// The source's number.
    pub fn source(&self) -> u32 {
        self.source
    }

    /// The stream's SSRC.
    pub fn ssrc(&self) -> u32 {
        self.ssrc
    }

    /// Packets sent, which is the number of the next one.
    pub fn next_number(&self) -> u64 {
        self.number
    }

    /// Payload bytes sent, retransmissions not counted.
    pub fn octets(&self) -> u64 {
        self.octets
    }

    /// Packets sent again.
    pub fn repairs(&self) -> u64 {
        self.repairs
    }

    /// Writes the next packet into `out`; `fill` writes its payload.
    pub fn write(
        &mut self,
        out: &mut [u8],
        transport_sequence: &mut u16,
        place: Place,
        fill: impl FnOnce(&mut [u8], &Stamp),
    ) -> Written {
        let stamp = Stamp {
            source: self.source,
            number: self.number,
            sent_ns: clock::wall_ns(),
        };
        let header = self.header(self.ssrc, self.negotiated.payload_type, self.sequence, place);
        let header_len = self.write_header(&header, &place, out, transport_sequence);
        let len = header_len + place.payload_len;
        fill(&mut out[header_len..len], &stamp);
        let written = Written {
            len,
            header_len,
            index: self.sequence,
            number: stamp.number,
            sent_ns: stamp.sent_ns,
        };
        self.remember(place, &out[header_len..len]);
        self.sequence += 1;
        self.number += 1;
        self.octets += place.payload_len as u64;
        written
    }

    /// Writes the packet with this RTP sequence number again, as in RFC 4588, if it is still
    /// remembered.
    pub fn write_again(&mut self, out: &mut [u8], transport_sequence: &mut u16, sequence: u16) -> Option<Written> {
        let repair = self.negotiated.repair?;
        let back = (self.sequence as u16).wrapping_sub(sequence);
        let wanted = self.sequence.checked_sub(u64::from(back)).filter(|_| back != 0)?;
        let slot = wanted as usize % HISTORY;
        let place = self.history[slot]
            .place
            .filter(|_| self.history[slot].sequence == wanted)?;
        let header = self.header(self.ssrc + 1, repair, self.repair_sequence, place);
        let header_len = self.write_header(&header, &place, out, transport_sequence);
        let len = header_len + 2 + place.payload_len;
        out[header_len..header_len + 2].copy_from_slice(&sequence.to_be_bytes());
        out[header_len + 2..len].copy_from_slice(&self.history[slot].payload);
        let written = Written {
            len,
            header_len,
            index: self.repair_sequence,
            number: self.number,
            sent_ns: 0,
        };
        self.repair_sequence += 1;
        self.repairs += 1;
        Some(written)
    }

    fn header(&self, ssrc: u32, payload_type: u8, sequence: u64, place: Place) -> RtpHeader<'static> {
        RtpHeader {
            has_padding: false,
            marker: place.marker,
            payload_type: PayloadType::new(payload_type).expect("an SDP payload type has seven bits"),
            sequence: SequenceNumber(sequence as u16),
            timestamp: RtpTimestamp(place.timestamp),
            ssrc: Ssrc(ssrc),
            csrcs: Csrcs::NONE,
        }
    }

    /// Extensions as a browser writes them: mid and, where agreed, the transport-wide number or the
    /// audio level.
    fn write_header(
        &self,
        header: &RtpHeader<'_>,
        place: &Place,
        out: &mut [u8],
        transport_sequence: &mut u16,
    ) -> usize {
        let number = transport_sequence.to_be_bytes();
        let level = [place.audio_level];
        let mut elements: [(u8, &[u8]); 4] = [(0, &[]); 4];
        let mut count = 0;
        let agreed = |id: Option<u8>, value| id.zip(Some(value));
        for (id, value) in [
            agreed(self.negotiated.mid, self.mid.as_bytes()),
            agreed(self.negotiated.transport_sequence, number.as_slice()),
            agreed(self.negotiated.audio_level, level.as_slice()),
            self.negotiated.dependency.zip(place.dependency.bytes()),
        ]
        .into_iter()
        .flatten()
        {
            elements[count] = (id, value);
            count += 1;
        }
        *transport_sequence = transport_sequence.wrapping_add(1);
        let extensions = ExtensionWriter::new(&elements[..count]).expect("negotiated ids are valid");
        header.write(&extensions, out).expect("a slot holds any header")
    }

    fn remember(&mut self, place: Place, payload: &[u8]) {
        if self.negotiated.repair.is_some() {
            let stored = &mut self.history[self.sequence as usize % HISTORY];
            (stored.sequence, stored.place) = (self.sequence, Some(place));
            stored.payload.clear();
            stored.payload.extend_from_slice(payload);
        }
    }
}

#[cfg(test)]
mod tests {
    use wire::RtpPacket;

    use super::*;

    const NEGOTIATED: Negotiated = Negotiated {
        payload_type: 96,
        repair: Some(97),
        mid: Some(4),
        transport_sequence: Some(3),
        audio_level: None,
        dependency: None,
    };
    const PLACE: Place = Place {
        timestamp: 3000,
        marker: true,
        payload_len: 100,
        audio_level: 0,
        dependency: Dependency::NONE,
    };

    fn fill(payload: &mut [u8], stamp: &Stamp) {
        payload.fill(stamp.number as u8);
    }

    #[test]
    fn packets_are_numbered_and_carry_their_extensions() {
        let mut stream = Outbound::new(5, "1", NEGOTIATED);
        let (mut out, mut transport_sequence) = ([0u8; 1400], 65_535);
        let first = stream.write(&mut out, &mut transport_sequence, PLACE, fill);
        let second = stream.write(&mut out, &mut transport_sequence, PLACE, fill);
        assert_eq!(second.index, first.index + 1);
        let packet = RtpPacket::parse(&out[..second.len]).expect("RTP");
        assert_eq!(packet.extension(4), Some(b"1".as_slice()));
        assert_eq!(packet.extension(3), Some([0u8, 0].as_slice()));
        assert_eq!(packet.payload(), [1; 100]);
        assert_eq!((stream.next_number(), stream.octets()), (2, 200));
    }

    #[test]
    fn a_retransmission_carries_the_original_number_and_payload() {
        let mut stream = Outbound::new(5, "1", NEGOTIATED);
        let (mut out, mut transport_sequence) = ([0u8; 1400], 0);
        let first = stream.write(&mut out, &mut transport_sequence, PLACE, fill);
        stream.write(&mut out, &mut transport_sequence, PLACE, fill);
        let sequence = first.index as u16;
        let again = stream
            .write_again(&mut out, &mut transport_sequence, sequence)
            .expect("remembered");
        let packet = RtpPacket::parse(&out[..again.len]).expect("RTP");
        assert_eq!(packet.ssrc().0, Outbound::repair_ssrc_of(5));
        assert_eq!(packet.payload()[..2], sequence.to_be_bytes());
        assert_eq!(packet.payload()[2..], [0; 100]);
        assert_eq!(
            stream.write_again(&mut out, &mut transport_sequence, sequence.wrapping_add(7)),
            None
        );
    }

    #[test]
    fn the_oldest_packets_are_forgotten() {
        let mut stream = Outbound::new(0, "0", NEGOTIATED);
        let (mut out, mut transport_sequence) = ([0u8; 1400], 0);
        let first = stream.write(&mut out, &mut transport_sequence, PLACE, fill);
        for _ in 0..HISTORY {
            stream.write(&mut out, &mut transport_sequence, PLACE, fill);
        }
        assert_eq!(
            stream.write_again(&mut out, &mut transport_sequence, first.index as u16),
            None
        );
    }
}
