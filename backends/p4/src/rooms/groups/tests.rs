use proptest::prelude::*;

use super::*;

fn members(rids: impl IntoIterator<Item = u16>) -> Members {
    rids.into_iter().map(|rid| (2, rid)).collect()
}

fn group(replication: Replication, before: Option<&Group>, members: Members) -> Group {
    Group {
        places: Places::new(replication, before.map(|group| &group.places), &members),
        members,
        users: 0,
        entries: Entries::new(),
    }
}

#[test]
fn each_mode_has_its_form_of_a_group() {
    let form = |replication, count| {
        let group = group(replication, None, members(1..=count));
        let entries = entries(7, &group.members, &group.places);
        (group.places.branches, entries.len())
    };
    assert_eq!(form(Replication::Multicast, 1), (1, 1), "two parties need no tree");
    assert_eq!(form(Replication::Recirculation, 3), (3, 3));
    assert_eq!(form(Replication::Tree, 1), (0, 1));
    assert_eq!(form(Replication::Tree, 2), (1, 2));
    assert_eq!(form(Replication::Tree, 5), (3, 5));
    assert_eq!(form(Replication::Tree, 8), (3, 8));
}

#[test]
fn positions_stay_and_the_first_free_one_is_taken() {
    let positions = |replication, sets: &[&[u16]]| {
        let mut last: Option<Group> = None;
        for set in sets {
            last = Some(group(replication, last.as_ref(), members(set.iter().copied())));
        }
        let places = last.unwrap().places;
        (places.branches, places.positions.into_iter().collect::<Vec<_>>())
    };
    let recirculated = positions(Replication::Recirculation, &[&[5, 6, 7], &[5, 7], &[1, 5, 7, 9]]);
    assert_eq!(recirculated, (4, vec![(1, 1), (5, 0), (7, 2), (9, 3)]));
    let tree = positions(Replication::Tree, &[&[5, 6], &[5, 6, 7]]);
    assert_eq!(
        tree,
        (2, vec![(5, 0), (6, 2), (7, 1)]),
        "a higher tree doubles positions"
    );
    let lower = positions(Replication::Tree, &[&[5, 6, 7], &[6]]);
    assert_eq!(lower, (2, vec![(6, 1)]), "it does not become lower");
    let multicast = positions(Replication::Multicast, &[&[5, 6, 7], &[6]]);
    assert_eq!(multicast, (1, vec![(6, 0)]));
}

/// The rids that a packet reaches which finds the group of `at(n)` in its n-th pass.
fn reached<'a>(replication: Replication, at: impl Fn(usize) -> &'a Group) -> Vec<u16> {
    let mut reached = Vec::new();
    // Positions and depths; passes of one level follow each other.
    let mut waiting = std::collections::VecDeque::from([(0_u16, 0_u16)]);
    let mut pass = 0;
    while let Some((position, depth)) = waiting.pop_front() {
        let group = at(pass);
        pass += 1;
        let places = &group.places;
        if replication == Replication::Tree && depth < places.branches {
            waiting.extend([(position << 1, depth + 1), (position << 1 | 1, depth + 1)]);
            continue;
        }
        let there = places.positions.iter().find(|(_, at)| **at == position);
        reached.extend(there.map(|(rid, _)| *rid));
        if replication == Replication::Recirculation && position + 1 < places.branches {
            waiting.push_back((position + 1, depth));
        }
    }
    reached
}

proptest! {
    #[test]
    fn a_packet_that_meets_the_next_groups_on_its_way_reaches_those_that_stay_once(
        sets in prop::collection::vec(prop::collection::btree_set(1_u16..12, 1..9), 2..5),
        changes in prop::collection::vec(0_usize..24, 4),
        is_tree: bool,
    ) {
        let replication = if is_tree { Replication::Tree } else { Replication::Recirculation };
        let mut groups: Vec<Group> = Vec::new();
        for set in &sets {
            let next = group(replication, groups.last(), members(set.iter().copied()));
            prop_assert!(groups.last().is_none_or(|last| next.places.follow(replication, &last.places)));
            groups.push(next);
        }
        let mut changes = changes;
        changes.sort_unstable();
        let at = |pass: usize| {
            let passed = changes.iter().filter(|change| **change <= pass).count();
            &groups[passed.min(groups.len() - 1)]
        };
        let reached = reached(replication, at);
        let stays = |rid: &u16| sets.iter().all(|set| set.contains(rid));
        for rid in (1..12).filter(stays) {
            prop_assert_eq!(reached.iter().filter(|other| **other == rid).count(), 1, "{}: {:?}", rid, &reached);
        }
    }
}
