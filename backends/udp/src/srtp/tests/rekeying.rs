//! Another key in the middle of a stream.

use super::*;

/// RFC 3711 section 3.3.1 lets indexes count on, RFC 4568 section 7.1.4 begins anew for a sender
/// that has moved. Senders do either.
#[test]
fn indexes_under_another_key_count_on_or_begin_anew() {
    for profile in PROFILES {
        let mut leg = Leg::new(profile);
        for index in [65_000, 90_000, 120_000, 150_000, 180_000] {
            for ssrc in [1, 2] {
                assert_eq!(leg.pass(ssrc, index), Ok(index));
            }
        }
        for seed in [8, 9] {
            let other = master(profile, seed);
            let mut opener = Opener::new(&other);
            opener.follow(&leg.opener);
            (leg.sealer, leg.opener) = (Sealer::new(&other), opener);
            let silent = if seed == 8 { 3 } else { 1 };
            assert_eq!(leg.pass(silent, 40_000), Ok(40_000), "{profile:?} a new stream");
            assert_eq!(leg.pass(2, 180_001), Ok(180_001), "{profile:?} counts on");
        }
        assert_eq!(
            leg.pass(1, 180_002),
            Err(OpenError::Authentication),
            "{profile:?} it began anew"
        );
    }
}

#[test]
fn a_replay_under_the_last_key_is_refused() {
    let profile = SrtpProfile::AesCm128HmacSha1_80;
    let mut leg = Leg::new(profile);
    let old = leg.seal(1, 70_000);
    assert_eq!(leg.open(&old), Ok(70_000));
    let other = master(profile, 8);
    let mut opener = Opener::new(&other);
    opener.follow(&leg.opener);
    (leg.sealer, leg.opener) = (Sealer::new(&other), opener);
    assert_eq!(leg.open(&old), Err(OpenError::Authentication));
    let new = leg.seal(1, 70_001);
    assert_eq!(leg.open(&new), Ok(70_001));
    assert_eq!(leg.open(&new), Err(OpenError::Replayed));
}
