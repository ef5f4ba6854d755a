//! Decryption of datagrams that arrived together.
//!
//! Several relays share one key, and their workers send independently: packets on one path may
//! overtake each other, and the order of sending on two paths is not visible. A receiver guesses a
//! packet's roll-over counter from earlier packets. Once numbers are far apart, the same packets
//! decrypt in one order and not in another, so the order in which sockets happened to be read shows
//! nothing about the device.
//!
//! Such packets are decrypted in the order of their indexes. All of them decrypt in this order if
//! each index was the nearest to the highest one before it, for any order of those. An index that
//! was not the nearest still fails. Packets under a key of one relay are decrypted in the order of
//! arrival.

use std::collections::BTreeMap;

use backend_udp::srtp::{OpenError, Opener, Sealer};
use dataplane::{MasterKey, Path};
use wire::{PacketKind, RtpPacket};

use super::{Opened, Peers, party, sealed};
use crate::Datagram;
use crate::rtp::RtpFields;

/// The longest step of a receiver: short enough for it to know the roll-over counter.
const STRIDE: u64 = 30_000;
/// Roll-overs after the highest decrypted index in which an index is looked for.
const ROLLOVERS_AHEAD: u64 = 8;

impl Peers {
    /// Decrypts datagrams that arrived together. Each result is at the place of its datagram.
    ///
    /// Errors: as for [`open`](Self::open).
    pub fn open_together(&mut self, datagrams: &[Datagram]) -> Vec<Result<Opened, OpenError>> {
        let mut order: Vec<usize> = (0..datagrams.len()).collect();
        if datagrams.len() > 1 {
            order.sort_by_cached_key(|at| self.index_under_shared_key(datagrams[*at].path, &datagrams[*at].bytes));
        }
        let mut opened = BTreeMap::new();
        for at in order {
            opened.insert(at, self.open(datagrams[at].path, &datagrams[at].bytes));
        }
        opened.into_values().collect()
    }

