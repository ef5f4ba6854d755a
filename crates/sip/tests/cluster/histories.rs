//! Random histories: requests at any machine, delays, machines that end and machines that join
//! late.

use std::collections::HashMap;
use std::time::Duration;

use proptest::prelude::*;

use super::machines::{Cluster, answer, offer, request, result};

const MACHINES: usize = 4;
const CALLS: usize = 3;

#[derive(Clone, Debug)]
enum Step {
    Offer(usize, usize),
    Answer(usize, usize),
    Query(usize, usize),
    Wait(u64),
    Kill(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let place = || (0..MACHINES, 0..CALLS);
    let step = prop_oneof![
        4 => place().prop_map(|(place, call)| Step::Offer(place, call)),
        2 => place().prop_map(|(place, call)| Step::Answer(place, call)),
        2 => place().prop_map(|(place, call)| Step::Query(place, call)),
        4 => (0..60_u64).prop_map(Step::Wait),
        1 => (0..MACHINES).prop_map(Step::Kill),
    ];
    proptest::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Messages take up to 60 ms, so nobody is taken for silent.
    #[test]
    fn a_call_has_one_machine_and_each_request_an_answer(
        steps in steps(),
        delays in proptest::collection::vec(0..60_u64, 1..20),
    ) {
        let mut cluster = Cluster::new(MACHINES);
        cluster.delay(delays);
        let (mut dead, mut asked, mut began) = (Vec::new(), Vec::new(), HashMap::new());
        for (number, step) in steps.into_iter().enumerate() {
            let cookie = number.to_string();
            let (place, call, request) = match step {
                Step::Wait(time) => {
                    cluster.run(Duration::from_millis(time));
                    continue;
                }
                Step::Kill(place) => {
                    // One stays, so that requests have an answer.
                    if place != 0 && !dead.contains(&place) {
                        dead.push(place);
                        cluster.kill(place);
                    }
                    continue;
                }
                Step::Offer(place, call) => (place, call, offer(&call.to_string())),
                Step::Answer(place, call) => (place, call, answer(&call.to_string())),
                Step::Query(place, call) => (place, call, request("query", &call.to_string())),
            };
            if dead.contains(&place) {
                continue;
            }
            let is_offer = matches!(step, Step::Offer(..));
            let id = cluster.ask(place, &cookie, request);
            asked.push((id, place, is_offer));
            if is_offer {
                began.insert(call, id);
            }
        }
        cluster.run(Duration::from_secs(3));
        // Before calls end for want of media.
        for call in 0..CALLS {
            let owners = cluster.owners(&call.to_string());
            prop_assert!(owners.len() <= 1, "{call} is at {owners:?}");
            if let Some(id) = began.get(&call) && dead.is_empty() {
                prop_assert!(cluster.bytes(*id).is_some() && owners.len() == 1);
            }
        }
        for (id, place, is_offer) in asked {
            if dead.contains(&place) {
                continue;
            }
            let answered = result(cluster.reply(id));
            // Each offer may be for another phone, of which a call has a limited number.
            let of_offer = ["ok", "Parallel session limit reached"];
            let of_others = ["ok", "Unknown call-id"];
            let expected = if is_offer { of_offer } else { of_others };
            prop_assert!(expected.contains(&answered.as_str()), "{answered}");
        }
    }
}
