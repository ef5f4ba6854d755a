//! Consent on a pair in use.

use super::*;

#[test]
fn a_peer_that_stops_answering_our_checks_is_sent_nothing() {
    let (local, theirs, age_max) = (credentials("ours"), credentials("theirs"), Duration::from_secs(30));
    for answers in [true, false] {
        let (mut now, mut ice) = (Instant::now(), described(&local));
        let nominates = request(&local, "theirs", true, true);
        ice.heard(now, path(1), &nominates).unwrap();
        let mut sent = 0;
        let mut last_answer = None;
        for second in 1..60 {
            now += Duration::from_secs(1);
            // Checks can be forged by one that has left the address.
            ice.check(now, path(1), DATAGRAM, &nominates).unwrap();
            let is_there = answers && second <= 12;
            match is_there {
                true => answer_all(&mut ice, now, &theirs).iter().for_each(|answer| {
                    assert_eq!(*answer, Ok(PathChange::Nothing));
                    last_answer = Some(now);
                }),
                false => sent += ice.take_checks(now).len(),
            }
            let is_over = ice.prune(now, age_max);
            let is_late = last_answer.is_some_and(|last| now >= last + age_max);
            assert_eq!(ice.best().is_none(), is_late, "answers {answers}, second {second}");
            if is_over {
                assert_eq!(now, last_answer.unwrap() + age_max);
                assert_eq!(ice.next_prune(age_max), None);
                break;
            }
        }
        assert_eq!(last_answer.is_some(), answers);
        assert!(sent <= 11, "{sent} checks");
    }
    // One that only sends is believed without answers, and one that receives tracks is not.
    for receives in [false, true] {
        let (start, mut ice) = (Instant::now(), described(&local));
        let nominates = request(&local, "theirs", true, true);
        ice.heard(start, path(1), &nominates).unwrap();
        if receives {
            ice.may_receive(start + Duration::from_secs(10));
        }
        let ends = (1..60).find(|second| {
            let now = start + Duration::from_secs(*second);
            ice.check(now, path(1), DATAGRAM, &nominates).unwrap();
            ice.prune(now, age_max)
        });
        assert_eq!(ends, receives.then_some(40));
    }
    // A connection proves its address all the time.
    let (now, mut ice) = (Instant::now(), described(&local));
    ice.check(now, path(1), Source::Connection, &request(&local, "theirs", true, true))
        .unwrap();
    assert!(ice.take_checks(now + age_max).is_empty());
}
