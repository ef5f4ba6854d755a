//! The peers: they protect the device's input and unprotect its output.

mod together;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use backend_udp::srtp::{OpenError, Opener, Sealer, rtcp_overhead, rtp_overhead};
use dataplane::{LegId, MasterKey, Path, Protection, Relay, RelayProtection, SrtpProfile, Update};
use wire::{PacketKind, RtpPacket};

use crate::Send;
use crate::leg_table::LegTable;

/// The relays written to a device.
#[derive(Debug, Default)]
pub struct RelayTable(BTreeMap<SocketAddr, Relay>);

impl RelayTable {
    /// Follows an update that the device took.
    pub fn apply(&mut self, update: &Update) {
        match update {
            Update::SetRelay(at, relay) => drop(self.0.insert(*at, (**relay).clone())),
            Update::RemoveRelay(at) => drop(self.0.remove(at)),
            _ => {}
        }
    }

    /// Protection of packets that arrive there.
    pub fn ingress_protection(&self, at: SocketAddr) -> Option<&MasterKey> {
        self.0.get(&at)?.ingress_protection.key()
    }

    /// Keys that may protect RTP or RTCP sent on a path.
    fn egress_protection(&self, path: Path, rtcp: bool) -> impl Iterator<Item = &RelayProtection> {
        let hops = self.0.values().filter_map(move |relay| match rtcp {
            true => relay.rtcp.as_ref(),
            false => relay.rtp.as_ref(),
        });
        hops.filter(move |hop| hop.path == path)
            .map(|hop| &hop.egress_protection)
    }

    /// Whether several relays seal RTP with a key, each when it likes.
    fn share(&self, key: &MasterKey) -> bool {
        let hops = self.0.values().filter_map(|relay| relay.rtp.as_ref());
        hops.filter(|hop| hop.egress_protection.key() == Some(key)).count() > 1
    }
}

/// One peer's SRTP state.
struct Peer {
    ingress: MasterKey,
    egress: MasterKey,
    sealer: Sealer,
    opener: Opener,
    /// Highest index sent, by SSRC.
    highest: BTreeMap<u32, u64>,
    /// Highest index opened, by SSRC.
    opened: BTreeMap<u32, u64>,
}

impl Peer {
    fn new(ingress: &MasterKey, egress: &MasterKey) -> Self {
        Peer {
            ingress: ingress.clone(),
            egress: egress.clone(),
            sealer: Sealer::new(ingress),
            opener: Opener::new(egress),
            highest: BTreeMap::new(),
            opened: BTreeMap::new(),
        }
    }

    fn seal_rtp(&mut self, plain: &[u8], header_len: usize) -> Vec<u8> {
        let sequence = u16::from_be_bytes([plain[2], plain[3]]);
        let ssrc = u32::from_be_bytes([plain[8], plain[9], plain[10], plain[11]]);
        let index = match self.highest.get(&ssrc) {
            None => u64::from(sequence),
            Some(highest) => {
                let distance = i64::from(sequence.wrapping_sub(*highest as u16) as i16);
                highest.checked_add_signed(distance).unwrap_or(u64::from(sequence))
            }
        };
        let highest = self.highest.entry(ssrc).or_insert(index);
        *highest = index.max(*highest);
        sealed(&mut self.sealer, self.ingress.profile(), plain, header_len, index)
    }

    fn seal_rtcp(&mut self, plain: &[u8]) -> Vec<u8> {
        let mut packet = plain.to_vec();
        packet.resize(plain.len() + rtcp_overhead(self.ingress.profile()), 0);
        let len = self
            .sealer
            .seal_rtcp(&mut packet, plain.len())
            .expect("few packets are sent");
        packet.truncate(len);
        packet
    }
}

/// The RTP packet `plain`, sealed under an index.
fn sealed(sealer: &mut Sealer, profile: SrtpProfile, plain: &[u8], header_len: usize, index: u64) -> Vec<u8> {
    let mut packet = plain.to_vec();
    packet.resize(plain.len() + rtp_overhead(profile), 0);
    let len = sealer.seal_rtp(&mut packet, plain.len(), header_len, index);
    packet.truncate(len);
    packet
}

/// A datagram as its peer reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// In clear.
    pub bytes: Vec<u8>,
    /// Under which keystream it was sent, when it was sealed.
    pub keystream: Option<Keystream>,
}

impl Opened {
    /// A datagram without protection.
    pub(crate) fn in_clear(bytes: &[u8]) -> Self {
        Opened {
            bytes: bytes.to_vec(),
            keystream: None,
        }
    }
}

/// A key, SSRC and index, which must never protect two different packets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Keystream {
    /// The master key.
    pub key: Vec<u8>,
    /// RTP or RTCP, whose session keys differ.
    pub rtcp: bool,
    /// The sender.
    pub ssrc: u32,
    /// The packet index.
    pub index: u64,
}

/// Every peer of one device.
#[derive(Default)]
pub struct Peers {
    /// The legs in the device's table.
    pub legs: LegTable,
    peers: BTreeMap<LegId, Peer>,
    relays: RelayTable,
    /// Parties of relays, by their key, which both directions share.
    parties: BTreeMap<Vec<u8>, Peer>,
}

