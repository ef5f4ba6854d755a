use backend_udp::srtp::{Opener, Sealer, rtcp_overhead};
use dataplane::{MasterKey, SrtpProfile};
use dimpl::KeyingMaterial;

use super::error::TransportError;

/// Both directions of a transport's media protection.
pub(crate) struct Srtp {
    /// The negotiated profile.
    pub profile: SrtpProfile,
    /// For sent packets.
    pub sealer: Sealer,
    /// For received packets.
    pub opener: Opener,
}

impl Srtp {
    /// Keys for both directions, RFC 5764 section 4.2: client key, server key, client salt, server
    /// salt.
    pub(crate) fn new(
        material: &KeyingMaterial,
        profile: dimpl::SrtpProfile,
        client: bool,
    ) -> Result<Self, TransportError> {
        let ours = match profile {
            dimpl::SrtpProfile::AEAD_AES_128_GCM => SrtpProfile::AeadAes128Gcm,
            dimpl::SrtpProfile::AEAD_AES_256_GCM => SrtpProfile::AeadAes256Gcm,
            dimpl::SrtpProfile::AES128_CM_SHA1_80 => SrtpProfile::AesCm128HmacSha1_80,
            other => return Err(TransportError::Profile(other)),
        };
        let (keys, salts) = material.split_at(2 * ours.key_len());
        let (client_key, server_key) = keys.split_at(ours.key_len());
        let (client_salt, server_salt) = salts.split_at(ours.salt_len());
        let master = |key, salt| MasterKey::new(ours, key, salt).ok_or(TransportError::Profile(profile));
        let (from_client, from_server) = (master(client_key, client_salt)?, master(server_key, server_salt)?);
        let (send, receive) = if client {
            (from_client, from_server)
        } else {
            (from_server, from_client)
        };
        Ok(Self {
            profile: ours,
            sealer: Sealer::new(&send),
            opener: Opener::new(&receive),
        })
    }
}

/// Protects a compound RTCP packet in place, and returns it in its wire form; `None` if it is none.
pub fn seal_rtcp<'a>(sealer: &mut Sealer, profile: SrtpProfile, packet: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    let len = packet.len();
    packet.resize(len + rtcp_overhead(profile), 0);
    let sealed = sealer.seal_rtcp(packet, len).ok()?;
    Some(&packet[..sealed])
}

/// The length of an RTP header with its extension, read before the packet is decrypted.
pub(crate) fn header_len(packet: &[u8]) -> Option<usize> {
    let fixed = 12 + 4 * usize::from(packet.first()? & 0x0f);
    if packet[0] & 0x10 == 0 {
        return (packet.len() >= fixed).then_some(fixed);
    }
    let words = packet.get(fixed + 2..fixed + 4)?;
    let len = fixed + 4 + 4 * usize::from(u16::from_be_bytes([words[0], words[1]]));
    (packet.len() >= len).then_some(len)
}
