//! Requests that are not carried out.

use crate::limits::{UNDONE_MAX, UNDONE_NAME_MAX};

/// The names of requests that are not carried out, for the reply and the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// Unknown names.
    pub unknown: Names,
    /// These are known, and make a difference that is missing.
    pub ignored: Names,
    /// These cannot be done by a relay without codecs: the request is refused, unless the operator
    /// tolerates them.
    pub wishes: Vec<Wish>,
}

/// Names, of which the first are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// How many there were.
    pub count: u64,
    /// The first of them, each once and cut to a length.
    pub kept: Vec<String>,
}

impl Names {
    /// One more.
    pub fn push(&mut self, name: &str) {
        self.count += 1;
        let cut = name
            .char_indices()
            .nth(UNDONE_NAME_MAX)
            .map_or(name.len(), |(at, _)| at);
        let name = &name[..cut];
        if self.kept.len() < UNDONE_MAX && !self.kept.iter().any(|kept| kept == name) {
            self.kept.push(name.to_owned());
        }
    }
}

/// Functions that a relay without codecs does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wish {
    /// Codecs that were not offered.
    Transcode,
    /// Packets of another length.
    Ptime,
    /// Fax over audio, or audio as fax.
    T38,
    /// Tones inserted into audio.
    InjectDtmf,
    /// One more candidate beside those of the other party.
    ForceRelay,
}

impl Wish {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Transcode,
        Self::Ptime,
        Self::T38,
        Self::InjectDtmf,
        Self::ForceRelay,
    ];

    /// The operator's name for it, which is rtpengine's.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transcode => "transcode",
            Self::Ptime => "ptime",
            Self::T38 => "T.38",
            Self::InjectDtmf => "inject-DTMF",
            Self::ForceRelay => "force-relay",
        }
    }

    /// Why a request is refused.
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::Transcode => "Transcoding is not supported",
            Self::Ptime => "Repacketising is not supported",
            Self::T38 => "T.38 gateways are not supported",
            Self::InjectDtmf => "Injecting DTMF is not supported",
            Self::ForceRelay => "ICE=force-relay is not supported",
        }
    }
}

impl Undone {
    /// The request is not of the kind that these are for.
    pub(crate) fn forget(&mut self, wishes: &[Wish]) {
        self.wishes.retain(|wish| !wishes.contains(wish));
    }

    /// Moves tolerated wishes to the ignored ones; returns the first that is not tolerated.
    pub(crate) fn tolerate(&mut self, tolerated: &[Wish]) -> Option<Wish> {
        for wish in std::mem::take(&mut self.wishes) {
            if !tolerated.contains(&wish) {
                return Some(wish);
            }
            self.ignored.push(wish.name());
        }
        None
    }

    /// All names, as text for the reply; `None` if there are none.
    pub(crate) fn warning(&self) -> Option<String> {
        let list = |what: &str, names: &Names| {
            let more = if names.count > names.kept.len() as u64 {
                " and more"
            } else {
                ""
            };
            (names.count > 0).then(|| format!("{what}: {}{more}", names.kept.join(", ")))
        };
        let lists = [
            list("Not done", &self.ignored),
            list("Unknown flags were ignored", &self.unknown),
        ];
        let lists: Vec<String> = lists.into_iter().flatten().collect();
        (!lists.is_empty()).then(|| lists.join("; "))
    }
}
