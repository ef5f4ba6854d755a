//! Layers that the kernel leaves out, by dependency descriptors and by payload descriptors of VP9.

use std::time::Instant;

use conformance::vector::run;
use veth::pair_or_skip;

use crate::device::Cable;
use crate::vectors::vectors_as;

/// With one number for the descriptor on both sides, and without retransmissions, the kernel can do what they say.
fn as_the_kernel_can(text: String) -> String {
    text.replace("dependency-descriptor=6", "dependency-descriptor=5")
        .replace("dd 6", "dd 5")
        .replace("/103 rtx 0x23/500", "")
        .replace("/103 rtx 0x22/500", "")
}

/// Vectors of what the kernel does otherwise, and what that is.
const OTHERWISE: [(&str, &str); 12] = [
    (
        "layers-descriptor-active.vector",
        "the receiver is not told which decode targets are left",
    ),
    (
        "layers-descriptor-first.vector",
        "the receiver is not told which decode targets are left",
    ),
    (
        "layers-descriptor-h264.vector",
        "the receiver is not told which decode targets are left",
    ),
    (
        "layers-descriptor-keeps-unfinished.vector",
        "the receiver is not told which decode targets are left",
    ),
    ("layers-descriptor-keeps.vector", "nothing smaller is kept"),
    (
        "layers-descriptor-key.vector",
        "the receiver is not told which decode targets are left",
    ),
    (
        "layers-descriptor-rate.vector",
        "the receiver is not told which decode targets are left",
    ),
    (
        "layers-descriptor-reference.vector",
        "the receiver is not told which decode targets are left",
    ),
    (
        "layers-descriptor-size-down.vector",
        "the receiver is not told which decode targets are left",
    ),
    (
        "layers-descriptor-size-up.vector",
        "the receiver is not told which decode targets are left",
    ),
    (
        "layers-descriptor-unreadable.vector",
        "the receiver is not told which decode targets are left",
    ),
    ("layers-vp8-late-resend.vector", "nothing is sent again from here"),
];

#[test]
fn the_kernel_leaves_layers_out_as_the_model_does() {
    let Some(pair) = pair_or_skip(1) else { return };
    pair.near.run(|| {
        let cable = Cable::new(&pair);
        let mut failures = Vec::new();
        let all = vectors_as(as_the_kernel_can);
        let about_layers = all.iter().filter(|(vector, _)| vector.file.starts_with("layers-"));
        for (vector, names) in about_layers.filter(|(vector, _)| !vector.needs_virtual_time) {
            let start = Instant::now();
            let before = cable.taken.get();
            let result = run(vector, names, &mut *cable.device(false, start), start);
            println!(
                "{}: {} packets in the kernel, {}",
                vector.file,
                cable.taken.get() - before,
                result.is_ok()
            );
            match OTHERWISE.iter().find(|(file, _)| *file == vector.file) {
                Some((file, why)) => assert!(result.is_err(), "{file} is kept, in spite of this: {why}"),
                None => failures.extend(result.err()),
            }
        }
        let report: String = failures.iter().map(|failure| format!("{failure}\n")).collect();
        assert!(failures.is_empty(), "{} vectors failed\n\n{report}", failures.len());
    });
}
