//! The effect of connectivity checks, by their contents.

mod consent;

use super::checks::Checked;
use super::message::{ends_in_fingerprint, hmac};
use super::*;
use crate::counters::Counter;
use is::stun::{StunMessage, TransId};

fn credentials(name: &str) -> IceCredentials {
    IceCredentials {
        ufrag: name.into(),
        password: format!("{name}-password-of-22-characters"),
    }
}

fn path(port: u16) -> Path {
    Path {
        local: "192.0.2.1:7882".parse().unwrap(),
        remote: ([198, 51, 100, 7], port).into(),
    }
}

fn request(local: &IceCredentials, remote: &str, controlling: bool, nominate: bool) -> Vec<u8> {
    let username = format!("{}:{remote}", local.ufrag);
    let message = StunMessage::binding_request(&username, TransId::new(), controlling, 7, 100, nominate);
    let mut bytes = vec![0; 256];
    let len = message
        .to_bytes(Some(local.password.as_bytes()), &mut bytes, hmac)
        .unwrap();
    bytes.truncate(len);
    bytes
}

/// An agent that knows its peer's credentials.
fn described(local: &IceCredentials) -> Ice {
    let mut ice = Ice::new(local.clone());
    ice.describe(Instant::now(), &credentials("theirs"));
    ice
}

const DATAGRAM: Source = Source::Datagram { contested: false };

/// Answers the checks that are due, as the peer with these credentials at the same paths.
fn answer_all(ice: &mut Ice, now: Instant, peer: &IceCredentials) -> Vec<Result<PathChange, Counter>> {
    let checks = ice.take_checks(now).into_iter();
    let answers = checks.map(|(path, check)| {
        let answer = virtual_device::answer(&check, path.local, &peer.password).expect("the check is for this peer");
        ice.answer(now, path, &answer)
    });
    answers.collect()
}

impl Ice {
    /// A check from a peer that answers ours.
    fn heard(&mut self, now: Instant, path: Path, datagram: &[u8]) -> Result<Checked, Counter> {
        let mut checked = self.check(now, path, DATAGRAM, datagram)?;
        for change in answer_all(self, now, &credentials("theirs")) {
            checked.change = change?;
            checked.consents = true;
        }
        Ok(checked)
    }
}

#[test]
fn a_valid_check_is_answered_with_the_address_it_came_from() {
    let (now, local) = (Instant::now(), credentials("ours"));
    let mut ice = described(&local);
    let checked = ice
        .heard(now, path(1), &request(&local, "theirs", true, false))
        .unwrap();
    assert_eq!((checked.change, checked.consents), (PathChange::Paths, true));
    let reply = StunMessage::parse(&checked.reply).unwrap();
    assert!(reply.is_successful_binding_response() && reply.verify(local.password.as_bytes(), hmac));
    assert_eq!(reply.mapped_address(), Some(path(1).remote));
    assert!(ends_in_fingerprint(&checked.reply));
    assert_eq!((ice.best(), ice.is_nominated()), (Some(path(1)), false));
}

#[test]
fn both_families_are_told_the_address_they_know() {
    let (now, local) = (Instant::now(), credentials("ours"));
    let mut ice = described(&local);
    for (seen, told) in [
        ("[2001:db8::7]:9", "[2001:db8::7]:9"),
        ("[::ffff:198.51.100.7]:9", "198.51.100.7:9"),
    ] {
        let path = Path {
            local: "[2001:db8::1]:7882".parse().unwrap(),
            remote: seen.parse().unwrap(),
        };
        let checked = ice.heard(now, path, &request(&local, "theirs", true, false)).unwrap();
        assert_eq!(
            StunMessage::parse(&checked.reply).unwrap().mapped_address(),
            Some(told.parse().unwrap())
        );
    }
}

