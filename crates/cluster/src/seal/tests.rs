//! Parts are opened as they were sealed, and nothing else is.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::limits::SEAL_KEYS_MAX;

const ONE: &str = "q9vK1p3Qm0T4cJ0yq1m3Qe5d7XoZVh2mB8u9sGfLr2A=";
const TWO: &str = "5f2c1a9be07d43688c11f0d2a4b6e79835cb20fd618e4a97b3c5d1e0f2a48697";

fn sealer(keys: &str, seed: u8) -> Sealer {
    Sealer::new(SealKeys::parse(keys).expect("keys"), Random::new([seed; 32]))
}

fn error(keys: &str) -> SealKeysError {
    SealKeys::parse(keys).expect_err("no keys")
}

proptest! {
    #[test]
    fn a_part_is_opened_as_it_was_sealed(room in ".{0,20}", part in ".{0,20}", content: Vec<u8>) {
        let mut sealer = sealer(ONE, 1);
        let blob = sealer.seal(&room, &part, &content).unwrap();
        prop_assert_eq!(blob.len(), content.len() + SEAL_COST);
        prop_assert_eq!(&**sealer.open(&room, &part, &blob).unwrap(), &content);
    }

    #[test]
    fn a_changed_blob_is_refused(content: Vec<u8>, at: prop::sample::Index, bit in 0..8_u32) {
        let mut sealer = sealer(ONE, 1);
        let mut blob = sealer.seal("lobby", "ada", &content).unwrap();
        let at = at.index(blob.len());
        blob[at] ^= 1 << bit;
        let expected = match at {
            0 => OpenError::Version(blob[0]),
            1..=8 => OpenError::UnknownKey,
            _ => OpenError::Altered,
        };
        prop_assert_eq!(sealer.open("lobby", "ada", &blob), Err(expected));
    }

    #[test]
    fn a_part_opens_under_its_own_names_only(names: [String; 2], others: [String; 2]) {
        let mut sealer = sealer(ONE, 1);
        let blob = sealer.seal(&names[0], &names[1], b"secret").unwrap();
        let opened = sealer.open(&others[0], &others[1], &blob);
        prop_assert_eq!(opened.is_ok(), names == others);
    }

    #[test]
    fn any_bytes_and_any_texts_are_taken(blob: Vec<u8>, text: String) {
        let _ = sealer(ONE, 1).open("lobby", "ada", &blob);
        let _ = SealKeys::parse(&text);
    }
}

#[test]
fn names_that_run_together_are_apart() {
    let mut sealer = sealer(ONE, 1);
    let blob = sealer.seal("ab", "c", b"secret").unwrap();
    assert_eq!(sealer.open("a", "bc", &blob), Err(OpenError::Altered));
    assert_eq!(sealer.open("c", "ab", &blob), Err(OpenError::Altered));
}

#[test]
fn a_blob_is_cut_nowhere_and_has_nothing_behind_it() {
    let mut sealer = sealer(ONE, 1);
    let mut blob = sealer.seal("lobby", "ada", b"secret").unwrap();
    for len in 0..blob.len() {
        let expected = match len {
            0..SEAL_COST => OpenError::Truncated,
            _ => OpenError::Altered,
        };
        assert_eq!(sealer.open("lobby", "ada", &blob[..len]), Err(expected), "{len}");
    }
    blob.push(0);
    assert_eq!(sealer.open("lobby", "ada", &blob), Err(OpenError::Altered));
}

#[test]
fn the_first_key_seals_and_all_open() {
    let before = sealer(ONE, 1).seal("lobby", "ada", b"secret").unwrap();
    let mut both = sealer(&format!("{TWO}\n{ONE}"), 2);
    assert_eq!(&**both.open("lobby", "ada", &before).unwrap(), b"secret");
    let after = both.seal("lobby", "ada", b"secret").unwrap();
    assert_eq!(sealer(ONE, 3).open("lobby", "ada", &after), Err(OpenError::UnknownKey));
    assert!(sealer(TWO, 3).open("lobby", "ada", &after).is_ok());
}

#[test]
fn a_part_is_as_long_as_nodes_keep_and_no_longer() {
    let mut sealer = sealer(ONE, 1);
    let longest = vec![0; PART_LEN_MAX - SEAL_COST];
    let mut blob = sealer.seal("lobby", "ada", &longest).unwrap();
    assert_eq!(blob.len(), PART_LEN_MAX);
    assert!(sealer.open("lobby", "ada", &blob).is_ok());
    blob.push(0);
    assert_eq!(sealer.open("lobby", "ada", &blob), Err(OpenError::Long));
    let long = vec![0; longest.len() + 1];
    assert_eq!(sealer.seal("lobby", "ada", &long), Err(LongContent(long.len())));
}

