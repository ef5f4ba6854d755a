//! Targets for one relay relative to another.

use std::fmt::Write as _;

use harness::Spread;

use super::rounds::how_often;
use super::{Figures, Measured, Section, cell, notes};

/// A bound on the ratio of two relays' figures.
pub(crate) struct Target {
    relays: [&'static str; 2],
    what: &'static str,
    most: f64,
    figure: fn(&Figures<'_>) -> Option<f64>,
}

pub(crate) const fn target(
    relays: [&'static str; 2],
    most: f64,
    what: &'static str,
    figure: fn(&Figures<'_>) -> Option<f64>,
) -> Target {
    Target {
        relays,
        what,
        most,
        figure,
    }
}

/// Which targets are met, a line each.
pub(crate) fn judged(all: &[Measured], targets: &[Target]) -> String {
    let mut text = String::from("| ratio | of | target | found | |\n|---|---|---|---|---|\n");
    for target in targets {
        let [ours, theirs] = target.relays;
        let ratio = ratio(all, target.relays, target.figure);
        let verdict = verdict(ratio, target.most);
        let _ = writeln!(
            text,
            "| {ours} / {theirs} | {} | at most {} | {} | {verdict} |",
            target.what,
            target.most,
            cell(ratio, 3)
        );
    }
    text
}

/// Whether the target was met in every round.
fn verdict(ratio: Option<Spread>, most: f64) -> &'static str {
    match ratio {
        None => "not measured",
        Some(ratio) if ratio.greatest <= most => "met",
        Some(ratio) if ratio.least > most => "missed",
        Some(_) => "met in some rounds, missed in others",
    }
}

/// Ratios of two relays' figures, round by round.
fn ratio(all: &[Measured], relays: [&str; 2], figure: impl Fn(&Figures<'_>) -> Option<f64>) -> Option<Spread> {
    let of = |relay: &str, round: u32| {
        let measured = all.iter().find(|it| it.relay == relay && it.round == round)?;
        figure(&Figures::of(measured, all)?)
    };
    let rounds = 1..=all.iter().map(|measured| measured.round).max().unwrap_or(0);
    let ratios = rounds.filter_map(|round| Some(of(relays[0], round)? / of(relays[1], round)?));
    Spread::of(ratios.filter(|ratio| ratio.is_finite()))
}

/// Rounds, their results, the targets met, and doubts.
pub(crate) fn section(all: &[Measured], found: String, targets: &[Target], drawing: String) -> Section {
    Section {
        how: how_often(all),
        text: found + "\n" + &judged(all, targets) + &notes(all),
        drawing,
    }
}