impl Peers {
    /// Follows an update that the device took.
    pub fn apply(&mut self, update: &Update) {
        self.legs.apply(update);
        self.relays.apply(update);
        match update {
            Update::SetLeg(id, leg) => match &leg.protection {
                Protection::Srtp { ingress, egress } => {
                    let same = |peer: &Peer| peer.ingress == *ingress && peer.egress == *egress;
                    if !self.peers.get(id).is_some_and(same) {
                        self.peers.insert(*id, Peer::new(ingress, egress));
                    }
                }
                _ => drop(self.peers.remove(id)),
            },
            Update::RemoveLeg(id) => drop(self.peers.remove(id)),
            _ => {}
        }
    }

    /// The bytes on the wire of a peer's datagram; only an encrypted one can be tampered with.
    pub fn on_the_wire(&mut self, send: &Send) -> Vec<u8> {
        let mut bytes = self.seal(send.path, &send.bytes);
        if let (true, Some(last)) = (send.tampered && bytes != send.bytes, bytes.last_mut()) {
            *last ^= 1;
        }
        bytes
    }

    fn seal(&mut self, path: Path, plain: &[u8]) -> Vec<u8> {
        let peer = match self.relays.ingress_protection(path.local) {
            Some(key) => Some(party(&mut self.parties, key)),
            None => {
                let leg = self.legs.of_arrival(path, plain);
                leg.and_then(|leg| self.peers.get_mut(&leg))
            }
        };
        let Some(peer) = peer else {
            return plain.to_vec();
        };
        match (wire::classify(plain), RtpPacket::parse_protected(plain)) {
            (PacketKind::Rtp, Ok(packet)) => peer.seal_rtp(plain, packet.header_len()),
            (PacketKind::Rtcp, _) if plain.len() >= 8 => peer.seal_rtcp(plain),
            _ => plain.to_vec(),
        }
    }

    /// A datagram as decrypted by the peer at `path`.
    ///
    /// Errors: those of its SRTP, for a leg with keys.
    pub fn open(&mut self, path: Path, bytes: &[u8]) -> Result<Opened, OpenError> {
        let leg = self.legs.of_departure(path, bytes);
        if let Some(peer) = leg.and_then(|leg| self.peers.get_mut(&leg)) {
            return peer.open(bytes);
        }
        let rtcp = wire::classify(bytes) == PacketKind::Rtcp;
        let mut opened = Ok(Opened::in_clear(bytes));
        for protection in self.relays.egress_protection(path, rtcp) {
            opened = match protection {
                RelayProtection::Srtp(key) => party(&mut self.parties, key).open(bytes),
                RelayProtection::Clear | RelayProtection::Pending => return Ok(Opened::in_clear(bytes)),
            };
            if opened.is_ok() {
                break;
            }
        }
        opened
    }
}

/// The party that this key is one direction's of.
fn party<'a>(parties: &'a mut BTreeMap<Vec<u8>, Peer>, key: &MasterKey) -> &'a mut Peer {
    parties.entry(key.key().to_vec()).or_insert_with(|| Peer::new(key, key))
}

impl Peer {
    fn open(&mut self, bytes: &[u8]) -> Result<Opened, OpenError> {
        let mut opened = bytes.to_vec();
        let (len, rtcp, ssrc_at, index) = match wire::classify(bytes) {
            PacketKind::Rtp => {
                let packet = RtpPacket::parse_protected(bytes).map_err(|_| OpenError::Malformed)?;
                let done = self.opener.open_rtp(&mut opened, packet.header_len())?;
                let highest = self.opened.entry(packet.ssrc().0).or_default();
                *highest = done.index.max(*highest);
                (done.len, false, 8, done.index)
            }
            PacketKind::Rtcp => {
                let len = self.opener.open_rtcp(&mut opened)?;
                (len, true, 4, srtcp_index(self.egress.profile(), bytes))
            }
            _ => {
                return Ok(Opened {
                    bytes: opened,
                    keystream: None,
                });
            }
        };
        opened.truncate(len);
        let ssrc = bytes[ssrc_at..ssrc_at + 4].try_into().expect("four bytes");
        let keystream = Keystream {
            key: self.egress.key().to_vec(),
            rtcp,
            ssrc: u32::from_be_bytes(ssrc),
            index,
        };
        Ok(Opened {
            bytes: opened,
            keystream: Some(keystream),
        })
    }
}

/// The index of an SRTCP packet that opened.
fn srtcp_index(profile: SrtpProfile, bytes: &[u8]) -> u64 {
    let behind = match profile {
        // RFC 7714 section 9.1: the tag precedes the word.
        SrtpProfile::AeadAes128Gcm | SrtpProfile::AeadAes256Gcm => 0,
        // RFC 3711 section 3.4: the tag follows the word.
        _ => profile.rtcp_tag_len(),
    };
    let word = bytes[..bytes.len() - behind].last_chunk().expect("it opened");
    u64::from(u32::from_be_bytes(*word) & 0x7fff_ffff)
}
