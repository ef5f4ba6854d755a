//! The effect of connectivity checks, by their contents.

use super::*;
use is::stun::TransId;

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

#[test]
fn a_valid_check_is_answered_with_the_address_it_came_from() {
    let (now, local) = (Instant::now(), credentials("ours"));
    let mut ice = Ice::new(local.clone());
    let checked = ice
        .check(now, path(1), &request(&local, "theirs", true, false))
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
    let mut ice = Ice::new(local.clone());
    for (seen, told) in [
        ("[2001:db8::7]:9", "[2001:db8::7]:9"),
        ("[::ffff:198.51.100.7]:9", "198.51.100.7:9"),
    ] {
        let path = Path {
            local: "[2001:db8::1]:7882".parse().unwrap(),
            remote: seen.parse().unwrap(),
        };
        let checked = ice.check(now, path, &request(&local, "theirs", true, false)).unwrap();
        assert_eq!(
            StunMessage::parse(&checked.reply).unwrap().mapped_address(),
            Some(told.parse().unwrap())
        );
    }
}

#[test]
fn a_check_that_is_not_right_in_every_way_gets_no_answer() {
    let (now, local) = (Instant::now(), credentials("ours"));
    let mut ice = Ice::new(local.clone());
    let good = request(&local, "theirs", true, true);
    for position in 0..good.len() {
        let mut bad = good.clone();
        bad[position] ^= 1;
        assert!(ice.check(now, path(1), &bad).is_err(), "byte {position}");
        assert!(ice.check(now, path(1), &good[..position]).is_err(), "cut at {position}");
    }
    let wrong_password = IceCredentials {
        password: "another-password-of-22-chars".into(),
        ..local.clone()
    };
    let check = |ice: &mut Ice, bytes: &[u8]| ice.check(now, path(1), bytes).map(|_| ());
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
    let mut ice = Ice::new(local.clone());
    for (port, nominate) in [(1, false), (2, true), (3, false), (3, true), (2, false)] {
        ice.check(now, path(port), &request(&local, "theirs", true, nominate))
            .unwrap();
    }
    assert_eq!(ice.paths().collect::<Vec<_>>(), [path(3), path(2), path(1)]);
    assert!(ice.is_nominated());
}

#[test]
fn a_peer_that_thinks_it_is_controlled_is_told_to_switch() {
    let (now, local) = (Instant::now(), credentials("ours"));
    let mut ice = Ice::new(local.clone());
    let checked = ice
        .check(now, path(1), &request(&local, "theirs", false, false))
        .unwrap();
    let reply = StunMessage::parse(&checked.reply).unwrap();
    assert_eq!(reply.error_code().map(|(code, _)| code), Some(487));
    assert!(!checked.consents && ice.best().is_none());
}

#[test]
fn old_credentials_work_until_a_pair_is_nominated_with_the_new_ones() {
    let (now, old, new) = (Instant::now(), credentials("old"), credentials("new"));
    let mut ice = Ice::new(old.clone());
    ice.check(now, path(1), &request(&old, "theirs", true, true)).unwrap();
    ice.restart(new.clone());
    ice.check(now, path(1), &request(&old, "theirs", true, true)).unwrap();
    ice.check(now, path(2), &request(&new, "fresh", true, false)).unwrap();
    assert_eq!(ice.best(), Some(path(1)));
    ice.check(now, path(2), &request(&new, "fresh", true, true)).unwrap();
    assert_eq!(ice.best(), Some(path(2)));
    ice.check(now, path(1), &request(&old, "theirs", true, true))
        .unwrap_err();
    assert_eq!(ice.ufrags().collect::<Vec<_>>(), ["new"]);
}

#[test]
fn a_peer_that_moves_is_followed_before_it_has_the_new_credentials() {
    let (start, old, new) = (Instant::now(), credentials("old"), credentials("new"));
    let mut ice = Ice::new(old.clone());
    ice.check(start, path(1), &request(&old, "theirs", true, true)).unwrap();
    ice.restart(new.clone());
    let now = start + Duration::from_secs(2);
    let elsewhere = Path {
        remote: "203.0.113.5:2".parse().unwrap(),
        ..path(2)
    };
    let checked = ice.check(now, elsewhere, &request(&old, "fresh", true, true)).unwrap();
    assert_eq!((checked.change, ice.best()), (PathChange::Moved, Some(elsewhere)));
    let checked = ice.check(now, elsewhere, &request(&new, "fresh", true, true)).unwrap();
    assert_eq!((checked.change, ice.best()), (PathChange::Nothing, Some(elsewhere)));
    let checked = ice.check(now, path(3), &request(&new, "fresh", true, true)).unwrap();
    assert_eq!(checked.change, PathChange::Paths, "the pair before it is in use");
    let later = now + Duration::from_secs(2);
    let checked = ice.check(later, path(4), &request(&new, "fresh", true, true)).unwrap();
    assert_eq!(checked.change, PathChange::Paths, "the address is the same");
}

#[test]
fn the_stalest_pair_makes_room_and_never_the_nominated_one() {
    let (start, local) = (Instant::now(), credentials("ours"));
    let mut ice = Ice::new(local.clone());
    for port in 0..20 {
        let now = start + Duration::from_secs(u64::from(port));
        ice.check(now, path(port), &request(&local, "theirs", true, port == 0))
            .unwrap();
    }
    let mut expected = vec![path(0)];
    expected.extend((13..20).map(path));
    assert_eq!(ice.paths().collect::<Vec<_>>(), expected);
    assert!(ice.prune(start + Duration::from_secs(46), Duration::from_secs(30)));
    assert_eq!(ice.paths().collect::<Vec<_>>(), [path(0), path(17), path(18), path(19)]);
}

#[test]
fn a_leg_without_encryption_has_no_path_over_tcp() {
    let (now, local) = (Instant::now(), credentials("ours"));
    let mut ice = Ice::new(local.clone());
    let tcp = Path {
        local: "192.0.2.1:7881".parse().unwrap(),
        ..path(2)
    };
    for at in [tcp, path(1)] {
        ice.check(now, at, &request(&local, "theirs", true, false)).unwrap();
    }
    let config = Config {
        tcp_addresses: vec![tcp.local],
        ..Config::new(vec![path(1).local], crate::Certificate::generate().unwrap())
    };
    assert_eq!(ice.leg_paths(&Protection::Pending, &config), [tcp, path(1)]);
    assert_eq!(ice.leg_paths(&Protection::Clear, &config), [path(1)]);
}
