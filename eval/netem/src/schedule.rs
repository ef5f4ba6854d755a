//! A schedule of changes, in a form written by hand.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::Conditions;

/// Which way frames go: down is from the far interface to the near one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directions {
    /// Far to near.
    Down,
    /// Near to far.
    Up,
    /// Both ways alike.
    Both,
}

/// One word and its value, such as `rate 1M`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Setting {
    /// Bits a second, or unlimited.
    Rate(Option<u64>),
    /// Longest wait.
    Queue(Duration),
    /// Share lost.
    Loss(f64),
    /// Lost in a row, on average.
    Burst(f64),
    /// One way.
    Delay(Duration),
    /// Mean of the random delay.
    Jitter(Duration),
    /// Share of reordered frames.
    Reorder(f64),
}

/// A line such as `down rate 1M delay 25ms loss 1%`: settings that it does not name stay.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The directions that it applies to.
    pub directions: Directions,
    /// The new settings.
    pub settings: Vec<Setting>,
}

/// Changes with their times since the beginning, earliest first. One a line, as in `25s down rate
/// 1M`; `#` begins a comment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    /// Times and changes.
    pub changes: Vec<(Duration, Change)>,
}

/// The reason that a line is invalid; its author must act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyntaxError {
    /// Neither down, up nor both.
    Direction(String),
    /// No such setting.
    Setting(String),
    /// The setting has no value, or an invalid one.
    Value(String, String),
    /// Times must not go back.
    Order(String),
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SyntaxError::Direction(word) => write!(f, "\"{word}\" is not a direction: down, up or both"),
            SyntaxError::Setting(word) => write!(
                f,
                "\"{word}\" is not a setting: rate, queue, loss, burst, delay, jitter or reorder"
            ),
            SyntaxError::Value(setting, value) => write!(f, "\"{value}\" is no value for {setting}"),
            SyntaxError::Order(line) => write!(f, "\"{line}\" is earlier than the line before it"),
        }
    }
}

impl std::error::Error for SyntaxError {}

impl Change {
    /// `conditions` with this change made.
    pub fn apply(&self, mut conditions: Conditions) -> Conditions {
        for setting in &self.settings {
            match *setting {
                Setting::Rate(rate) => conditions.rate = rate,
                Setting::Queue(queue) => conditions.queue = queue,
                Setting::Loss(share) => conditions.loss.share = share,
                Setting::Burst(burst) => conditions.loss.burst = burst,
                Setting::Delay(delay) => conditions.delay = delay,
                Setting::Jitter(jitter) => conditions.jitter = jitter,
                Setting::Reorder(share) => conditions.reorder = share,
            }
        }
        conditions
    }
}

impl FromStr for Schedule {
    type Err = SyntaxError;

    fn from_str(text: &str) -> Result<Self, SyntaxError> {
        let mut changes: Vec<(Duration, Change)> = Vec::new();
        let lines = text
            .lines()
            .map(|line| line.split('#').next().unwrap_or_default().trim());
        for line in lines.filter(|line| !line.is_empty()) {
            let (time, change) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let at = duration(time).ok_or_else(|| SyntaxError::Value("time".to_owned(), time.to_owned()))?;
            if changes.last().is_some_and(|(before, _)| *before > at) {
                return Err(SyntaxError::Order(line.to_owned()));
            }
            changes.push((at, change.parse()?));
        }
        Ok(Schedule { changes })
    }
}

impl FromStr for Change {
    type Err = SyntaxError;

    fn from_str(text: &str) -> Result<Self, SyntaxError> {
        let mut words = text.split_whitespace();
        let directions = match words.next().unwrap_or_default() {
            "down" => Directions::Down,
            "up" => Directions::Up,
            "both" => Directions::Both,
            other => return Err(SyntaxError::Direction(other.to_owned())),
        };
        let mut settings = Vec::new();
        while let Some(name) = words.next() {
            settings.push(setting(name, words.next().unwrap_or_default())?);
        }
        Ok(Change { directions, settings })
    }
}

