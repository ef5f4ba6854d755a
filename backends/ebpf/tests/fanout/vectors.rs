//! Every vector, on a base with the kernel in front of it: what the kernel takes, and what it
//! leaves, must be what the model says.

use std::path::Path;
use std::thread;
use std::time::Instant;

use conformance::text::{Names, Vector, parse, read_folder};
use conformance::vector::run;

use crate::device::{Cable, NewCable, on_cable};

fn vectors() -> Vec<(Vector, Names)> {
    vectors_as(|text| text)
}

/// All of them, changed.
pub(crate) fn vectors_as(change: impl Fn(String) -> String) -> Vec<(Vector, Names)> {
    read_vectors("../../verify/conformance/vectors", change)
}

/// Those of a folder, changed.
fn read_vectors(folder: &str, change: impl Fn(String) -> String) -> Vec<(Vector, Names)> {
    read_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), |_, text| {
        change(text)
    })
}

/// Vectors that say what the kernel does otherwise, and what that is.
const OTHERWISE: [(&str, &str); 11] = [
    (
        "release.vector",
        "the base has nothing to let go of what the kernel sends",
    ),
    (
        "release-at-key-frame.vector",
        "the base has nothing to let go of what the kernel sends",
    ),
    ("resume.vector", "the kernel begins with a key frame"),
    (
        "resume-at-key-frame.vector",
        "the kernel begins with its own numbers where the base would resume",
    ),
    (
        "resume-several-codecs.vector",
        "the kernel begins with its own numbers where the base would resume",
    ),
    (
        "resume-padding.vector",
        "the kernel begins with its own numbers where the base would resume",
    ),
    (
        "copied-by-offload.vector",
        "the kernel counts why it sends nothing of what it has a replica of",
    ),
    ("csrcs.vector", "contributing sources stay where they are"),
    ("padding-stripped.vector", "padding behind a payload stays"),
    (
        "filled-video.vector",
        "the base does not count why it fills nothing of what the kernel sends",
    ),
    (
        "stream-removed.vector",
        "packets that arrived before the kernel had a stream are unknown to it",
    ),
];

/// Vectors that say what a base counts otherwise that gets the copied packets, too: it knows the
/// source that a replica is to follow, and not whether the kernel sends anything of it.
const COUNTED_OTHERWISE: [(&str, &str); 3] = [
    (
        "pause-and-resume.vector",
        "the base has no replica for what a paused one does not get",
    ),
    (
        "pending-source-removed.vector",
        "the base has no replica for the source that is still followed",
    ),
    (
        "switch-waits-for-key-frame.vector",
        "the base has no replica for the source that is still followed",
    ),
];

#[test]
fn the_kernel_and_its_base_keep_every_vector() {
    keep_every_vector(Cable::new, false);
}

#[test]
fn the_kernel_that_also_passes_packets_on_keeps_every_vector_with_its_base() {
    keep_every_vector(Cable::new, true);
}

#[test]
fn the_driver_and_its_base_keep_every_vector() {
    keep_every_vector(Cable::of_drivers, false);
}

/// Vectors are tested on so many cables at once. Attaching a program waits for the kernel for each
/// of them.
const CABLES: usize = 4;

/// Results of vectors on one cable.
struct Tested {
    vectors: u32,
    concerned: u32,
    taken: u64,
    copied: u64,
    by_driver: u64,
    failures: Vec<String>,
}

