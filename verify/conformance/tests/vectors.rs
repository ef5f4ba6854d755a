//! Every vector on every device.

use std::path::PathBuf;
use std::time::Instant;

use conformance::Device;
use conformance::device::{Family, InlineDevice, ModelDevice, SocketDevice};
use conformance::text::{Names, Vector, parse};
use conformance::vector::run;

fn vectors() -> Vec<(Vector, Names)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("vectors");
    let entries = std::fs::read_dir(&folder).expect("there are vectors");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "vector"));
    files.sort();
    let read = |file: &PathBuf| {
        let name = file.file_name().expect("a file").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(file).expect("readable");
        parse(&name, &text).unwrap_or_else(|problem| panic!("{problem}"))
    };
    files.iter().map(read).collect()
}

/// Runs them all on fresh devices and reports every failure, not only the first.
fn run_all(device: impl Fn(Instant) -> Box<dyn Device>) {
    let mut failures = Vec::new();
    let all = vectors();
    for (vector, names) in &all {
        let start = now();
        let mut device = device(start);
        if device.keeps_virtual_time() || !vector.needs_virtual_time {
            failures.extend(run(vector, names, &mut *device, start).err());
        }
    }
    let report: String = failures.iter().map(|failure| format!("{failure}\n")).collect();
    assert!(
        failures.is_empty(),
        "{} of {} vectors failed\n\n{report}",
        failures.len(),
        all.len()
    );
}

#[allow(clippy::disallowed_methods, reason = "a test has to start somewhere")]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn the_model_keeps_every_vector() {
    run_all(|start| Box::new(ModelDevice::new(start)));
}

#[test]
fn one_shard_keeps_every_vector() {
    run_all(|start| Box::new(InlineDevice::new(1, start)));
}

#[test]
fn three_shards_keep_every_vector() {
    run_all(|start| Box::new(InlineDevice::new(3, start)));
}

#[test]
fn sockets_keep_every_vector_over_ipv4() {
    run_all(|start| Box::new(SocketDevice::start(Family::V4, 1, start).expect("loopback works")));
}

#[test]
fn sockets_keep_every_vector_over_ipv6() {
    run_all(|start| Box::new(SocketDevice::start(Family::V6, 2, start).expect("loopback works")));
}

#[test]
fn sockets_keep_every_vector_over_both() {
    run_all(|start| Box::new(SocketDevice::start(Family::Both, 2, start).expect("loopback works")));
}
