//! Relays in the kernel: every vector, and random histories of relays beside the model.
//!
//! Run by the kernel on frames that nobody sends; `sockets.rs` has the same on real ones.

use std::cell::RefCell;
use std::net::IpAddr;
use std::time::Instant;

use backend_ebpf::{Counter, Counters, Statistics};
use conformance::Device;
use conformance::device::{Family, KernelDevice};
use conformance::differential::compare;
use conformance::random::{RelayOptions, relay_history};
use conformance::text::print_history;
use conformance::vector::run;
use veth::{Pair, pair_or_skip};

mod support;

#[allow(clippy::disallowed_methods, reason = "a test has to start somewhere")]
fn now() -> Instant {
    Instant::now()
}

/// Makes devices, and adds up their programs' counts.
struct Kernels<'a> {
    pair: &'a Pair,
    family: Family,
    counted: RefCell<Vec<Statistics>>,
}

impl Kernels<'_> {
    fn device(&self, start: Instant) -> Box<dyn Device> {
        let device = KernelDevice::new(self.pair, self.family, start);
        self.counted.borrow_mut().push(device.statistics());
        Box::new(device)
    }

    fn counted(&self) -> Counters {
        let mut sum = Counters::default();
        self.counted
            .borrow()
            .iter()
            .for_each(|statistics| sum.add(&statistics.read()));
        sum
    }
}

/// Does something in the near namespace of a cable, once for each family.
fn with_kernels(what: impl Fn(&Kernels<'_>) + Sync) {
    let Some(pair) = pair_or_skip(1) else { return };
    KernelDevice::prepare(&pair.near);
    for address in [IpAddr::from(pair.near.v4), pair.near.v6.into()] {
        let family = if address.is_ipv4() { Family::V4 } else { Family::V6 };
        pair.near.run(|| {
            let kernels = Kernels {
                pair: &pair,
                family,
                counted: RefCell::default(),
            };
            what(&kernels);
            println!("{family:?}: {:?}", kernels.counted());
        });
    }
}

#[test]
fn the_kernel_and_the_model_behind_it_keep_every_vector() {
    with_kernels(|kernels| {
        let mut failures = String::new();
        for (vector, names) in &support::vectors(|_, text| text) {
            let start = now();
            if let Err(failure) = run(vector, names, &mut *kernels.device(start), start) {
                failures += &format!("{failure}\n");
            }
        }
        assert!(failures.is_empty(), "{failures}");
        // Much of the work must have been done here and not in the base.
        let counted = kernels.counted();
        assert!(
            counted[Counter::Relayed] >= 8 && counted[Counter::ForeignSource] >= 1,
            "{counted:?}"
        );
        assert_eq!(counted[Counter::NoNeighbour], 0, "everybody is known: {counted:?}");
    });
}

#[test]
fn the_kernel_relays_as_the_model_does() {
    with_kernels(|kernels| {
        for seed in 83_001..83_061 {
            let options = RelayOptions {
                steps: 500,
                is_virtual: true,
            };
            let steps = relay_history(seed, options);
            if let Err(difference) = compare(&steps, &|start| kernels.device(start), now()) {
                panic!(
                    "{}",
                    print_history(&format!("Seed {seed} fails {difference}").replace('\n', "\n# "), &steps)
                );
            }
        }
        let counted = kernels.counted();
        for counter in [
            Counter::Relayed,
            Counter::ForeignSource,
            Counter::Malformed,
            Counter::NotRtp,
            Counter::TooLarge,
        ] {
            assert!(counted[counter] > 0, "{} is {}", counter.name(), counted[counter]);
        }
    });
}