#[test]
fn a_check_that_is_not_right_in_every_way_gets_no_answer() {
    let (now, local) = (Instant::now(), credentials("ours"));
    let mut ice = described(&local);
    let good = request(&local, "theirs", true, true);
    for position in 0..good.len() {
        let mut bad = good.clone();
        bad[position] ^= 1;
        assert!(ice.heard(now, path(1), &bad).is_err(), "byte {position}");
        assert!(ice.heard(now, path(1), &good[..position]).is_err(), "cut at {position}");
    }
    let wrong_password = IceCredentials {
        password: "another-password-of-22-chars".into(),
        ..local.clone()
    };
    let check = |ice: &mut Ice, bytes: &[u8]| ice.heard(now, path(1), bytes).map(|_| ());
    assert_eq!(
        check(&mut ice, &request(&wrong_password, "theirs", true, true)),
        Err(Counter::CheckUnauthenticated)
    );
    assert_eq!(ice.best(), None);
    assert_eq!(check(&mut ice, &good), Ok(()));
}

#[test]
fn the_newest_nomination_wins() {
    let (now, local) = (Instant::now(), credentials("ours"));
    let mut ice = described(&local);
    for (port, nominate) in [(1, false), (2, true), (3, false), (3, true), (2, false)] {
        ice.heard(now, path(port), &request(&local, "theirs", true, nominate))
            .unwrap();
    }
    assert_eq!(ice.paths().collect::<Vec<_>>(), [path(3), path(2), path(1)]);
    assert!(ice.is_nominated());
}

#[test]
fn a_peer_that_thinks_it_is_controlled_is_told_to_switch() {
    let (now, local) = (Instant::now(), credentials("ours"));
    let mut ice = described(&local);
    let checked = ice
        .heard(now, path(1), &request(&local, "theirs", false, false))
        .unwrap();
    let reply = StunMessage::parse(&checked.reply).unwrap();
    assert_eq!(reply.error_code().map(|(code, _)| code), Some(487));
    assert!(!checked.is_accepted && ice.best().is_none());
}

#[test]
fn old_credentials_work_until_a_pair_is_nominated_with_the_new_ones() {
    let (now, old, new) = (Instant::now(), credentials("old"), credentials("new"));
    let mut ice = described(&old);
    ice.heard(now, path(1), &request(&old, "theirs", true, true)).unwrap();
    ice.restart(new.clone());
    ice.heard(now, path(1), &request(&old, "theirs", true, true)).unwrap();
    ice.heard(now, path(2), &request(&new, "fresh", true, false)).unwrap();
    assert_eq!(ice.best(), Some(path(1)));
    ice.heard(now, path(2), &request(&new, "fresh", true, true)).unwrap();
    assert_eq!(ice.best(), Some(path(2)));
    ice.heard(now, path(1), &request(&old, "theirs", true, true))
        .unwrap_err();
    assert_eq!(ice.ufrags().collect::<Vec<_>>(), ["new"]);
}

#[test]
fn a_peer_that_moves_is_followed_before_it_has_the_new_credentials() {
    let (start, old, new) = (Instant::now(), credentials("old"), credentials("new"));
    let mut ice = described(&old);
    ice.heard(start, path(1), &request(&old, "theirs", true, true)).unwrap();
    ice.restart(new.clone());
    let now = start + Duration::from_secs(2);
    let elsewhere = Path {
        remote: "203.0.113.5:2".parse().unwrap(),
        ..path(2)
    };
    let checked = ice.heard(now, elsewhere, &request(&old, "fresh", true, true)).unwrap();
    assert_eq!((checked.change, ice.best()), (PathChange::Moved, Some(elsewhere)));
    let checked = ice.heard(now, elsewhere, &request(&new, "fresh", true, true)).unwrap();
    assert_eq!((checked.change, ice.best()), (PathChange::Nothing, Some(elsewhere)));
    let checked = ice.heard(now, path(3), &request(&new, "fresh", true, true)).unwrap();
    assert_eq!(checked.change, PathChange::Paths, "the pair before it is in use");
    let later = now + Duration::from_secs(2);
    let checked = ice.heard(later, path(4), &request(&new, "fresh", true, true)).unwrap();
    assert_eq!(checked.change, PathChange::Paths, "the address is the same");
}

