//! Lines about the names of sections.

use super::{Attributes, Rewrite, Writer};
use crate::sdp::{Description, Line};

/// The header extension with the name of a packet's section (RFC 9143 section 15).
const MID_EXTENSION: &str = "urn:ietf:params:rtp-hdrext:sdes:mid";

/// Whether the value of `a=extmap` is about that one.
pub(super) fn is_mid_extension(value: &str) -> bool {
    value.split_ascii_whitespace().nth(1) == Some(MID_EXTENSION)
}

impl Writer {
    /// A group with the names of its sections as they are written; none if one has no name any
    /// more.
    pub(super) fn group(&mut self, line: &Line<'_>, value: &str, description: &Description<'_>, rewrite: &Rewrite) {
        let written = |name: &str| {
            let mut changes = description.sections.iter().zip(&rewrite.sections);
            match changes
                .find(|(section, _)| section.mid == Some(name))
                .map(|(_, change)| &change.mid)
            {
                Some(Attributes::Replace(other)) => Some(other.clone()),
                Some(Attributes::Strip) => None,
                Some(Attributes::Keep) | None => Some(name.to_owned()),
            }
        };
        if rewrite.sections.iter().all(|change| change.mid == Attributes::Keep) {
            return self.keep(line);
        }
        let mut words = value.split_ascii_whitespace();
        let semantics = words.next().unwrap_or_default();
        let names: Option<Vec<String>> = words.map(written).collect();
        if let Some(names) = names {
            self.attribute(format_args!("group:{semantics} {}", names.join(" ")));
        }
    }
}
