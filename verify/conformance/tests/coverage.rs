//! The table of verbs that histories draw: complete, and without a verb that no plane draws.

use std::collections::BTreeMap;

use conformance::coverage::{Plane, VERBS};

/// Verbs that one plane alone can take, and the reason.
const OF_ONE_PLANE: [(&str, &str); 1] = [("feedback", "only a switch forwards RTCP; all others refuse the entry")];

/// The counts of the README, by verb, in the order of the planes.
fn table() -> BTreeMap<String, Vec<u64>> {
    let text = include_str!("../README.md");
    let (_, section) = text.split_once("## Verbs that histories draw").expect("it is there");
    let table = section.lines().skip_while(|line| !line.starts_with('|'));
    // Behind the heads and the rule below them.
    let rows = table.take_while(|line| line.starts_with('|')).skip(2);
    let count = |cell: &str| -> u64 {
        let digits: String = cell.split(' ').next().unwrap_or("").replace(',', "");
        digits.parse().unwrap_or(0)
    };
    let row = |line: &str| {
        let mut cells = line.trim_matches('|').split('|').map(str::trim);
        let verb = cells.next().expect("each row has a verb").to_owned();
        (verb, cells.map(count).collect())
    };
    rows.map(row).collect()
}

#[test]
fn the_table_of_verbs_is_complete() {
    let table = table();
    let listed: Vec<&str> = VERBS.iter().map(|verb| verb.name).collect();
    for verb in &listed {
        let counts = table
            .get(*verb)
            .unwrap_or_else(|| panic!("the README has no row: {verb}"));
        assert_eq!(counts.len(), Plane::ALL.len(), "{verb}");
    }
    let unknown: Vec<_> = table.keys().filter(|verb| !listed.contains(&verb.as_str())).collect();
    assert!(unknown.is_empty(), "verbs that nothing draws: {unknown:?}");
}

#[test]
fn the_table_has_no_verb_that_no_plane_draws() {
    for (verb, counts) in table() {
        let beside_model = counts[1..].iter().filter(|count| **count > 0).count();
        let least = if OF_ONE_PLANE.iter().any(|(name, _)| *name == verb) {
            1
        } else {
            2
        };
        assert!(
            beside_model >= least,
            "{verb} is drawn on {beside_model} planes: {counts:?}"
        );
    }
}