#[test]
fn the_stalest_pair_makes_room_and_never_the_nominated_one() {
    let (start, local) = (Instant::now(), credentials("ours"));
    let mut ice = described(&local);
    for port in 0..20 {
        let now = start + Duration::from_secs(u64::from(port));
        ice.heard(now, path(port), &request(&local, "theirs", true, port == 0))
            .unwrap();
    }
    let mut expected = vec![path(0)];
    expected.extend((13..20).map(path));
    assert_eq!(ice.paths().collect::<Vec<_>>(), expected);
    assert!(ice.prune(start + Duration::from_secs(44), Duration::from_secs(30)));
    let left: Vec<_> = [0, 15, 16, 17, 18, 19].map(path).into();
    assert_eq!(ice.paths().collect::<Vec<_>>(), left);
}

#[test]
fn a_leg_without_encryption_has_no_path_over_tcp() {
    let (now, local) = (Instant::now(), credentials("ours"));
    let mut ice = described(&local);
    let tcp = Path {
        local: "192.0.2.1:7881".parse().unwrap(),
        ..path(2)
    };
    for at in [tcp, path(1)] {
        ice.heard(now, at, &request(&local, "theirs", true, false)).unwrap();
    }
    let config = Config {
        tcp_addresses: vec![tcp.local],
        ..Config::new(vec![path(1).local], crate::Certificate::generate().unwrap())
    };
    assert_eq!(ice.leg_paths(&Protection::Pending, &config), [tcp, path(1)]);
    assert_eq!(ice.leg_paths(&Protection::Clear, &config), [path(1)]);
}

#[test]
fn a_path_is_used_once_the_peer_has_answered_a_check_on_it() {
    let (now, local, peer) = (Instant::now(), credentials("ours"), credentials("theirs"));
    let mut ice = described(&local);
    ice.heard(now, path(1), &request(&local, "theirs", true, true)).unwrap();
    let later = now + Duration::from_secs(5);
    let checked = ice
        .check(later, path(2), DATAGRAM, &request(&local, "theirs", true, true))
        .unwrap();
    assert!(!checked.consents);
    assert_eq!((ice.best(), ice.last_check()), (Some(path(1)), Some(now)));
    assert_eq!(
        ice.answer_path(path(2)),
        Some(path(1)),
        "what came from there is answered elsewhere"
    );
    assert_eq!(
        ice.paths().collect::<Vec<_>>(),
        [path(1), path(2)],
        "it is heard already"
    );
    let (to, check) = ice.take_checks(later).remove(0);
    let message = StunMessage::parse(&check).unwrap();
    assert!(ends_in_fingerprint(&check) && message.verify(peer.password.as_bytes(), hmac));
    assert_eq!(message.split_username(), Some(("theirs", "ours")));
    assert_eq!((message.ice_controlled(), message.use_candidate()), (Some(0), false));

    let answer = |password: &str| virtual_device::answer(&check, to.local, password);
    let answer = answer(&peer.password).unwrap();
    assert_eq!(
        ice.answer(later, path(3), &answer),
        Err(Counter::AnswerUnexpected),
        "from elsewhere"
    );
    for position in 0..answer.len() - 8 {
        let mut bad = answer.clone();
        bad[position] ^= 1;
        assert!(ice.answer(later, to, &bad).is_err(), "byte {position}");
    }
    assert_eq!(ice.best(), Some(path(1)));
    assert_eq!(ice.answer(later, to, &answer), Ok(PathChange::Paths));
    assert_eq!((ice.best(), ice.last_check()), (Some(path(2)), Some(later)));
    assert_eq!(ice.answer(later, to, &answer), Err(Counter::AnswerUnexpected), "again");
}

#[test]
fn an_answer_needs_no_mapped_address() {
    // FFmpeg's has none.
    let (now, local, peer) = (Instant::now(), credentials("ours"), credentials("theirs"));
    let mut ice = described(&local);
    ice.check(now, path(1), DATAGRAM, &request(&local, "theirs", true, true))
        .unwrap();
    let (to, check) = ice.take_checks(now).remove(0);
    let mut answer = vec![0x01, 0x01, 0, 24, 0x21, 0x12, 0xa4, 0x42];
    answer.extend(&check[8..20]);
    let integrity = hmac(peer.password.as_bytes(), &[&answer]);
    answer.extend([0x00, 0x08, 0, 20]);
    answer.extend(integrity);
    assert_eq!(ice.answer(now, to, &answer), Ok(PathChange::Paths));
}

