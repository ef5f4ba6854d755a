//! Parts of rooms as nodes give them back, and files of keys as operators write them.

use cluster::seal::{SealKeys, Sealer};
use environment::Random;

const KEY: &str = "5f2c1a9be07d43688c11f0d2a4b6e79835cb20fd618e4a97b3c5d1e0f2a48697";
const ROOM: &str = "lobby";
const PART: &str = "PA_1";

fn sealer() -> Sealer {
    Sealer::new(SealKeys::parse(KEY).expect("a key"), Random::new([0; 32]))
}

/// A part that is opened is the one that was sealed, and a text with keys makes a sealer that
/// works.
pub fn sealed(data: &[u8]) {
    if let Ok(content) = sealer().open(ROOM, PART, data) {
        assert_eq!(sealer().seal(ROOM, PART, &content).as_deref(), Ok(data));
    }
    let Some(keys) = str::from_utf8(data).ok().and_then(|text| SealKeys::parse(text).ok()) else {
        return;
    };
    let mut sealer = Sealer::new(keys, Random::new([0; 32]));
    let blob = sealer.seal(ROOM, PART, data).expect("short");
    assert_eq!(sealer.open(ROOM, PART, &blob).expect("sealed here").as_slice(), data);
}

/// A sealed part, and files of keys in both forms.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let base64 = "# The cluster\nq9vK1p3Qm0T4cJ0yq1m3Qe5d7XoZVh2mB8u9sGfLr2A=\n";
    let sealed = sealer().seal(ROOM, PART, b"negotiated state").expect("short");
    vec![sealed, base64.into(), format!("{base64}\n{KEY} # old\n").into()]
}
