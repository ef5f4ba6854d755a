//! Random histories: whatever happens, what receivers get keeps the promises that hold on every
//! device.

use std::time::Instant;

use conformance::Step;
use conformance::differential::check;
use conformance::random::{Network, Options, Srtp, history, plain};
use conformance::shrink::shrink;
use conformance::text::print_history;

use crate::device::{Cable, NewCable, on_cable};

const SEEDS: std::ops::Range<u64> = 1..25;

#[test]
fn no_packet_is_made_up_leaked_or_sent_twice_and_no_loss_hidden() {
    keep_promises(Cable::new, false, false);
}

#[test]
fn the_driver_makes_up_leaks_repeats_and_hides_nothing_either() {
    keep_promises(Cable::of_drivers, false, false);
}

#[test]
fn nothing_is_made_up_leaked_repeated_or_hidden_where_legs_share_a_path() {
    keep_promises(Cable::new, true, false);
}

#[test]
fn nothing_is_in_the_driver_either_where_legs_share_a_path() {
    keep_promises(Cable::of_drivers, true, false);
}

#[test]
fn nothing_is_made_up_leaked_repeated_or_hidden_where_packets_are_also_passed_on() {
    keep_promises(Cable::new, false, true);
}

fn keep_promises(cable: NewCable, shares_paths: bool, goes_up: bool) {
    on_cable(cable, |cable| {
        let start = Instant::now();
        let new_device = |start| cable.device(goes_up, start);
        for seed in SEEDS {
            let options = Options {
                steps: 500,
                srtp: Srtp::Never,
                network: Network::Rough,
                shares_paths,
            };
            let steps: Vec<Step> = history(seed, options).into_iter().map(plain).collect();
            let run = |steps: &[Step]| check(steps, &new_device, start);
            if let Err(difference) = run(&steps) {
                let whole = difference.to_string();
                let (steps, _) = shrink(steps, difference, |steps| run(steps).err());
                panic!(
                    "seed {seed} fails {whole}\n\n{}",
                    print_history("What is left of it.", &steps)
                );
            }
        }
        println!(
            "{} packets in the kernel, {} copies, {} of them the packet itself, {} in the driver",
            cable.taken.get(),
            cable.copied.get(),
            cable.as_itself.get(),
            cable.by_driver.get()
        );
        assert!(cable.copied.get() > 0);
        // Packets that the driver passes to the stack are really forwarded.
        assert_eq!(cable.as_itself.get() > 0, !cable.is_of_drivers());
        assert_eq!(cable.by_driver.get() > 0, cable.is_of_drivers());
    });
}
