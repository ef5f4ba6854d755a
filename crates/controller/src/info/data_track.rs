//! A data track, as others are told of it.

use super::{Encryption, text_len};
use serde::{Deserialize, Serialize};

/// A data track: frames of bytes, of which some may be lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataTrackInfo {
    /// The publisher's number for it, which is not 0. Its frames bear it.
    pub handle: u16,
    /// Its id.
    pub sid: String,
    /// Its name, which no other data track of its publisher has.
    pub name: String,
    /// How frames are encrypted from end to end. Passed through.
    pub encryption: Encryption,
    /// The encoding of frames, if it is stated. Passed through.
    pub encoding: Option<DataEncoding>,
    /// The schema of frames, if there is one. Passed through.
    pub schema: Option<DataSchema>,
}

/// A schema of data tracks, by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DataSchema {
    /// Its name.
    pub name: String,
    /// The language it is written in.
    pub encoding: DataEncoding,
}

/// The encoding of frames of a data track, or of a schema.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DataEncoding {
    /// Not stated.
    #[default]
    Unstated,
    /// One that clients have a number for. Passed through.
    WellKnown(i32),
    /// Another one, by name.
    Custom(String),
}

impl DataTrackInfo {
    /// About how many bytes it takes to tell of the track.
    pub(crate) fn told_len(&self) -> usize {
        const NUMBERS: usize = 16;
        let encoding = self.encoding.as_ref().map_or(0, DataEncoding::len);
        let schema = self.schema.as_ref().map_or(0, DataSchema::len);
        NUMBERS + text_len(&self.sid) + text_len(&self.name) + encoding + schema
    }
}

impl DataSchema {
    /// Bytes of its texts.
    pub(crate) fn len(&self) -> usize {
        self.name.len() + self.encoding.len()
    }
}

impl DataEncoding {
    fn len(&self) -> usize {
        match self {
            Self::Custom(name) => name.len(),
            Self::Unstated | Self::WellKnown(_) => 0,
        }
    }
}
