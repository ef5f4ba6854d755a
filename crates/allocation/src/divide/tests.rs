use proptest::prelude::*;

use super::*;

/// Ladders by cost and utility of each rung.
fn ladders(rungs: &[&[(u64, f64)]]) -> Ladders {
    let mut ladders = Ladders::default();
    rungs.iter().for_each(|rungs| ladders.push_rungs(rungs, true));
    ladders
}

fn costs(budget: u64, ladders: &Ladders) -> Vec<u64> {
    plan(budget, ladders)
        .iter()
        .map(|rung| rung.map_or(0, |rung| rung.cost.0))
        .collect()
}

fn plan(budget: u64, ladders: &Ladders) -> Vec<Option<Rung>> {
    let mut plan = Vec::new();
    let budget = Budget {
        lowest: BitRate(budget),
        all: BitRate(budget),
        had_counts: 1.0,
    };
    Divider::default().divide(budget, ladders, &mut plan);
    plan
}

#[test]
fn everybody_has_something_before_anybody_has_more() {
    let three: &[(u64, f64)] = &[(100, 1.0), (400, 9.0)];
    assert_eq!(costs(399, &ladders(&[three, three, three])), [100, 100, 100]);
    assert_eq!(costs(299, &ladders(&[three, three, three])), [100, 100, 0]);
}

#[test]
fn the_rest_goes_to_the_best_gain_per_bit() {
    let dull: &[(u64, f64)] = &[(100, 1.0), (200, 1.5)];
    let fine: &[(u64, f64)] = &[(100, 1.0), (200, 4.0)];
    assert_eq!(costs(300, &ladders(&[dull, fine])), [100, 200]);
}

#[test]
fn a_step_without_room_leaves_it_to_the_next_best() {
    let large: &[(u64, f64)] = &[(100, 1.0), (900, 99.0)];
    let small: &[(u64, f64)] = &[(100, 1.0), (200, 2.0)];
    assert_eq!(costs(500, &ladders(&[large, small])), [100, 200]);
}

#[test]
fn a_rung_beneath_the_hull_is_taken_when_only_it_fits() {
    let ladder: &[(u64, f64)] = &[(100, 1.0), (200, 1.1), (300, 4.0)];
    assert_eq!(costs(250, &ladders(&[ladder])), [200]);
    assert_eq!(costs(300, &ladders(&[ladder])), [300]);
}

#[test]
fn streams_that_must_not_pause_come_first() {
    let mut ladders = Ladders::default();
    ladders.push_rungs(&[(100, 1.0)], true);
    ladders.push_rungs(&[(100, 1.0), (101, 2.0)], false);
    assert_eq!(costs(0, &ladders), [0, 100]);
    assert_eq!(costs(199, &ladders), [0, 101]);
    assert_eq!(costs(200, &ladders), [100, 100]);
}

#[test]
fn a_little_more_gain_takes_nothing_from_others() {
    let mut ladders = ladders(&[&[(100, 1.0), (200, 3.0)], &[(100, 1.0), (200, 2.5)]]);
    ladders.had(1, 2.5);
    let mut plan = Vec::new();
    for (had_counts, expected) in [(1.0, [200, 100]), (1.25, [200, 100]), (2.0, [100, 200])] {
        let budget = Budget {
            lowest: BitRate(300),
            all: BitRate(300),
            had_counts,
        };
        Divider::default().divide(budget, &ladders, &mut plan);
        let costs: Vec<u64> = plan.iter().flatten().map(|rung| rung.cost.0).collect();
        assert_eq!(costs, expected, "{had_counts}");
    }
}

#[test]
fn the_spare_part_pauses_no_stream() {
    let ladder: &[(u64, f64)] = &[(100, 1.0), (200, 2.0)];
    let ladders = ladders(&[ladder, ladder]);
    let mut plan = Vec::new();
    let budget = Budget {
        lowest: BitRate(300),
        all: BitRate(200),
        had_counts: 1.0,
    };
    Divider::default().divide(budget, &ladders, &mut plan);
    assert!(
        plan.iter()
            .all(|rung| rung.is_some_and(|rung| rung.cost == BitRate(100)))
    );
}

/// A ladder of up to nine rungs whose costs and utilities rise by anything.
fn any_ladder() -> impl Strategy<Value = (Vec<(u64, f64)>, bool)> {
    let rises = prop::collection::vec((1_u64..1_000, 1_u32..1_000), 1..9);
    let climb = |rises: Vec<(u64, u32)>| {
        let climb = |at: &mut (u64, f64), (cost, utility): (u64, u32)| {
            *at = (at.0 + cost, at.1 + f64::from(utility));
            Some(*at)
        };
        rises.into_iter().scan((0, 0.0), climb).collect()
    };
    (rises.prop_map(climb), prop::bool::weighted(0.9))
}

fn any_ladders() -> impl Strategy<Value = Ladders> {
    prop::collection::vec(any_ladder(), 0..8).prop_map(|rungs| {
        let mut ladders = Ladders::default();
        rungs
            .iter()
            .for_each(|(rungs, may_pause)| ladders.push_rungs(rungs, *may_pause));
        ladders
    })
}

fn cost(plan: &[Option<Rung>]) -> u64 {
    plan.iter().flatten().map(|rung| rung.cost.0).sum()
}

fn held(ladders: &Ladders) -> u64 {
    let held = (0..ladders.len()).filter(|ladder| !ladders.may_pause(*ladder));
    held.map(|ladder| ladders.get(ladder)[0].cost.0).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_plan_costs_no_more_than_there_is(ladders in any_ladders(), budget in 0_u64..12_000) {
        prop_assert!(cost(&plan(budget, &ladders)) <= budget.max(held(&ladders)));
    }

    #[test]
    fn more_budget_is_never_worth_less(ladders in any_ladders(), budget in 0_u64..12_000, more in 0_u64..2_000) {
        let (poor, rich) = (plan(budget, &ladders), plan(budget + more, &ladders));
        let sent = |plan: &[Option<Rung>]| plan.iter().map(Option::is_some).collect::<Vec<_>>();
        let worth = |plan: &[Option<Rung>]| plan.iter().flatten().map(|rung| rung.utility).sum::<f64>();
        prop_assert!(sent(&rich) >= sent(&poor), "the most important ones are sent first");
        if sent(&rich) == sent(&poor) {
            prop_assert!(worth(&rich) >= worth(&poor) - 1e-6, "{} < {}", worth(&rich), worth(&poor));
        }
    }

    /// Lowering all more important videos to their lowest rung would not make room for a paused
    /// one.
    #[test]
    fn nothing_is_paused_that_others_could_make_room_for(ladders in any_ladders(), budget in 0_u64..6_000) {
        let plan = plan(budget, &ladders);
        for paused in (0..plan.len()).filter(|ladder| plan[*ladder].is_none()) {
            let first = (0..plan.len()).filter(|other| plan[*other].is_some());
            let first = first.filter(|other| *other < paused || !ladders.may_pause(*other));
            let lowest: u64 = first.map(|other| ladders.get(other)[0].cost.0).sum();
            prop_assert!(lowest + ladders.get(paused)[0].cost.0 > budget);
        }
    }
}
