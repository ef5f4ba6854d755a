//! A verdict as lines for a terminal. Names of participants cannot control it.

use std::fmt::Write;

use timeline::{Finding, Severity, Verdict};

use super::super::terminal::escaped;

const DAY_MS: u64 = 86_400_000;

/// The verdict in lines. Times are in UTC.
pub(super) fn text(verdict: &Verdict) -> String {
    let Verdict {
        room,
        participant,
        from_ms,
        to_ms,
        summary,
        findings,
    } = verdict;
    let mut text = String::new();
    let line = format!(
        "{participant} in {room}, {} {} to {} UTC: {summary}",
        date(*from_ms),
        time(*from_ms),
        day_and_time(*to_ms, *from_ms)
    );
    let _ = writeln!(text, "{}", escaped(&line));
    for finding in findings {
        let _ = writeln!(text, "{}", escaped(&of_finding(finding, *from_ms)));
    }
    text
}

fn of_finding(finding: &Finding, from_ms: u64) -> String {
    let begin = day_and_time(finding.from_ms, from_ms);
    let span = match finding.from_ms / 1_000 == finding.to_ms / 1_000 {
        true => begin,
        false => format!("{begin} to {}", day_and_time(finding.to_ms, finding.from_ms)),
    };
    let note = match finding.severity {
        Severity::Fault => "",
        Severity::Info => "note: ",
    };
    format!("{span:<20} {note}{}", finding.text)
}

/// The time of a day, with the day if it is not that of another time.
fn day_and_time(at_ms: u64, other_ms: u64) -> String {
    match at_ms / DAY_MS == other_ms / DAY_MS {
        true => time(at_ms),
        false => format!("{} {}", date(at_ms), time(at_ms)),
    }
}

fn time(at_ms: u64) -> String {
    let seconds = at_ms % DAY_MS / 1_000;
    format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
fn date(at_ms: u64) -> String {
    let days = at_ms / DAY_MS + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, year) = match month {
        0..10 => (month + 3, year_of_era + era * 400),
        _ => (month - 9, year_of_era + era * 400 + 1),
    };
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use timeline::Cause;

    use super::*;

    #[test]
    fn explain_writes_dates_of_leap_years() {
        let cases = [
            (0, "1970-01-01"),
            (951_782_400_000, "2000-02-29"),
            (1_709_164_800_000, "2024-02-29"),
            (1_709_251_200_000, "2024-03-01"),
            (1_767_225_599_999, "2025-12-31"),
        ];
        for (at, text) in cases {
            assert_eq!(date(at), text);
        }
    }

    #[test]
    fn explain_writes_findings_with_their_times_and_harmless_names() {
        let finding = |from_ms, to_ms, severity, text: &str| Finding {
            from_ms,
            to_ms,
            severity,
            cause: Cause::Downlink,
            peer: None,
            text: text.to_owned(),
        };
        let verdict = Verdict {
            room: "<b>\u{1b}[2Jlobby".to_owned(),
            participant: "b\u{202e}en\n".to_owned(),
            from_ms: 1_767_225_000_000,
            to_ms: 1_767_225_600_000,
            summary: "2 faults were found".to_owned(),
            findings: vec![
                finding(
                    1_767_225_064_000,
                    1_767_225_190_500,
                    Severity::Fault,
                    "small picture from a\u{200f}da: it's नमस्ते",
                ),
                finding(1_767_225_590_000, 1_767_225_600_000, Severity::Info, "x"),
                finding(1_767_225_000_100, 1_767_225_000_900, Severity::Fault, "y"),
            ],
        };
        assert_eq!(
            text(&verdict),
            "b\\u{202e}en\\n in <b>\\u{1b}[2Jlobby, 2025-12-31 23:50:00 to 2026-01-01 00:00:00 UTC: 2 faults were found\n\
             23:51:04 to 23:53:10 small picture from a\\u{200f}da: it's नमस्ते\n\
             23:59:50 to 2026-01-01 00:00:00 note: x\n\
             23:50:00             y\n"
        );
    }
}
