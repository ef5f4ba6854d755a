//! SCTP packets built here instead of in the library: acknowledgements with a reduced window, and
//! the end of an association.
//!
//! The window that the library advertises counts only the data that it has not delivered to us.
//! Data that waits outside the library is subtracted here, so that the sender stops. A window that
//! opens again is announced at once: otherwise the sender would probe for it with a timer that
//! doubles each time.
//!
//! Source: RFC 9260 sections 3.3.4, 3.3.7 and 6.2.1.

use bytes::Bytes;

const HEADER: usize = 12;
const TAG: std::ops::Range<usize> = 4..8;
const CHECKSUM: std::ops::Range<usize> = 8..12;
const CRC32C: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISCSI);

pub(super) const DATA: u8 = 0;
const SACK: u8 = 3;
/// Up to and with the number of duplicates; gap blocks of four bytes follow.
const SACK_LEN: usize = 16;
const ABORT: u8 = 6;
const SHUTDOWN: u8 = 7;
const SHUTDOWN_ACK: u8 = 8;
const SHUTDOWN_COMPLETE: u8 = 14;

/// The last acknowledgement of this side.
#[derive(Default)]
pub(super) struct Said {
    /// The common header with the peer's verification tag.
    header: Option<[u8; HEADER]>,
    /// The last acknowledgement, as a packet of its own.
    acknowledgement: Option<Vec<u8>>,
    /// Its window.
    window: u32,
    /// The acknowledged number, and the window that the library wanted to tell.
    pub(super) news: Option<(u32, u32)>,
}

impl Said {
    /// A packet of the library, with the window in its acknowledgement limited to `room`.
    pub(super) fn limit(&mut self, packet: &Bytes, room: u32) -> Vec<u8> {
        let mut packet = packet.to_vec();
        let Some(header) = packet.first_chunk::<HEADER>() else {
            return packet;
        };
        if header[TAG] != [0; 4] {
            self.header = Some(*header);
        }
        let sack = chunks(&packet).find(|(_, kind, len)| *kind == SACK && *len >= SACK_LEN);
        let Some((at, _, len)) = sack else { return packet };
        let window = &mut packet[at + 8..at + 12];
        let theirs = u32::from_be_bytes(window.try_into().expect("it is four bytes"));
        let cumulative = packet[at + 4..at + 8].try_into().expect("it is four bytes");
        self.news = Some((u32::from_be_bytes(cumulative), theirs));
        let window = &mut packet[at + 8..at + 12];
        self.window = theirs.min(room);
        if self.window != theirs {
            window.copy_from_slice(&self.window.to_be_bytes());
            seal(&mut packet);
        }
        self.acknowledgement = acknowledgement(&packet, at, len);
        packet
    }

    /// The last acknowledgement again, if the room is much larger than the window in it.
    pub(super) fn update(&mut self, room: u32, most: u32) -> Option<Vec<u8>> {
        if self.window >= most / 2 || room < self.window.saturating_add(most / 4) {
            return None;
        }
        self.again(room)
    }

    /// The last acknowledgement again, for a peer that probes the window.
    pub(super) fn again(&mut self, room: u32) -> Option<Vec<u8>> {
        let mut packet = self.acknowledgement.clone()?;
        self.window = room;
        packet[HEADER + 8..HEADER + 12].copy_from_slice(&room.to_be_bytes());
        seal(&mut packet);
        Some(packet)
    }

    /// Ends the association, without a reason.
    pub(super) fn abort(&self) -> Option<Vec<u8>> {
        let mut packet = self.header?.to_vec();
        packet.extend([ABORT, 0, 0, 4]);
        seal(&mut packet);
        Some(packet)
    }
}

/// A packet without its DATA, as if only that had been lost. `None` if there is nothing else in it.
pub fn without_data(packet: &[u8]) -> Option<Vec<u8>> {
    let mut rest = packet.get(..HEADER)?.to_vec();
    for (at, _, len) in chunks(packet).filter(|(_, kind, _)| *kind != DATA) {
        rest.extend(&packet[at..at + len]);
        rest.resize(rest.len().next_multiple_of(4), 0);
    }
    seal(&mut rest);
    (rest.len() > HEADER).then_some(rest)
}

/// Whether a packet has DATA in it.
pub fn has_data(packet: &[u8]) -> bool {
    chunks(packet).any(|(_, kind, _)| kind == DATA)
}