fn setting(name: &str, value: &str) -> Result<Setting, SyntaxError> {
    let parsed = match name {
        "rate" => rate(value).map(Setting::Rate),
        "queue" => duration(value).map(Setting::Queue),
        "loss" => share(value).map(Setting::Loss),
        "burst" => number(value).map(Setting::Burst),
        "delay" => duration(value).map(Setting::Delay),
        "jitter" => duration(value).map(Setting::Jitter),
        "reorder" => share(value).map(Setting::Reorder),
        other => return Err(SyntaxError::Setting(other.to_owned())),
    };
    parsed.ok_or_else(|| SyntaxError::Value(name.to_owned(), value.to_owned()))
}

/// `4M`, `500k`, `1000000` or `none`.
fn rate(text: &str) -> Option<Option<u64>> {
    if text == "none" {
        return Some(None);
    }
    let (digits, unit) = match text.as_bytes().last()? {
        b'k' => (&text[..text.len() - 1], 1e3),
        b'M' => (&text[..text.len() - 1], 1e6),
        _ => (text, 1.0),
    };
    let bits = number(digits)? * unit;
    (1.0..1e12).contains(&bits).then_some(Some(bits as u64))
}

/// `25ms`, `1.5s`, `0`.
fn duration(text: &str) -> Option<Duration> {
    let (digits, unit) = match text {
        _ if text.ends_with("ms") => (&text[..text.len() - 2], 1e-3),
        _ if text.ends_with('s') => (&text[..text.len() - 1], 1.0),
        _ => (text, 1.0),
    };
    let seconds = number(digits)? * unit;
    // A day is longer than any run, and anything longer is a slip of the pen.
    (seconds < 86_400.0).then(|| Duration::from_secs_f64(seconds))
}

/// `5%` or `0.05`.
fn share(text: &str) -> Option<f64> {
    let share = match text.strip_suffix('%') {
        Some(percent) => number(percent)? / 100.0,
        None => number(text)?,
    };
    (share <= 1.0).then_some(share)
}

fn number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|it| it.is_finite() && *it >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Loss;

    #[test]
    fn a_line_changes_the_named_settings_only() {
        let change: Change = "down rate 1.5M queue 200ms loss 5% burst 3 delay 25ms jitter 2ms reorder 0.01"
            .parse()
            .unwrap();
        assert_eq!(change.directions, Directions::Down);
        let conditions = change.apply(Conditions::default());
        let expected = Conditions {
            rate: Some(1_500_000),
            queue: Duration::from_millis(200),
            loss: Loss {
                share: 0.05,
                burst: 3.0,
            },
            delay: Duration::from_millis(25),
            jitter: Duration::from_millis(2),
            reorder: 0.01,
        };
        assert_eq!(conditions, expected);
        let change: Change = "both rate none".parse().unwrap();
        assert_eq!(change.apply(conditions), Conditions { rate: None, ..expected });
    }

    #[test]
    fn a_schedule_is_lines_with_times() {
        let schedule: Schedule = "# Steps\n0 down rate 4M\n\n25s down rate 500k # narrow\n"
            .parse()
            .unwrap();
        let times: Vec<u64> = schedule.changes.iter().map(|(at, _)| at.as_secs()).collect();
        assert_eq!(times, [0, 25]);
        assert_eq!(schedule.changes[1].1.settings, [Setting::Rate(Some(500_000))]);
    }

    #[test]
    fn slips_are_named() {
        let slip = |text: &str| text.parse::<Schedule>().unwrap_err().to_string();
        assert!(slip("0 sideways rate 1M").contains("sideways"));
        assert!(slip("0 down speed 1M").contains("speed"));
        assert!(slip("0 down rate").contains("rate"));
        assert!(slip("0 down rate 0").contains("rate"));
        assert!(slip("0 down loss 101%").contains("loss"));
        assert!(slip("0 down delay -1ms").contains("delay"));
        assert!(slip("soon down delay 1ms").contains("soon"));
        assert!(slip("2s down loss 0\n1s down loss 0").contains("earlier"));
    }
}
