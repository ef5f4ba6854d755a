//! The properties of sealer and opener together: round trips, tampering, replay, order, limits, and
//! agreement with libsrtp.

mod mki;
mod rekeying;

use dataplane::{MasterKey, Mki, SessionParameters, SrtpProfile};
use proptest::prelude::*;
use rand::{Rng, RngCore, SeedableRng, rngs::StdRng};

use super::{Exhausted, OpenError, Opened, Opener, Sealer, rtcp_overhead, rtp_overhead};

pub(super) const PROFILES: [SrtpProfile; 12] = [
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

pub(super) fn unhex(text: &str) -> Vec<u8> {
    let nibbles: Vec<u8> = text
        .chars()
        .map(|c| c.to_digit(16).expect("hexadecimal") as u8)
        .collect();
    nibbles.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

pub(super) fn master(profile: SrtpProfile, seed: u8) -> MasterKey {
    MasterKey::new(
        profile,
        &vec![seed; profile.key_len()],
        &vec![seed ^ 0x55; profile.salt_len()],
    )
    .unwrap()
}

/// One leg as its two ends see it.
struct Leg {
    profile: SrtpProfile,
    sealer: Sealer,
    opener: Opener,
}

impl Leg {
    fn new(profile: SrtpProfile) -> Self {
        let master = master(profile, 7);
        Self {
            profile,
            sealer: Sealer::new(&master),
            opener: Opener::new(&master),
        }
    }

    fn seal(&mut self, ssrc: u32, index: u64) -> Vec<u8> {
        seal_rtp(self.profile, &mut self.sealer, &rtp(ssrc, index, b"payload"), 12, index)
    }

    fn open(&mut self, sealed: &[u8]) -> Result<u64, OpenError> {
        self.opener
            .open_rtp(&mut sealed.to_vec(), 12)
            .map(|opened| opened.index)
    }

    /// Seals and opens a packet that arrives.
    fn pass(&mut self, ssrc: u32, index: u64) -> Result<u64, OpenError> {
        let sealed = self.seal(ssrc, index);
        self.open(&sealed)
    }
}

fn rtp(ssrc: u32, index: u64, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x80, 96, (index >> 8) as u8, index as u8, 0, 0, 0, 1];
    packet.extend_from_slice(&ssrc.to_be_bytes());
    packet.extend_from_slice(payload);
    packet
}

fn rtcp(ssrc: u32, reports: usize) -> Vec<u8> {
    let mut packet = vec![0x80, 201, 0, 1];
    packet.extend_from_slice(&ssrc.to_be_bytes());
    packet.resize(8 + 4 * reports, 0xab);
    packet
}

fn seal_rtp(profile: SrtpProfile, sealer: &mut Sealer, plain: &[u8], header_len: usize, index: u64) -> Vec<u8> {
    let mut packet = plain.to_vec();
    packet.resize(plain.len() + rtp_overhead(profile), 0);
    let len = sealer.seal_rtp(&mut packet, plain.len(), header_len, index);
    packet.truncate(len);
    packet
}

fn seal_rtcp(profile: SrtpProfile, sealer: &mut Sealer, plain: &[u8]) -> Result<Vec<u8>, Exhausted> {
    let mut packet = plain.to_vec();
    packet.resize(plain.len() + rtcp_overhead(profile), 0);
    let len = sealer.seal_rtcp(&mut packet, plain.len())?;
    assert_eq!(len, packet.len());
    Ok(packet)
}

proptest! {
    #[test]
    fn protected_rtp_opens_to_the_same(
        profile in prop::sample::select(&PROFILES[..]),
        ssrc: u32,
        sequence: u16,
        header_words in 0_usize..20,
        payload in prop::collection::vec(any::<u8>(), 0..1_400),
    ) {
        let mut leg = Leg::new(profile);
        let mut plain = rtp(ssrc, sequence.into(), &vec![3; 4 * header_words]);
        let header_len = plain.len();
        plain.extend_from_slice(&payload);
        let mut sealed = seal_rtp(profile, &mut leg.sealer, &plain, header_len, sequence.into());
        prop_assert_eq!(&sealed[..header_len], &plain[..header_len]);
        let opened = leg.opener.open_rtp(&mut sealed, header_len);
        prop_assert_eq!(opened, Ok(Opened { len: plain.len(), index: sequence.into() }));
        prop_assert_eq!(&sealed[..plain.len()], &plain[..]);
    }

    #[test]
    fn protected_rtcp_opens_to_the_same(
        profile in prop::sample::select(&PROFILES[..]),
        ssrc: u32,
        reports in 0_usize..300,
        next in 0_u32..1 << 31,
    ) {
        let mut sealer = Sealer::resume(&master(profile, 7), next);
        let mut opener = Opener::new(&master(profile, 7));
        let plain = rtcp(ssrc, reports);
        let mut sealed = seal_rtcp(profile, &mut sealer, &plain).unwrap();
        prop_assert_eq!(opener.open_rtcp(&mut sealed), Ok(plain.len()));
        prop_assert_eq!(&sealed[..plain.len()], &plain[..]);
    }

    /// Each packet opens once under its own index, with any loss and any delay up to the window.
    #[test]
    fn loss_and_reordering_over_a_wrap_keep_indexes_right(
        start in 64_000_u64..65_536,
        lost in prop::collection::hash_set(0_u64..3_000, 0..1_500),
        swaps in prop::collection::vec((0_usize..3_000, 1_usize..900), 0..40),
    ) {
        let mut leg = Leg::new(SrtpProfile::AeadAes128Gcm);
        leg.pass(1, start - 1).unwrap();
        let mut order: Vec<u64> = (0..3_000).filter(|n| !lost.contains(n)).map(|n| start + n).collect();
        for (from, late_by) in swaps {
            if from < order.len() {
                let packet = order.remove(from);
                order.insert((from + late_by).min(order.len()), packet);
            }
        }
        let mut highest = start - 1;
        for index in order {
            let sealed = leg.seal(1, index);
            if highest >= index + 1_024 {
                prop_assert_eq!(leg.open(&sealed), Err(OpenError::TooOld));
            } else {
                prop_assert_eq!(leg.open(&sealed), Ok(index));
                prop_assert_eq!(leg.open(&sealed), Err(OpenError::Replayed));
            }
            highest = highest.max(index);
        }
    }
}

#[test]
fn a_change_of_any_byte_is_noticed() {
    for profile in PROFILES {
        let mut leg = Leg::new(profile);
        assert_eq!(leg.pass(1, 100), Ok(100));
        let sealed = leg.seal(1, 101);
        for at in 0..sealed.len() {
            let mut bent = sealed.clone();
            bent[at] ^= 1;
            assert!(leg.open(&bent).is_err(), "{profile:?} byte {at}");
        }
        assert_eq!(leg.open(&sealed), Ok(101), "refused packets leave no trace");

        let sealed = seal_rtcp(profile, &mut leg.sealer, &rtcp(1, 4)).unwrap();
        for at in 0..sealed.len() {
            let mut bent = sealed.clone();
            bent[at] ^= 1;
            assert!(leg.opener.open_rtcp(&mut bent).is_err(), "{profile:?} RTCP byte {at}");
        }
        assert!(leg.opener.open_rtcp(&mut sealed.clone()).is_ok());
    }
}

#[test]
fn every_truncation_is_refused() {
    for profile in PROFILES {
        let mut leg = Leg::new(profile);
        let sealed = leg.seal(1, 100);
        for len in 0..sealed.len() {
            assert!(leg.open(&sealed[..len]).is_err());
        }
        let sealed = seal_rtcp(profile, &mut leg.sealer, &rtcp(1, 4)).unwrap();
        for len in 0..sealed.len() {
            assert!(leg.opener.open_rtcp(&mut sealed[..len].to_vec()).is_err());
        }
    }
}

#[test]
fn rtcp_is_taken_once_per_sender_and_index() {
    for profile in PROFILES {
        let mut leg = Leg::new(profile);
        let first = seal_rtcp(profile, &mut leg.sealer, &rtcp(1, 2)).unwrap();
        let second = seal_rtcp(profile, &mut leg.sealer, &rtcp(1, 2)).unwrap();
        assert!(leg.opener.open_rtcp(&mut second.clone()).is_ok());
        assert!(leg.opener.open_rtcp(&mut first.clone()).is_ok(), "late but new");
        assert_eq!(leg.opener.open_rtcp(&mut first.clone()), Err(OpenError::Replayed));

        let mut other = Sealer::new(&master(profile, 7));
        let same_index = seal_rtcp(profile, &mut other, &rtcp(2, 2)).unwrap();
        assert!(
            leg.opener.open_rtcp(&mut same_index.clone()).is_ok(),
            "another sender counts for itself"
        );
    }
}

#[test]
fn a_sealer_stops_when_its_rtcp_indexes_are_used_up() {
    let profile = SrtpProfile::AeadAes128Gcm;
    let mut sealer = Sealer::resume(&master(profile, 7), (1 << 31) - 1);
    assert!(seal_rtcp(profile, &mut sealer, &rtcp(1, 2)).is_ok());
    assert_eq!(seal_rtcp(profile, &mut sealer, &rtcp(1, 2)), Err(Exhausted));
    assert_eq!(sealer.next_rtcp_index(), 1 << 31);
}

#[test]
fn a_stream_may_start_on_either_side_of_the_wrap() {
    for profile in PROFILES {
        let mut leg = Leg::new(profile);
        assert_eq!(leg.pass(1, 65_535), Ok(65_535));
        assert_eq!(leg.pass(1, 65_536), Ok(65_536));
        assert_eq!(leg.pass(1, 65_534), Ok(65_534));

        assert_eq!(leg.pass(2, 65_537), Ok(65_537), "the packets before the wrap were lost");
        assert_eq!(leg.pass(2, 65_535), Ok(65_535), "or late");

        assert_eq!(leg.pass(3, 0), Ok(0));
        assert_eq!(leg.pass(3, 1), Ok(1));
    }
}

#[test]
fn strangers_create_no_streams() {
    for profile in PROFILES {
        let mut leg = Leg::new(profile);
        let mut stranger = Sealer::new(&master(profile, 8));
        for ssrc in 0..1_000 {
            let forged = seal_rtp(profile, &mut stranger, &rtp(ssrc, 5, b"x"), 12, 5);
            assert_eq!(leg.open(&forged), Err(OpenError::Authentication));
            let mut forged = seal_rtcp(profile, &mut stranger, &rtcp(ssrc, 2)).unwrap();
            assert_eq!(leg.opener.open_rtcp(&mut forged), Err(OpenError::Authentication));
        }
        assert_eq!(leg.pass(1, 5), Ok(5));
    }
}

#[test]
fn a_leg_has_a_bounded_number_of_streams() {
    let profile = SrtpProfile::AeadAes128Gcm;
    let mut leg = Leg::new(profile);
    for ssrc in 0..256 {
        assert_eq!(leg.pass(ssrc, 5), Ok(5));
        let mut report = seal_rtcp(profile, &mut leg.sealer, &rtcp(ssrc, 2)).unwrap();
        assert!(leg.opener.open_rtcp(&mut report).is_ok());
    }
    assert_eq!(leg.pass(256, 5), Err(OpenError::TooManyStreams));
    let mut report = seal_rtcp(profile, &mut leg.sealer, &rtcp(256, 2)).unwrap();
    assert_eq!(leg.opener.open_rtcp(&mut report), Err(OpenError::TooManyStreams));
    assert_eq!(leg.pass(255, 6), Ok(6), "known streams go on");
}

#[test]
fn libsrtp_protects_packets_as_we_do() {
    let mut leg = None;
    let mut checked = 0;
    for line in include_str!("vectors.txt").lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        match fields[..] {
            ["keys", name, key, salt, ref rest @ ..] => {
                let profile = *PROFILES
                    .iter()
                    .find(|profile| profile.name() == name)
                    .expect("a profile");
                let master = MasterKey::new(profile, &unhex(key), &unhex(salt)).expect("its lengths");
                let master = master.with_parameters(parameters(rest));
                leg = Some((profile, master.clone(), Opener::new(&master)));
            }
            [how @ ("rtp" | "open"), index, header_len, plain, sealed] => {
                let (profile, master, opener) = leg.as_mut().expect("keys come first");
                let (index, header_len) = (index.parse().unwrap(), header_len.parse().unwrap());
                let (plain, mut sealed) = (unhex(plain), unhex(sealed));
                if how == "rtp" {
                    assert_eq!(
                        seal_rtp(*profile, &mut Sealer::new(master), &plain, header_len, index),
                        sealed
                    );
                }
                assert_eq!(
                    opener.open_rtp(&mut sealed, header_len),
                    Ok(Opened {
                        len: plain.len(),
                        index
                    })
                );
                assert_eq!(sealed[..plain.len()], plain);
                checked += 1;
            }
            [how @ ("rtcp" | "open-rtcp"), index, plain, sealed] => {
                let (profile, master, opener) = leg.as_mut().expect("keys come first");
                let mut sealer = Sealer::resume(master, index.parse().unwrap());
                let (plain, mut sealed) = (unhex(plain), unhex(sealed));
                if how == "rtcp" {
                    assert_eq!(seal_rtcp(*profile, &mut sealer, &plain).unwrap(), sealed);
                }
                assert_eq!(opener.open_rtcp(&mut sealed), Ok(plain.len()));
                assert_eq!(sealed[..plain.len()], plain);
                checked += 1;
            }
            _ => assert!(line.is_empty() || line.starts_with('#'), "{line}"),
        }
    }
    assert_eq!(checked, 136);
}