#[test]
fn the_newest_nomination_wins_in_whatever_order_answers_come() {
    for order in [[0, 1], [1, 0]] {
        let (now, local, peer) = (Instant::now(), credentials("ours"), credentials("theirs"));
        let mut ice = described(&local);
        for port in [1, 2] {
            ice.check(now, path(port), DATAGRAM, &request(&local, "theirs", true, true))
                .unwrap();
        }
        let checks = ice.take_checks(now);
        for index in order {
            let (to, check) = &checks[index];
            let answer = virtual_device::answer(check, to.local, &peer.password).unwrap();
            ice.answer(now, *to, &answer).unwrap();
        }
        assert_eq!(ice.paths().collect::<Vec<_>>(), [path(2), path(1)]);
    }
}

#[test]
fn checks_wait_for_the_peers_description() {
    let (now, local) = (Instant::now(), credentials("ours"));
    let mut ice = Ice::new(local.clone());
    ice.check(now, path(1), DATAGRAM, &request(&local, "theirs", true, true))
        .unwrap();
    assert_eq!((ice.take_checks(now).len(), ice.next_check()), (0, None));
    ice.describe(now, &credentials("theirs"));
    assert_eq!(
        answer_all(&mut ice, now, &credentials("theirs")),
        [Ok(PathChange::Paths)]
    );
    assert!(ice.is_nominated());
}

#[test]
fn a_check_is_sent_with_the_credentials_that_the_peer_names() {
    let (now, local) = (Instant::now(), credentials("ours"));
    let mut ice = described(&local);
    ice.describe(now, &credentials("fresh"));
    for (port, name) in [(1, "theirs"), (2, "fresh"), (3, "unknown")] {
        ice.check(now, path(port), DATAGRAM, &request(&local, name, true, false))
            .unwrap();
    }
    let names: Vec<_> = ice
        .take_checks(now)
        .iter()
        .map(|(_, check)| wire::stun::username(check).unwrap().0.to_owned())
        .collect();
    assert_eq!(names, ["theirs", "fresh", "fresh"]);
}

#[test]
fn a_connection_has_proved_its_address() {
    let (now, local) = (Instant::now(), credentials("ours"));
    let mut ice = described(&local);
    let check = request(&local, "theirs", true, true);
    let checked = ice.check(now, path(1), Source::Connection, &check).unwrap();
    assert_eq!((checked.change, checked.consents), (PathChange::Paths, true));
    assert!(ice.take_checks(now).is_empty());
}

/// The bytes that go to a victim whose address a peer forges in its checks, at most.
#[test]
fn a_forged_source_gets_little_more_than_was_sent() {
    const HEADERS: usize = 28;
    for (interval, seconds) in [(20, 60), (1_000, 600), (3_000, 600)] {
        let (start, local) = (Instant::now(), credentials("ours"));
        let mut ice = described(&local);
        let (mut sent, mut received) = (0, 0);
        for step in 0..seconds * 1_000 / 10 {
            let now = start + Duration::from_millis(10 * step);
            if step * 10 % interval == 0 {
                // Another port each time, as a forger may choose.
                let check = request(&local, "theirs", true, true);
                sent += check.len() + HEADERS;
                let from = path((step * 10 / interval) as u16);
                received += ice.check(now, from, DATAGRAM, &check).unwrap().reply.len() + HEADERS;
            }
            let checks = ice.take_checks(now);
            received += checks.iter().map(|(_, check)| check.len() + HEADERS).sum::<usize>();
        }
        let factor = received as f64 / sent as f64;
        assert!(factor < 2.8, "{factor:.2} at {interval} ms");
        assert_eq!(ice.best(), None);
    }
}
