//! Random histories of relays through a switch with its base, beside the model: the same bytes,
//! events and counters, and the octet of services of each relay.

use std::cell::Cell;
use std::rc::Rc;

use conformance::Step;
use conformance::device::{Family, RelaySwitch};
use conformance::differential::compare;
use conformance::random::{RelayOptions, relay_history};
use conformance::shrink::shrink;
use conformance::step::party_at;
use conformance::text::print_history;
use dataplane::{Accept, RelayProtection, Update};

use crate::{MODES, device, now};

/// A step whose relays the switch can take, if they have a destination. Relays that send to one
/// address have one protection, so all of them are in clear.
fn for_the_switch(step: Step) -> Step {
    let Step::Write(Update::SetRelay(at, mut relay)) = step else {
        return step;
    };
    if let Accept::Learn { .. } = relay.accept {
        relay.accept = Accept::Only(party_at(u32::from(at.port() % 4) + 1));
    }
    (relay.ingress_protection, relay.terminated) = (RelayProtection::Clear, false);
    for hop in [&mut relay.rtp, &mut relay.rtcp].into_iter().flatten() {
        hop.egress_protection = RelayProtection::Clear;
    }
    Step::Write(Update::SetRelay(at, relay))
}

#[test]
fn the_switch_and_its_base_relay_as_the_model_does() {
    for family in [Family::V4, Family::V6] {
        let count = Rc::new(Cell::new(0));
        for seed in 84_001..84_025 {
            let options = RelayOptions {
                steps: 400,
                is_virtual: true,
            };
            let mut steps = relay_history(seed, options);
            // The base has the others.
            if seed % 3 > 0 {
                steps = steps.into_iter().map(for_the_switch).collect();
            }
            // Relays do not depend on how rooms are replicated.
            let mode = MODES[seed as usize % MODES.len()];
            let run = |steps: &[Step]| {
                let new = |start| -> Box<dyn conformance::Device> {
                    let device = device(mode, start).counted(count.clone());
                    Box::new(RelaySwitch::new(device, family))
                };
                compare(steps, &new, now())
            };
            if let Err(difference) = run(&steps) {
                let whole = difference.to_string();
                let (steps, left) = shrink(steps, difference, |steps| run(steps).err());
                panic!(
                    "{family:?}, seed {seed} fails {whole}\n\n{}\n{left}",
                    print_history("What is left of it.", &steps)
                );
            }
        }
        println!("{family:?}: {} packets relayed by the switch", count.get());
        assert!(count.get() > 1_000, "{family:?}: {}", count.get());
    }
}
