//! Feedback that may be sent about a format.

/// The kinds of feedback that Weir knows, as named in descriptions.
const KINDS: [&str; 5] = ["goog-remb", "transport-cc", "ccm fir", "nack", "nack pli"];

/// A set of kinds of feedback, as `nack pli` (RFC 4585 section 4.2). Unknown kinds are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Feedback(u8);

impl Feedback {
    /// Whether feedback of this sort is in the set.
    pub fn contains(self, name: &str) -> bool {
        self.0 & bit(name) != 0
    }

    /// Adds a sort, if it is known.
    pub fn insert(&mut self, name: &str) {
        self.0 |= bit(name);
    }

    /// Takes a sort out.
    pub fn remove(&mut self, name: &str) {
        self.0 &= !bit(name);
    }

    /// The intersection of both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The union of both sets.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The names, always in the same order.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        KINDS.into_iter().filter(move |name| self.contains(name))
    }
}

impl<'a> FromIterator<&'a str> for Feedback {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> Self {
        names.into_iter().fold(Self::default(), |mut set, name| {
            set.insert(name);
            set
        })
    }
}

fn bit(name: &str) -> u8 {
    let is_called = |kind: &str| {
        let (mut known, mut said) = (kind.split(' '), name.split_ascii_whitespace());
        known.all(|word| said.next().is_some_and(|other| other.eq_ignore_ascii_case(word))) && said.next().is_none()
    };
    KINDS
        .iter()
        .position(|kind| is_called(kind))
        .map_or(0, |position| 1 << position)
}