/// The key parameters of a vector beside the profile.
fn parameters(words: &[&str]) -> SessionParameters {
    let mut parameters = SessionParameters::default();
    for word in words {
        match word.split_once('=') {
            None if *word == "unencrypted-rtp" => parameters.unencrypted_rtp = true,
            None if *word == "unencrypted-rtcp" => parameters.unencrypted_rtcp = true,
            None if *word == "unauthenticated-rtp" => parameters.unauthenticated_rtp = true,
            Some(("mki", mki)) => {
                let (value, len) = mki.split_once(':').expect("a value and a length");
                parameters.mki = Mki::new(value.parse().unwrap(), len.parse().unwrap());
            }
            _ => panic!("{word}"),
        }
    }
    parameters
}

/// Random bytes, half of them shaped like a packet of a stream we know: nothing panics, nothing
/// opens.
#[test]
fn noise_is_refused_without_a_panic() {
    let mut random = StdRng::seed_from_u64(1);
    for profile in PROFILES {
        let mut leg = Leg::new(profile);
        leg.pass(0, 1_000).unwrap();
        let mut buffer = [0; 200];
        for _ in 0..100_000 {
            let len = random.random_range(0..buffer.len());
            random.fill_bytes(&mut buffer[..len]);
            if random.random() && len >= 12 {
                buffer[0] = 0x80;
                buffer[4..12].fill(0);
            }
            let header_len = if random.random() {
                12
            } else {
                random.random_range(0..300)
            };
            let packet = &mut buffer[..len];
            assert!(leg.opener.open_rtp(&mut packet.to_vec(), header_len).is_err());
            assert!(leg.opener.open_rtcp(packet).is_err());
        }
        assert_eq!(
            leg.opener.open_rtp(&mut [0x80; 64], usize::MAX),
            Err(OpenError::Malformed)
        );
    }
}