    /// The index that an RTP packet was sealed under, with a key that several relays seal with.
    fn index_under_shared_key(&mut self, path: Path, bytes: &[u8]) -> Option<u64> {
        if wire::classify(bytes) != PacketKind::Rtp {
            return None;
        }
        let packet = RtpPacket::parse_protected(bytes).ok()?;
        let (ssrc, header_len) = (packet.ssrc().0, packet.header_len());
        let keys = self
            .relays
            .egress_protection(path, false)
            .filter_map(|protection| protection.key());
        let keys = keys.filter(|key| self.relays.share(key));
        for key in keys {
            let newest = party(&mut self.parties, key).opened.get(&ssrc);
            let rollovers = 0..=newest.map_or(0, |index| index >> 16) + ROLLOVERS_AHEAD;
            let number = u64::from(packet.sequence().0);
            let mut indexes: Vec<u64> = rollovers.map(|rollover| rollover << 16 | number).collect();
            indexes.sort_by_key(|index| index.abs_diff(newest.copied().unwrap_or(0)));
            let found = indexes
                .into_iter()
                .find(|index| is_under(key, ssrc, *index, bytes, header_len));
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

/// Whether an SRTP packet decrypts under an index, for a receiver at that index.
fn is_under(key: &MasterKey, ssrc: u32, index: u64, bytes: &[u8], header_len: usize) -> bool {
    let (mut sealer, mut opener) = (Sealer::new(key), Opener::new(key));
    for before in (index % STRIDE..index).step_by(STRIDE as usize) {
        let mut packet = sealed(&mut sealer, key.profile(), &header(ssrc, before as u16), 12, before);
        opener.open_rtp(&mut packet, 12).expect("it is one stride further");
    }
    let opened = opener.open_rtp(&mut bytes.to_vec(), header_len);
    opened.is_ok_and(|opened| opened.index == index)
}

/// An RTP packet with only a header.
fn header(ssrc: u32, number: u16) -> Vec<u8> {
    let fields = RtpFields {
        ssrc: Some(ssrc),
        sequence: Some(number),
        ..RtpFields::default()
    };
    fields.encode()
}

#[cfg(test)]
mod tests {
    use dataplane::{Accept, Hop, Relay, RelayProtection, SrtpProfile, Update};

    use super::*;
    use crate::step::{master_key, party_at, relay_at};

    /// The path of a relay's packets: each relay sends to another party.
    fn path(relay: u32) -> Path {
        Path {
            local: relay_at(relay),
            remote: party_at(relay + 1),
        }
    }

    /// As many relays as that, which all seal with the key.
    fn peers(key: &MasterKey, relays: u32) -> Peers {
        let mut peers = Peers::default();
        for relay in 0..relays {
            let entry = Relay {
                accept: Accept::Nobody,
                ingress_protection: RelayProtection::Clear,
                terminated: false,
                rtp: Some(Hop {
                    path: path(relay),
                    egress_protection: RelayProtection::Srtp(key.clone()),
                    tos: None,
                }),
                rtcp: None,
            };
            peers.apply(&Update::SetRelay(relay_at(relay), Box::new(entry)));
        }
        peers
    }

    fn key() -> MasterKey {
        master_key(SrtpProfile::AesCm128HmacSha1_32, 1)
    }

    /// Opens packets, named by relay and index, that were read in this order.
    fn opened(peers: &mut Peers, packets: &[(u32, u64)]) -> Vec<Result<u64, OpenError>> {
        let mut sealer = Sealer::new(&key());
        let datagrams = packets.iter().map(|(relay, index)| Datagram {
            path: path(*relay),
            bytes: sealed(&mut sealer, key().profile(), &header(1, *index as u16), 12, *index),
        });
        let opened = peers.open_together(&datagrams.collect::<Vec<_>>());
        let index = |opened: Opened| opened.keystream.expect("it was sealed").index;
        opened.into_iter().map(|opened| opened.map(index)).collect()
    }

    #[test]
    fn packets_of_several_relays_open_whichever_was_read_first() {
        let sealed = [(0, 327), (1, 329), (1, 331), (0, 64_821)];
        let read = [(0, 327), (0, 64_821), (1, 329), (1, 331)];
        for order in [sealed, read] {
            let mut peers = peers(&key(), 2);
            assert_eq!(opened(&mut peers, &[(0, 324)]), [Ok(324)]);
            assert_eq!(opened(&mut peers, &order), order.map(|(_, index)| Ok(index)));
            let next = [(1, 65_536 + 332), (0, 65_536 + 333)];
            assert_eq!(opened(&mut peers, &next), next.map(|(_, index)| Ok(index)));
        }
    }

    #[test]
    fn jumps_over_several_roll_overs_open_in_any_order() {
        let read = [(1, 90_000), (1, 150_000), (0, 30_000), (0, 60_000), (0, 120_000)];
        let mut peers = peers(&key(), 2);
        assert_eq!(opened(&mut peers, &read), read.map(|(_, index)| Ok(index)));
    }

    #[test]
    fn a_wrong_roll_over_counter_is_found_out() {
        let wrong = Err(OpenError::Authentication);
        for relays in [1, 2] {
            let last = relays - 1;
            let mut peers = peers(&key(), relays);
            assert_eq!(opened(&mut peers, &[(0, 327), (last, 65_536 + 328)]), [Ok(327), wrong]);
            assert_eq!(
                opened(&mut peers, &[(last, 329), (0, 3 * 65_536 + 330)]),
                [Ok(329), wrong]
            );
        }
    }

    #[test]
    fn packets_of_one_relay_open_in_the_order_they_came() {
        let mut peers = peers(&key(), 1);
        let wrong = Err(OpenError::Authentication);
        let read = [(0, 327), (0, 64_821), (0, 329)];
        assert_eq!(opened(&mut peers, &read), [Ok(327), Ok(64_821), wrong]);
    }
}
