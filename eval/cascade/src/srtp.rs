//! Keys of direct transports, and the protection of what the peers of nodes send.

use backend_udp::srtp::{Opener, Sealer, rtcp_overhead, rtp_overhead};
use dataplane::SrtpProfile;
use southbound::DirectKeys;
use wire::RtpPacket;
use wire::srtp::MasterKey;

const PROFILE: SrtpProfile = SrtpProfile::AeadAes256Gcm;

/// Bytes that protection adds to a media packet.
pub(crate) fn overhead() -> usize {
    rtp_overhead(PROFILE)
}

/// Hands out keys, each once.
#[derive(Default)]
pub(crate) struct KeyRing(u64);

impl KeyRing {
    /// The keys of the two directions between two peers, as the first of them uses them.
    pub(crate) fn pair(&mut self) -> DirectKeys {
        DirectKeys {
            ingress: self.next(),
            egress: self.next(),
        }
    }

    fn next(&mut self) -> MasterKey {
        self.0 += 1;
        let number = self.0.to_be_bytes();
        MasterKey::new(PROFILE, &number.repeat(4), &[number, number].concat()[..12]).expect("lengths are the profile's")
    }
}

/// The same keys as the other peer uses them.
pub(crate) fn reversed(keys: &DirectKeys) -> DirectKeys {
    DirectKeys {
        ingress: keys.egress.clone(),
        egress: keys.ingress.clone(),
    }
}

/// Both directions at a peer of a node.
pub(crate) struct Protection {
    sealer: Sealer,
    opener: Opener,
}

impl Protection {
    pub(crate) fn new(keys: &DirectKeys) -> Self {
        Protection {
            sealer: Sealer::new(&keys.egress),
            opener: Opener::new(&keys.ingress),
        }
    }

    /// Protects a media packet with this index.
    pub(crate) fn seal_rtp(&mut self, packet: &mut Vec<u8>, index: u64) {
        let (clear, header) = (
            packet.len(),
            RtpPacket::parse(packet).expect("it is a packet").header_len(),
        );
        packet.resize(clear + overhead(), 0);
        let sealed = self.sealer.seal_rtp(packet, clear, header, index);
        packet.truncate(sealed);
    }

    /// Protects a compound of RTCP.
    pub(crate) fn seal_rtcp(&mut self, compound: &mut Vec<u8>) {
        let clear = compound.len();
        compound.resize(clear + rtcp_overhead(PROFILE), 0);
        let sealed = self.sealer.seal_rtcp(compound, clear);
        compound.truncate(sealed.expect("a run is short"));
    }

    /// Opens a media packet in place, if it is good.
    pub(crate) fn open_rtp<'a>(&mut self, bytes: &'a mut [u8]) -> Option<RtpPacket<'a>> {
        let header = RtpPacket::parse_protected(bytes).ok()?.header_len();
        let opened = self.opener.open_rtp(bytes, header).ok()?;
        RtpPacket::parse(&bytes[..opened.len]).ok()
    }

    /// Opens a compound in place, if it is good.
    pub(crate) fn open_rtcp<'a>(&mut self, bytes: &'a mut [u8]) -> Option<&'a [u8]> {
        let len = self.opener.open_rtcp(bytes).ok()?;
        Some(&bytes[..len])
    }
}
