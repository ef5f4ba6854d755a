//! Protected packets, from a sender with an address but without the keys, and from one that
//! replays.

use backend_udp::srtp::{Opener, Sealer};
use dataplane::{MasterKey, SrtpProfile};
use wire::RtpPacket;

const PROFILES: [SrtpProfile; 12] = [
    SrtpProfile::AeadAes128Gcm,
    SrtpProfile::AeadAes256Gcm,
    SrtpProfile::AesCm128HmacSha1_80,
    SrtpProfile::AesCm128HmacSha1_32,
    SrtpProfile::AesCm192HmacSha1_80,
    SrtpProfile::AesCm192HmacSha1_32,
    SrtpProfile::AesCm256HmacSha1_80,
    SrtpProfile::AesCm256HmacSha1_32,
    SrtpProfile::F8_128HmacSha1_80,
    SrtpProfile::F8_128HmacSha1_32,
    SrtpProfile::NullHmacSha1_80,
    SrtpProfile::NullHmacSha1_32,
];

fn key(profile: SrtpProfile) -> MasterKey {
    MasterKey::new(profile, &[7; 32][..profile.key_len()], &[9; 14][..profile.salt_len()])
        .expect("the profile's lengths")
}

/// Only an encrypted packet decrypts, and only once.
pub fn srtp(data: &[u8]) {
    for profile in PROFILES {
        let (mut sealer, mut opener) = (Sealer::new(&key(profile)), Opener::new(&key(profile)));
        if let Ok(packet) = RtpPacket::parse(data) {
            let (header_len, index) = (packet.header_len(), u64::from(packet.sequence().0));
            let mut sealed = data.to_vec();
            sealed.resize(data.len() + 32, 0);
            let len = sealer.seal_rtp(&mut sealed, data.len(), header_len, index);
            sealed.truncate(len);
            let mut again = sealed.clone();
            let opened = opener.open_rtp(&mut sealed, header_len).expect("a sealed packet opens");
            assert_eq!(&sealed[..opened.len], data);
            opener
                .open_rtp(&mut again, header_len)
                .expect_err("a replay does not open");
        }
        // With the stream known, and any split between header and payload a caller might work out.
        for header_len in [0, 12, data.len() / 2, data.len(), data.len() + 1] {
            opener.open_rtp(&mut data.to_vec(), header_len).expect_err("forged");
        }
        opener.open_rtcp(&mut data.to_vec()).expect_err("forged");
    }
}
