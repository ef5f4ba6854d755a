//! Mixes of meetings.

use std::fmt;

use serde::Deserialize;

use crate::kind::{Adaptation, Kind};
use crate::limits::{COUNT_MAX, KINDS_MAX, PARTICIPANTS_MAX, VIDEO_BITS_MAX};

/// The mixes that are shipped with the program. All are synthetic.
pub const MIXES: [(&str, &str); 3] = [
    ("campus", include_str!("../mixes/campus.csv")),
    ("campus-clear", include_str!("../mixes/campus-clear.csv")),
    ("webinars", include_str!("../mixes/webinars.csv")),
];

/// Names of qualities, and bits a second of such a video.
///
/// Source: `low`, `medium` and `high` are Scallop's (section 8.4); the others are the presets of
/// `livekit-client`.
pub const QUALITIES: [(&str, u64); 9] = [
    ("low", 1_000_000),
    ("medium", 1_500_000),
    ("high", 3_000_000),
    ("180p", 160_000),
    ("360p", 450_000),
    ("540p", 800_000),
    ("720p", 1_700_000),
    ("1080p", 3_000_000),
    ("none", 0),
];

/// Meetings of several kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mix {
    /// Its name: that of the file, or the question.
    pub name: String,
    /// The kinds, and how many meetings there are of each.
    pub kinds: Vec<(u64, Kind)>,
}

/// The reason why a mix cannot be used: a sentence with the line and the cure.
#[derive(Debug, PartialEq, Eq)]
pub struct MixError(String);

impl fmt::Display for MixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for MixError {}

/// A row of a mix, or a question.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Meetings of this kind.
    pub count: u64,
    /// Participants of each.
    pub participants: u64,
    /// Those who send.
    pub senders: u64,
    /// A name of [`QUALITIES`], or kbit/s of a sender's video.
    pub quality: String,
    /// `yes` or `no`; `yes` by default.
    #[serde(default)]
    pub encrypted: Option<Answer>,
    /// The differences between receivers; none by default.
    #[serde(default)]
    pub adaptation: Option<Adaptation>,
    /// Whether senders also send audio, `yes` or `no`; `yes` by default.
    #[serde(default)]
    pub audio: Option<Answer>,
}

/// An answer in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// It is so.
    Yes,
    /// It is not.
    No,
}

impl Mix {
    /// A shipped mix, by its name.
    pub fn shipped(name: &str) -> Option<Self> {
        let (name, text) = MIXES.iter().find(|(other, _)| *other == name)?;
        Self::parse(name, text).ok()
    }

    /// Meetings of all kinds.
    pub fn meetings(&self) -> u64 {
        self.kinds.iter().map(|(count, _)| count).sum()
    }

    /// A mix of one kind.
    ///
    /// Errors: a number is out of its range.
    pub fn of(name: &str, row: &Row) -> Result<Self, MixError> {
        let kind = row.kind().map_err(MixError)?;
        Ok(Self {
            name: name.to_owned(),
            kinds: vec![(row.count, kind)],
        })
    }

    /// Reads a mix: CSV (RFC 4180) with the names of [`Row`] in the first line; lines that begin
    /// with `#` are comments.
    ///
    /// Errors: a line that cannot be used, with its number.
    pub fn parse(name: &str, text: &str) -> Result<Self, MixError> {
        let mut reader = csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let refuse = |line: u64, reason: String| MixError(format!("{name}, line {line}: {reason}"));
        let unreadable = |error: csv::Error| refuse(error.position().map_or(0, csv::Position::line), described(&error));
        let names = reader.headers().map_err(unreadable)?.clone();
        let mut kinds = Vec::new();
        for record in reader.records() {
            let record = record.map_err(unreadable)?;
            let line = record.position().map_or(0, csv::Position::line);
            if kinds.len() == KINDS_MAX {
                return Err(refuse(
                    line,
                    format!("a mix has at most {KINDS_MAX} rows: add up equal meetings"),
                ));
            }
            let row: Row = record
                .deserialize(Some(&names))
                .map_err(|error| refuse(line, misread(&error, &names, &record)))?;
            let kind = row.kind().map_err(|fault| refuse(line, fault))?;
            kinds.push((row.count, kind));
        }
        if kinds.is_empty() {
            let header = "count,participants,senders,quality";
            return Err(MixError(format!(
                "{name}: there is no row: the first line is \"{header}\", and each other one a kind of meeting"
            )));
        }
        Ok(Self {
            name: name.to_owned(),
            kinds,
        })
    }
}

/// The reason why a line is no row.
fn described(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} cells, and {expected_len} names in the first line")
        }
        csv::ErrorKind::Utf8 { .. } => "the text is not UTF-8".to_owned(),
        _ => error.to_string(),
    }
}

/// The reason why a row cannot be read, with the name and the content of the cell.
fn misread(error: &csv::Error, names: &csv::StringRecord, record: &csv::StringRecord) -> String {
    let csv::ErrorKind::Deserialize { err, .. } = error.kind() else {
        return described(error);
    };
    match err.field().map(|at| at as usize) {
        Some(at) => {
            let [name, cell] = [names, record].map(|cells| cells.get(at).unwrap_or_default());
            format!("`{name}` is \"{cell}\": {}", err.kind())
        }
        None => err.kind().to_string(),
    }
}

impl Row {
    fn kind(&self) -> Result<Kind, String> {
        let most = u64::from(PARTICIPANTS_MAX);
        if !(1..=COUNT_MAX).contains(&self.count) {
            return Err(format!("`count` is {}: it has to be from 1 to {COUNT_MAX}", self.count));
        }
        if !(2..=most).contains(&self.participants) {
            let found = self.participants;
            return Err(format!("`participants` is {found}: a meeting has 2 to {most}"));
        }
        if !(1..=self.participants).contains(&self.senders) {
            let (found, most) = (self.senders, self.participants);
            return Err(format!(
                "`senders` is {found}: from 1 to the {most} participants may send"
            ));
        }
        let video = quality(&self.quality)?;
        let has_audio = self.audio != Some(Answer::No);
        if video == 0 && !has_audio {
            return Err("senders send neither audio nor video: say `audio` yes or give a `quality`".into());
        }
        Ok(Kind {
            participants: self.participants,
            senders: self.senders,
            video,
            has_audio,
            is_encrypted: self.encrypted != Some(Answer::No),
            adaptation: self.adaptation.unwrap_or_default(),
        })
    }
}

/// Bits a second of a video.
fn quality(text: &str) -> Result<u64, String> {
    if let Some((_, bits)) = QUALITIES.iter().find(|(name, _)| *name == text) {
        return Ok(*bits);
    }
    let kbits = text.parse::<u64>().ok().and_then(|kbits| kbits.checked_mul(1_000));
    kbits.filter(|bits| *bits <= VIDEO_BITS_MAX).ok_or_else(|| {
        let names: Vec<_> = QUALITIES.iter().map(|(name, _)| *name).collect();
        format!(
            "`quality` is \"{text}\": it has to be one of {}, or kbit/s up to 100000",
            names.join(", ")
        )
    })
}
