//! The order of simulcast layers.
//!
//! The controller takes layers in the order of their `a=rid` lines, the worst first. Senders list
//! them in orders of their own.
//!
//! - `max-width` and `max-height` (RFC 8851) decide where each layer has both.
//! - Numbers fall: OBS calls its full size 0 and smaller ones 1 and 2. LiveKit reads them so, too.
//! - `low`, `mid` or `med` or `medium`, and `high` rise.
//! - Otherwise the order stays. The controller knows LiveKit's own names `q`, `h` and `f`.

use std::cmp::Reverse;

use wire::sdp::{RidDirection, RidLine};

/// Puts the layers that a client sends in rising order.
pub(crate) fn sort(lines: &mut [RidLine]) {
    if lines.iter().any(|line| line.direction != RidDirection::Send) {
        return;
    }
    if lines.iter().all(|line| size(line).is_some()) {
        lines.sort_by_key(size);
    } else if lines.iter().all(|line| number(line).is_some()) {
        lines.sort_by_key(|line| Reverse(number(line)));
    } else if lines.iter().all(|line| word(line).is_some()) {
        lines.sort_by_key(word);
    }
}

/// The width and the height that a layer has at most, in pixels.
pub(crate) fn size(line: &RidLine) -> Option<(u32, u32)> {
    let value = |name: &str| {
        let mut pairs = line
            .restrictions
            .split(';')
            .filter_map(|pair| pair.trim().split_once('='));
        let (_, value) = pairs.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        value.parse::<u32>().ok().filter(|value| *value > 0)
    };
    Some((value("max-width")?, value("max-height")?))
}

fn number(line: &RidLine) -> Option<u32> {
    line.rid.as_str().parse().ok()
}

fn word(line: &RidLine) -> Option<u8> {
    match line.rid.as_str() {
        "low" => Some(0),
        "mid" | "med" | "medium" => Some(1),
        "high" => Some(2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use wire::Rid;

    use super::*;

    fn sorted(names: &[(&str, &str)]) -> Vec<String> {
        let line = |(name, restrictions): &(&str, &str)| RidLine {
            rid: Rid::new(name).unwrap(),
            direction: RidDirection::Send,
            restrictions: (*restrictions).to_owned(),
        };
        let mut lines: Vec<_> = names.iter().map(line).collect();
        sort(&mut lines);
        lines.iter().map(|line| line.rid.to_string()).collect()
    }

    #[test]
    fn layers_rise_whatever_their_names() {
        assert_eq!(sorted(&[("0", ""), ("1", ""), ("2", "")]), ["2", "1", "0"]);
        assert_eq!(sorted(&[("2", ""), ("10", ""), ("1", "")]), ["10", "2", "1"]);
        assert_eq!(
            sorted(&[("high", ""), ("low", ""), ("med", "")]),
            ["low", "med", "high"]
        );
        assert_eq!(sorted(&[("q", ""), ("h", ""), ("f", "")]), ["q", "h", "f"]);
        assert_eq!(sorted(&[("b", ""), ("a", "")]), ["b", "a"], "nothing is known of these");
    }

    #[test]
    fn sizes_decide_before_names() {
        let large = "pt=96;max-width=1280;max-height=720";
        let small = "max-width=320; max-height=180";
        assert_eq!(sorted(&[("1", large), ("0", small)]), ["0", "1"]);
        assert_eq!(
            sorted(&[("0", small), ("1", "max-width=1280")]),
            ["1", "0"],
            "one has no height"
        );
    }
}
