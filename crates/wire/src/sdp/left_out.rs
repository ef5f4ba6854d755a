//! Parts of a description that could not be used.

use std::fmt;

/// Lines and sections that were left out of a description. The rest of the description holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// How many lines, or parts of lines.
    pub lines: usize,
    /// How many media sections. They are read as refused, so that the others keep their places.
    pub sections: usize,
    /// The first of them: the number of its line, counted from 1, and its fault.
    pub first: Option<(usize, Flaw)>,
}

/// The fault of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// It is not a letter, `=` and a value.
    NotALine,
    /// It has no readable value.
    Unreadable(&'static str),
    /// Its value is longer than [`VALUE_MAX`](crate::limits::VALUE_MAX).
    TooLong(&'static str),
    /// There is more of it than the limit in [`limits`](crate::limits) allows.
    TooMany(&'static str),
    /// It repeats an earlier line with another value.
    Repeated(&'static str),
}

impl LeftOut {
    /// Whether everything could be used.
    pub fn is_empty(&self) -> bool {
        self.lines == 0 && self.sections == 0
    }

    pub(super) fn line(&mut self, number: usize, flaw: Flaw) {
        self.lines += 1;
        self.first.get_or_insert((number, flaw));
    }

    pub(super) fn section(&mut self, number: usize, flaw: Flaw) {
        self.sections += 1;
        self.first.get_or_insert((number, flaw));
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} lines and {} media sections left out", self.lines, self.sections)?;
        match self.first {
            Some((number, flaw)) => write!(f, ", first line {number}: {flaw}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotALine => f.write_str("not a line of a description"),
            Self::Unreadable(name) => write!(f, "unreadable {name}"),
            Self::TooLong(name) => write!(f, "{name} is too long"),
            Self::TooMany(name) => write!(f, "too many {name}"),
            Self::Repeated(name) => write!(f, "{name} contradicts an earlier line"),
        }
    }
}
