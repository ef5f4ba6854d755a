use super::Stamp;
use super::payload::Received;
use wire::RtpPacket;

/// Packets remembered of each source: several seconds of video, of which a receiver reads
/// milliseconds.
const REMEMBERED: usize = 1024;

/// Packets that publishers have sent, for receivers that open few packets.
///
/// Servers leave the header in clear and change it by constants: sequence number and timestamp of a
/// stream each keep their distance from the publisher's values. A receiver that has opened one
/// packet knows these distances ([`Renaming`]). So it identifies each later packet by its header
/// alone. A packet whose header does not fit is opened. So is one packet in
/// [`open_one_in`](Self::open_one_in), to check that the distances still hold and that the payload
/// is unchanged.
#[derive(Default)]
pub struct Ledger {
    open_one_in: u32,
    sources: Vec<Source>,
}

#[derive(Default)]
struct Source {
    next: u64,
    packets: Vec<Sent>,
}

/// A packet as its publisher sent it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Its number at its source.
    pub number: u64,
    /// When, in nanoseconds since 1970.
    pub sent_ns: u64,
    /// The RTP timestamp.
    pub timestamp: u32,
    /// Bytes of payload.
    pub payload_len: u16,
    /// The marker bit.
    pub marker: bool,
    /// Whether a key frame begins with it.
    pub key_frame_start: bool,
}

/// The relation of a stream's headers to those that its source sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renaming {
    source: u32,
    sequence: u16,
    timestamp: u32,
    payload_len: u16,
    unopened: u32,
}

impl Ledger {
    /// A ledger for receivers that open one packet in `open_one_in`; 1: all, and nothing is
    /// recorded.
    pub fn new(open_one_in: u32) -> Self {
        Self {
            open_one_in,
            sources: Vec::new(),
        }
    }

    /// One packet in this many is opened.
    pub fn open_one_in(&self) -> u32 {
        self.open_one_in.max(1)
    }

    /// Records a sent packet of a source; numbers are consecutive.
    pub fn note(&mut self, source: u32, sent: Sent) {
        if self.open_one_in() == 1 {
            return;
        }
        let source = source as usize;
        if source >= self.sources.len() {
            self.sources.resize_with(source + 1, Source::default);
        }
        let source = &mut self.sources[source];
        source.packets.resize(REMEMBERED, Sent::default());
        source.packets[sent.number as usize % REMEMBERED] = sent;
        source.next = sent.number + 1;
    }

    /// The distances that an opened packet shows for its stream.
    pub fn learn(&self, packet: &RtpPacket<'_>, stamp: &Stamp) -> Option<Renaming> {
        let sent = self.sent(stamp.source, stamp.number as u16)?;
        (sent.number == stamp.number).then(|| Renaming {
            source: stamp.source,
            sequence: packet.sequence().0.wrapping_sub(sent.number as u16),
            timestamp: packet.timestamp().0.wrapping_sub(sent.timestamp),
            payload_len: (packet.payload().len() as u16).wrapping_sub(sent.payload_len),
            unopened: 0,
        })
    }

    /// Which packet this is, whose header alone has been read, so that padding counts as payload;
    /// `None` when it is to be opened.
    pub fn recognize(&self, packet: &RtpPacket<'_>, padded: bool, renaming: &mut Renaming) -> Option<Received> {
        if renaming.unopened + 1 >= self.open_one_in() {
            return None;
        }
        let number = packet.sequence().0.wrapping_sub(renaming.sequence);
        let sent = self.sent(renaming.source, number)?;
        let payload_len = packet.payload().len() as u16;
        let padding = payload_len.wrapping_sub(sent.payload_len.wrapping_add(renaming.payload_len));
        let fits = packet.timestamp().0 == sent.timestamp.wrapping_add(renaming.timestamp)
            && packet.marker() == sent.marker
            && if padded {
                (1..=255).contains(&padding)
            } else {
                padding == 0
            };
        fits.then(|| {
            renaming.unopened += 1;
            Received {
                stamp: Stamp {
                    source: renaming.source,
                    number: sent.number,
                    sent_ns: sent.sent_ns,
                },
                key_frame_start: sent.key_frame_start,
            }
        })
    }

