//! Names of sections (`a=mid`, RFC 5888). A section keeps the name that its party gave it or got,
//! which the two parties need not share.

use super::super::Dialogue;
use super::Role;
use crate::sdp::{Attributes, Section};

impl Dialogue {
    /// The name of each section of a description for the party other than `end`.
    ///
    /// A party's own offer names its sections. In an offer to it a section that has no name yet
    /// gets the sender's, or a new one if another section has that or if `generates`. An answer has
    /// the names of its offer.
    pub(super) fn name_sections(
        &mut self,
        end: usize,
        role: Role,
        said: &[Section<'_>],
        generates: bool,
    ) -> Vec<Attributes<String>> {
        let name = |(index, section): (usize, &Section<'_>)| {
            if role == Role::Offer {
                self.media[index].sides[end].mid = section.mid.map(str::to_owned);
                if self.media[index].sides[1 - end].mid.is_none() {
                    self.media[index].sides[1 - end].mid = self.new_mid(1 - end, index, said, generates);
                }
            }
            match &self.media[index].sides[1 - end].mid {
                Some(name) if section.mid == Some(name) => Attributes::Keep,
                Some(name) => Attributes::Replace(name.clone()),
                None if section.mid.is_some() => Attributes::Strip,
                None => Attributes::Keep,
            }
        };
        said.iter().enumerate().map(name).collect()
    }

    fn new_mid(&self, end: usize, index: usize, said: &[Section<'_>], generates: bool) -> Option<String> {
        let is_taken = |name: &str| {
            let mut names = self.media.iter().filter_map(|media| media.sides[end].mid.as_deref());
            names.any(|taken| taken == name)
        };
        let wanted = said[index].mid;
        if wanted.is_none() && !generates {
            return None;
        }
        if let Some(wanted) = wanted.filter(|wanted| !is_taken(wanted)) {
            return Some(wanted.to_owned());
        }
        let is_said = |name: &str| said.iter().any(|section| section.mid == Some(name));
        let mut numbers = (index + 1..).map(|number| number.to_string());
        numbers.find(|name| !is_taken(name) && !is_said(name))
    }
}