fn keep_every_vector(cable: NewCable, goes_up: bool) {
    // Vectors with layers in dependency descriptors are tested in `layers`.
    let is_for_here = |vector: &Vector| {
        let is_possible = !vector.needs_virtual_time && !vector.needs_forwarded_rtcp;
        is_possible && !vector.file.starts_with("layers-descriptor-")
    };
    let all: Vec<_> = vectors()
        .into_iter()
        .filter(|(vector, _)| is_for_here(vector))
        .collect();
    let tested: Vec<_> = thread::scope(|scope| {
        let some = |nth| all.iter().skip(nth).step_by(CABLES);
        let cables = (0..CABLES).map(|nth| scope.spawn(move || keep_vectors(cable, goes_up, some(nth))));
        let cables: Vec<_> = cables.collect();
        cables.into_iter().filter_map(|it| it.join().unwrap()).collect()
    });
    if tested.is_empty() {
        return;
    }
    let sum = |number: fn(&Tested) -> u64| tested.iter().map(number).sum::<u64>();
    let (taken, copied, by_driver) = (sum(|it| it.taken), sum(|it| it.copied), sum(|it| it.by_driver));
    let (ran, concerned) = (sum(|it| it.vectors.into()), sum(|it| it.concerned.into()));
    println!(
        "{ran} vectors, {concerned} of them with {taken} packets in the kernel, which made {copied} copies, {by_driver} in the driver"
    );
    let failures = tested.iter().flat_map(|it| &it.failures);
    let report: String = failures.clone().map(|failure| format!("{failure}\n")).collect();
    assert!(
        report.is_empty(),
        "{} of {ran} vectors failed\n\n{report}",
        failures.count()
    );
}

/// Tests some vectors on a cable; `None` where there can be none.
fn keep_vectors<'a>(
    cable: NewCable,
    goes_up: bool,
    vectors: impl Iterator<Item = &'a (Vector, Names)> + Send,
) -> Option<Tested> {
    let mut tested = None;
    on_cable(cable, |cable| {
        let mut failures = Vec::new();
        let (mut ran, mut concerned) = (0, 0);
        for (vector, names) in vectors {
            let start = Instant::now();
            let before = cable.taken.get();
            let result = run(vector, names, &mut *cable.device(goes_up, start), start);
            ran += 1;
            concerned += u32::from(cable.taken.get() > before);
            let counted = if goes_up { &COUNTED_OTHERWISE[..] } else { &[] };
            let mut otherwise = OTHERWISE.iter().chain(counted);
            match otherwise.find(|(file, _)| *file == vector.file) {
                Some((file, why)) => assert!(result.is_err(), "{file} is kept, in spite of this: {why}"),
                None => failures.extend(result.err().map(|failure| failure.to_string())),
            }
        }
        assert_eq!(cable.by_driver.get() > 0, cable.is_of_drivers());
        tested = Some(Tested {
            vectors: ran,
            concerned,
            taken: cable.taken.get(),
            copied: cable.copied.get(),
            by_driver: cable.by_driver.get(),
            failures,
        });
    });
    tested
}

/// But for when it is, which is not the tests' to say here.
#[test]
fn the_kernel_stamps_its_copies() {
    on_cable(Cable::new, |cable| {
        let in_real_time = |text: String| text.replace("needs virtual-time", "").replace("3=020000", "3=*");
        let all = vectors_as(in_real_time);
        for name in ["stamps.vector", "transport-number-per-leg.vector"] {
            let (vector, names) = all.iter().find(|(vector, _)| vector.file == name).expect("it is there");
            let start = Instant::now();
            run(vector, names, &mut *cable.device(false, start), start).unwrap_or_else(|failure| panic!("{failure}"));
        }
        // One of two families goes through the base.
        assert_eq!((cable.taken.get(), cable.copied.get()), (7, 9));
    });
}

/// Without retransmissions, what says how pictures are left out of VP8 is for the kernel to keep.
#[test]
fn the_kernel_leaves_pictures_of_vp8_out() {
    leave_pictures_out(Cable::new);
}

#[test]
fn the_driver_leaves_pictures_of_vp8_out() {
    leave_pictures_out(Cable::of_drivers);
}