    /// The last packet of a source whose number ends so, if it is remembered.
    fn sent(&self, source: u32, number: u16) -> Option<&Sent> {
        let source = self.sources.get(source as usize)?;
        let last = source.next.checked_sub(1)?;
        let number = last.checked_sub(u64::from((last as u16).wrapping_sub(number)))?;
        let sent = source.packets.get(number as usize % REMEMBERED)?;
        (sent.number == number).then_some(sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{Csrcs, ExtensionWriter, PayloadType, RtpHeader, RtpTimestamp, SequenceNumber, Ssrc};

    const SOURCE: u32 = 6;

    fn sent(number: u64) -> Sent {
        Sent {
            number,
            sent_ns: 1000 + number,
            timestamp: number as u32 / 4 * 3000,
            payload_len: 100,
            marker: number % 4 == 3,
            key_frame_start: false,
        }
    }

    /// The packet as forwarded by a server that adds these to number and timestamp.
    fn forwarded(number: u64, added: (u16, u32)) -> Vec<u8> {
        let sent = sent(number);
        let header = RtpHeader {
            has_padding: false,
            marker: sent.marker,
            payload_type: PayloadType::new(96).expect("seven bits"),
            sequence: SequenceNumber((number as u16).wrapping_add(added.0)),
            timestamp: RtpTimestamp(sent.timestamp.wrapping_add(added.1)),
            ssrc: Ssrc(1),
            csrcs: Csrcs::NONE,
        };
        let mut bytes = vec![0; 200];
        let extensions = ExtensionWriter::new(&[]).expect("none");
        let len = header.write(&extensions, &mut bytes).expect("room");
        bytes.truncate(len + 100);
        bytes
    }

    fn stamp(number: u64) -> Stamp {
        Stamp {
            source: SOURCE,
            number,
            sent_ns: 1000 + number,
        }
    }

    fn ledger(open_one_in: u32, packets: u64) -> Ledger {
        let mut ledger = Ledger::new(open_one_in);
        (0..packets).for_each(|number| ledger.note(SOURCE, sent(number)));
        ledger
    }

    #[test]
    fn a_packet_is_recognized_by_its_header_and_one_in_so_many_is_opened() {
        let ledger = ledger(4, 70_000);
        let added = (40_000, 7);
        let first = forwarded(69_500, added);
        let parsed = RtpPacket::parse(&first).expect("RTP");
        let mut renaming = ledger.learn(&parsed, &stamp(69_500)).expect("remembered");
        let mut recognize = |number| {
            let bytes = forwarded(number, added);
            ledger.recognize(&RtpPacket::parse(&bytes).expect("RTP"), false, &mut renaming)
        };
        for number in [69_501, 69_502, 69_999] {
            assert_eq!(recognize(number).map(|it| it.stamp), Some(stamp(number)));
        }
        assert_eq!(recognize(69_503), None);
    }

    #[test]
    fn a_packet_outside_the_pattern_is_opened() {
        let ledger = ledger(64, 2000);
        let bytes = forwarded(1500, (9, 9));
        let renaming = ledger.learn(&RtpPacket::parse(&bytes).expect("RTP"), &stamp(1500));
        let mut renaming = renaming.expect("remembered");
        let mut recognize =
            |bytes: &[u8]| ledger.recognize(&RtpPacket::parse(bytes).expect("RTP"), false, &mut renaming);
        // A packet of a server that left a frame out and closed the gap; one without the marker;
        // one that is truncated; one forgotten long ago; one not yet sent.
        assert_eq!(recognize(&forwarded(1504, (9 - 4, 9))), None);
        let mut unmarked = forwarded(1503, (9, 9));
        unmarked[1] &= 0x7f;
        assert_eq!(recognize(&unmarked), None);
        assert_eq!(recognize(&forwarded(1503, (9, 9))[..80]), None);
        assert_eq!(recognize(&forwarded(100, (9, 9))), None);
        assert_eq!(recognize(&forwarded(2000, (9, 9))), None);
        assert!(recognize(&forwarded(1503, (9, 9))).is_some());
    }

    #[test]
    fn padding_may_make_a_packet_longer_and_nothing_shorter() {
        let ledger = ledger(64, 100);
        let bytes = forwarded(50, (0, 0));
        let packet = RtpPacket::parse(&bytes).expect("RTP");
        let mut renaming = ledger.learn(&packet, &stamp(50)).expect("remembered");
        let mut recognize = |len, padded| {
            let mut bytes = forwarded(51, (0, 0));
            bytes.resize(len, 0);
            let packet = RtpPacket::parse(&bytes).expect("RTP");
            ledger.recognize(&packet, padded, &mut renaming).is_some()
        };
        let whole = bytes.len();
        assert_eq!(
            [whole, whole + 1, whole - 1].map(|len| recognize(len, false)),
            [true, false, false]
        );
        assert_eq!(
            [whole, whole + 1, whole - 1].map(|len| recognize(len, true)),
            [false, true, false]
        );
    }

    #[test]
    fn a_receiver_that_opens_everything_keeps_no_pattern() {
        let strict = ledger(1, 100);
        let bytes = forwarded(50, (0, 0));
        let packet = RtpPacket::parse(&bytes).expect("RTP");
        assert_eq!(strict.learn(&packet, &stamp(50)), None);
    }
}