#[test]
fn no_nonce_comes_twice_when_the_counter_ends_or_a_process_begins() {
    let mut sealer = sealer(ONE, 1);
    sealer.sealed = u32::MAX - 1;
    let mut other = self::sealer(ONE, 2);
    let mut nonces = BTreeSet::new();
    for _ in 0..4 {
        nonces.insert(sealer.next_nonce());
        nonces.insert(other.next_nonce());
    }
    assert_eq!(nonces.len(), 8);
    let prefixes: BTreeSet<&[u8]> = nonces.iter().map(|nonce| &nonce[..PREFIX_LEN]).collect();
    assert_eq!(prefixes.len(), 3, "the counter has ended once");
}

/// The bytes of another implementation: Python's `cryptography`.
#[test]
fn a_blob_of_another_implementation_is_opened() {
    const BLOB: &str =
        "01e14f19846a35bd23000102030405060708090a0b2fa0e97485e73f7b604c2bf9b7bf83a4fe84c40bcbef117a38e5d485e618d44d";
    let blob: Vec<u8> = (0..BLOB.len() / 2)
        .map(|at| u8::from_str_radix(&BLOB[2 * at..2 * at + 2], 16).unwrap())
        .collect();
    let content = sealer(TWO, 1).open("lobby", "participant/ada", &blob).unwrap();
    assert_eq!(&**content, b"negotiated state");
}

#[test]
fn a_file_of_keys_has_comments_and_empty_lines() {
    let text = format!(
        "# The cluster of example.com\r\n\r\n  {TWO}  # since spring\r\n{}\n",
        ONE.trim_end_matches('=')
    );
    let blob = sealer(ONE, 1).seal("lobby", "ada", b"secret").unwrap();
    assert!(sealer(&text, 2).open("lobby", "ada", &blob).is_ok());
    let upper = sealer(&TWO.to_uppercase(), 3).seal("lobby", "ada", b"secret").unwrap();
    assert!(sealer(&text, 2).open("lobby", "ada", &upper).is_ok());
}

#[test]
fn a_file_without_usable_keys_is_refused_by_its_line() {
    assert_eq!(error(""), SealKeysError::Empty);
    assert_eq!(error("# none\n\n"), SealKeysError::Empty);
    let short = "q9vK1p3Qm0T4cJ0yq1m3Qe5d7XoZVh2mB8u9sGfLrw==";
    let long = "q9vK1p3Qm0T4cJ0yq1m3Qe5d7XoZVh2mB8u9sGfLr2AA";
    for text in [
        short,
        long,
        &TWO[1..],
        &format!("{TWO}00"),
        &format!("g{}", &TWO[1..]),
        "secret",
        "key: x",
        "\u{feff}",
    ] {
        assert_eq!(error(&format!("{ONE}\n{text}")), SealKeysError::Form(2), "{text}");
    }
    assert_eq!(error(&format!("{ONE}\n\n{ONE}")), SealKeysError::Repeated(3));
    assert_eq!(error(&"0".repeat(64)), SealKeysError::Weak(1));
    assert_eq!(error(&"0123456789abcdef".repeat(4)), SealKeysError::Weak(1));
    let keys: Vec<String> = (0..=SEAL_KEYS_MAX)
        .map(|key| format!("{key:02x}{}", &TWO[2..]))
        .collect();
    assert!(SealKeys::parse(&keys[1..].join("\n")).is_ok());
    assert_eq!(error(&keys.join("\n")), SealKeysError::TooMany);
}

#[test]
fn nothing_of_a_key_is_shown() {
    let keys = format!("{ONE}\n{TWO}");
    let shown = format!("{:?} {:?}", SealKeys::parse(&keys).unwrap(), sealer(&keys, 1));
    assert_eq!(shown, "SealKeys Sealer");
    let message = error(&format!("{ONE}x")).to_string();
    assert!(message.contains("line 1") && !message.contains("q9vK"), "{message}");
}

#[test]
fn keys_are_replaced_while_a_sealer_runs() {
    let keys = SharedSealKeys::from(SealKeys::parse(ONE).unwrap());
    let mut sealer = Sealer::new(keys.clone(), Random::new([1; 32]));
    let before = sealer.seal("room", "part", b"before").unwrap();
    assert!(!keys.replace(SealKeys::parse(&format!("# again\n{ONE}")).unwrap()));
    assert!(keys.replace(SealKeys::parse(&format!("{TWO}\n{ONE}")).unwrap()));
    let after = sealer.seal("room", "part", b"after").unwrap();
    assert_eq!(*sealer.open("room", "part", &before).unwrap(), *b"before");
    assert_eq!(*sealer.open("room", "part", &after).unwrap(), *b"after");

    assert!(
        keys.replace(SealKeys::parse(&format!("{ONE}\n{TWO}")).unwrap()),
        "the order counts"
    );
    assert!(keys.replace(SealKeys::parse(ONE).unwrap()));
    assert_eq!(sealer.open("room", "part", &after), Err(OpenError::UnknownKey));
    let nonce = |blob: &[u8]| blob[1 + KEY_ID_LEN..HEADER_LEN].to_vec();
    let again = sealer.seal("room", "part", b"before").unwrap();
    assert_ne!(nonce(&again), nonce(&before), "the first key has been there before");
}
