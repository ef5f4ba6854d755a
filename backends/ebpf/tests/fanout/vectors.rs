//! Every vector, on a base with the kernel in front of it: what the kernel takes, and what it leaves, must be what the model says.

use std::path::PathBuf;
use std::time::Instant;

use conformance::text::{Names, Vector, parse};
use conformance::vector::run;
use veth::pair_or_skip;

use crate::device::Cable;

fn vectors() -> Vec<(Vector, Names)> {
    vectors_as(|text| text)
}

/// All of them, changed.
fn vectors_as(change: impl Fn(String) -> String) -> Vec<(Vector, Names)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../verify/conformance/vectors");
    let entries = std::fs::read_dir(&folder).expect("there are vectors");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "vector"));
    files.sort();
    let read = |file: &PathBuf| {
        let name = file.file_name().expect("a file").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(file).expect("readable");
        parse(&name, &change(text)).unwrap_or_else(|problem| panic!("{problem}"))
    };
    files.iter().map(read).collect()
}

/// Vectors that say what the kernel does otherwise, and what that is.
const OTHERWISE: [(&str, &str); 5] = [
    ("csrcs.vector", "contributing sources stay where they are"),
    ("padding-stripped.vector", "padding behind a payload stays"),
    ("forwarding.vector", "arrivals are told only of packets that go up"),
    (
        "same-source-again.vector",
        "what leaves the kernel goes on in the base with a key frame",
    ),
    (
        "stream-removed.vector",
        "what came before the kernel had a stream it has not seen",
    ),
];

#[test]
fn the_kernel_and_its_base_keep_every_vector() {
    let Some(pair) = pair_or_skip(1) else { return };
    pair.near.run(|| {
        let cable = Cable::new(&pair);
        let mut failures = Vec::new();
        let (mut ran, mut concerned) = (0, 0);
        for (vector, names) in vectors().iter().filter(|(vector, _)| !vector.needs_virtual_time) {
            let start = Instant::now();
            let before = cable.taken.get();
            let result = run(vector, names, &mut *cable.device(false, start), start);
            ran += 1;
            concerned += u32::from(cable.taken.get() > before);
            match OTHERWISE.iter().find(|(file, _)| *file == vector.file) {
                Some((file, why)) => assert!(result.is_err(), "{file} is kept, in spite of this: {why}"),
                None => failures.extend(result.err()),
            }
        }
        let report: String = failures.iter().map(|failure| format!("{failure}\n")).collect();
        let (taken, copied) = (cable.taken.get(), cable.copied.get());
        println!("{ran} vectors, {concerned} of them with {taken} packets in the kernel, which made {copied} copies");
        assert!(
            failures.is_empty(),
            "{} of {ran} vectors failed\n\n{report}",
            failures.len()
        );
    });
}

/// Without retransmissions, what says how pictures are left out of VP8 is for the kernel to keep.
#[test]
fn the_kernel_leaves_pictures_of_vp8_out() {
    let Some(pair) = pair_or_skip(1) else { return };
    pair.near.run(|| {
        let cable = Cable::new(&pair);
        let plain = |text: String| text.replace("/103 rtx 0x23/500", "");
        for name in [
            "layers-vp8-up.vector",
            "layers-vp8-down.vector",
            "layers-vp8-late.vector",
        ] {
            let all = vectors_as(plain);
            let (vector, names) = all.iter().find(|(vector, _)| vector.file == name).expect("it is there");
            let start = Instant::now();
            run(vector, names, &mut *cable.device(false, start), start).unwrap_or_else(|failure| panic!("{failure}"));
        }
        assert!(cable.taken.get() > 20 && cable.copied.get() > 12);
    });
}