/// Whether a packet of the peer ends the association.
pub fn is_goodbye(packet: &[u8]) -> bool {
    chunks(packet).any(|(_, kind, _)| matches!(kind, ABORT | SHUTDOWN | SHUTDOWN_ACK | SHUTDOWN_COMPLETE))
}

/// A packet with this chunk alone, without the duplicates it reports.
fn acknowledgement(packet: &[u8], at: usize, len: usize) -> Option<Vec<u8>> {
    let chunk = packet.get(at..at + len)?;
    let gaps = usize::from(u16::from_be_bytes([chunk[12], chunk[13]]));
    let len = SACK_LEN + 4 * gaps;
    let mut alone = packet[..HEADER].to_vec();
    alone.extend(chunk.get(..len)?);
    alone[HEADER + 2..HEADER + 4].copy_from_slice(&(len as u16).to_be_bytes());
    alone[HEADER + 14..HEADER + 16].copy_from_slice(&[0, 0]);
    Some(alone)
}

/// Each chunk's place, type and length, up to the first that is not whole.
pub fn chunks(packet: &[u8]) -> impl Iterator<Item = (usize, u8, usize)> {
    let mut at = HEADER;
    std::iter::from_fn(move || {
        let header = packet.get(at..at + 4)?;
        let len = usize::from(u16::from_be_bytes([header[2], header[3]]));
        if len < 4 || at + len > packet.len() {
            return None;
        }
        let chunk = (at, header[0], len);
        at += len.next_multiple_of(4);
        Some(chunk)
    })
}

fn seal(packet: &mut [u8]) {
    packet[CHECKSUM].fill(0);
    let checksum = CRC32C.checksum(packet);
    packet[CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An acknowledgement of 7 with one gap and one duplicate.
    fn sack(window: u32) -> Vec<u8> {
        let mut packet = vec![
            0x13, 0x88, 0x13, 0x88, 1, 2, 3, 4, 0, 0, 0, 0, SACK, 0, 0, 24, 0, 0, 0, 7,
        ];
        packet.extend(window.to_be_bytes());
        packet.extend([0, 1, 0, 1, 0, 2, 0, 3, 0, 0, 0, 5]);
        seal(&mut packet);
        packet
    }

    fn is_sealed(packet: &[u8]) -> bool {
        let mut again = packet.to_vec();
        seal(&mut again);
        again == packet
    }

    #[test]
    fn an_acknowledgement_says_no_more_than_there_is_room_for() {
        let mut said = Said::default();
        assert_eq!(said.limit(&sack(1_000).into(), 2_000), sack(1_000));
        let limited = said.limit(&sack(1_000).into(), 10);
        assert_eq!(limited, sack(10));
        assert!(is_sealed(&limited));
    }

    #[test]
    fn a_window_that_opens_is_told_once_without_old_duplicates() {
        let mut said = Said::default();
        assert_eq!(said.update(1_000, 1_000), None, "nothing was acknowledged yet");
        said.limit(&sack(1_000).into(), 100);
        assert_eq!(said.update(300, 1_000), None);
        let update = said.update(350, 1_000).unwrap();
        assert!(is_sealed(&update));
        assert_eq!(
            (&update[12..16], &update[20..28]),
            (&[SACK, 0, 0, 20][..], &[0, 0, 1, 94, 0, 1, 0, 0][..])
        );
        assert_eq!(said.update(350, 1_000), None);
    }

    #[test]
    fn data_is_taken_out_of_a_packet_and_the_rest_stays() {
        let mut packet = sack(1);
        packet.extend([DATA, 3, 0, 17]);
        packet.extend([0; 16]);
        seal(&mut packet);
        assert!(has_data(&packet) && !has_data(&sack(1)));
        assert_eq!(without_data(&packet), Some(sack(1)));
        packet.drain(HEADER..HEADER + 24);
        assert_eq!(without_data(&packet), None);
    }

    #[test]
    fn the_end_of_an_association_is_recognized_and_written() {
        let mut said = Said::default();
        assert_eq!(said.abort(), None);
        said.limit(&sack(1).into(), 1);
        let abort = said.abort().unwrap();
        assert!(is_sealed(&abort) && is_goodbye(&abort) && !is_goodbye(&sack(1)));
        for len in 0..abort.len() {
            assert!(!is_goodbye(&abort[..len]));
        }
    }
}
