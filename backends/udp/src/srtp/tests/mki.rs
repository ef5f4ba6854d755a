//! Keys that packets name by identifiers (MKI).

use super::*;

#[test]
fn a_packet_under_another_key_identifier_is_refused() {
    let parameters = SessionParameters {
        mki: Mki::new(5, 2),
        ..SessionParameters::default()
    };
    for profile in PROFILES {
        let mut leg = Leg::new(profile);
        leg.opener = Opener::new(&master(profile, 7).with_parameters(parameters));
        let sealed = leg.seal(1, 100);
        let tag = if profile.is_aead() { 0 } else { profile.rtp_tag_len() };
        let with = |mki: &[u8]| {
            let (body, tag) = sealed.split_at(sealed.len() - tag);
            [body, mki, tag].concat()
        };
        assert_eq!(leg.open(&with(&[0, 6])), Err(OpenError::Authentication));
        assert!(leg.open(&sealed).is_err(), "{profile:?} without any");
        assert_eq!(leg.open(&with(&[0, 5])), Ok(100), "{profile:?}");
        for len in 0..20 {
            assert!(leg.open(&with(&[0, 5])[..len]).is_err());
        }
    }
}

/// RFC 3711 section 8.1: a sender changes from one key to another, and its packet index goes on.
#[test]
fn packets_name_one_of_several_keys_and_indexes_continue() {
    let named = |value| SessionParameters {
        mki: Mki::new(value, 1),
        ..SessionParameters::default()
    };
    for profile in PROFILES {
        let mut leg = Leg::new(profile);
        let masters = [(7, 1), (8, 2)].map(|(seed, value)| master(profile, seed).with_parameters(named(value)));
        let [first, second] = &masters;
        leg.opener = Opener::new(&first.clone().with_others(vec![second.clone()]));
        let mut sealers = masters.each_ref().map(Sealer::new);
        let tag = if profile.is_aead() { 0 } else { profile.rtp_tag_len() };
        let mut sealed = |key: usize, mki: u8, index: u64| {
            let sealed = seal_rtp(profile, &mut sealers[key], &rtp(1, index, b"payload"), 12, index);
            let (body, tag) = sealed.split_at(sealed.len() - tag);
            [body, &[mki], tag].concat()
        };
        let late = sealed(0, 1, 70_001);
        assert_eq!(leg.open(&sealed(0, 1, 65_535)), Ok(65_535), "{profile:?}");
        assert_eq!(leg.open(&sealed(0, 1, 70_000)), Ok(70_000));
        assert_eq!(leg.open(&sealed(1, 2, 70_002)), Ok(70_002));
        assert_eq!(leg.open(&late), Ok(70_001));
        assert_eq!(leg.open(&sealed(1, 2, 70_001)), Err(OpenError::Replayed));
        assert_eq!(leg.open(&sealed(1, 1, 70_003)), Err(OpenError::Authentication));
        assert_eq!(leg.open(&sealed(1, 3, 70_003)), Err(OpenError::Authentication));
    }
}