fn leave_pictures_out(cable: NewCable) {
    on_cable(cable, |cable| {
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

/// The behaviour of devices that store no packets; the model does store them.
#[test]
fn the_kernel_sends_repeated_packets_to_those_that_asked() {
    give_again(Cable::new);
}

#[test]
fn the_driver_sends_repeated_packets_to_those_that_asked() {
    give_again(Cable::of_drivers);
}

fn give_again(cable: NewCable) {
    on_cable(cable, |cable| {
        let mut vectors = read_vectors("vectors", |text| text);
        assert!(!vectors.is_empty());
        vectors.push(parse("far back", &far_back()).unwrap_or_else(|problem| panic!("{problem}")));
        vectors.push(parse("flood", &flood()).unwrap_or_else(|problem| panic!("{problem}")));
        for (vector, names) in &vectors {
            let start = Instant::now();
            run(vector, names, &mut *cable.device(false, start), start).unwrap_or_else(|failure| panic!("{failure}"));
        }
    });
}

/// Nine of ten packets are left out for bob; what is asked for is nearly as far back as there may
/// be.
fn far_back() -> String {
    let mut text = "# A packet is found by its number there though a thousand others came since.

leg     alice
leg     bob
stream  alice:0x11 video types 96=VP8
replica bob-cam to bob ssrc 0x22 first 100 from alice:0x11 types 96>102 target S0T0

send    alice rtp ssrc 0x11 pt 96 seq 65000 ts 0 vp8 key id15 32000 tl0 7 tid 0 sync
expect  bob rtp seq 100
"
    .to_owned();
    for after in 1..1_000_u32 {
        let (seq, frame) = ((65_000 + after) % 65_536, 1 + after / 200);
        let layer = if after % 10 == 5 { "tid 0" } else { "tid 1" };
        // Frames of one layer take turns, so that few are remembered for as long.
        let (ts, id) = match layer {
            "tid 0" => (6_000 * frame, 2 * frame),
            _ => (6_000 * frame - 3_000, 2 * frame - 1),
        };
        let id = (32_000 + id) % 32_768;
        text += &format!("send alice rtp ssrc 0x11 pt 96 seq {seq} ts {ts} vp8 rest id15 {id} tl0 8 {layer}\n");
        text += match layer {
            "tid 0" => "expect bob rtp ssrc 0x22\n",
            _ => "expect nothing\n",
        };
    }
    text += "
resend  bob-cam 101
event   nack alice:0x11 65005
send    alice rtp ssrc 0x11 pt 96 seq 65005 ts 6000 vp8 rest id15 32002 tl0 8 tid 0
expect  bob rtp seq 101 ts 6000 vp8 rest id15 32001 tl0 8 tid 0
";
    text
}

/// A receiver that asks for everything gets the window at most, and others still get theirs.
fn flood() -> String {
    let mut text = "# Requests without end displace one another, and what is asked for last is answered.

leg     alice
stream  alice:0x11 audio types 111=opus
"
    .to_owned();
    // Every fourth speaks IPv6, and alice does not.
    let receivers = (0..27).filter(|receiver| receiver % 4 != 1);
    for receiver in 0..27 {
        text += &format!("leg r{receiver}\n");
    }
    for receiver in receivers.clone() {
        text +=
            &format!("replica m{receiver} to r{receiver} ssrc 0x{receiver}1 first 0 from alice:0x11 types 111>96\n");
    }
    let mut text = text + "\n";
    let speak = |text: &mut String, seq: u32| {
        *text += &format!(
            "send alice rtp ssrc 0x11 pt 111 seq {seq} ts {} payload 01\n",
            960 * seq
        );
        for receiver in receivers.clone() {
            *text += &format!("expect r{receiver} rtp seq {seq}\n");
        }
    };
    (0..1_024).for_each(|seq| speak(&mut text, seq));
    let all: String = (0..65_536).map(|seq| format!(" {seq}")).collect();
    let found: String = (0..1_024).map(|seq| format!(" {seq}")).collect();
    for receiver in receivers.clone() {
        text += &format!("resend m{receiver}{all}\nevent nack alice:0x11{found}\n");
    }
    speak(&mut text, 1_024);
    text += "
resend  m3 1024
event   nack alice:0x11 1024
send    alice rtp ssrc 0x11 pt 111 seq 1024 ts 983040 payload 01
expect  r3 rtp seq 1024
";
    text
}
