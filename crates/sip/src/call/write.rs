//! Writing the other party's description.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::{Dialogue, End, Media, Terms};
use crate::form;
use crate::sdp::{Attributes, Description, Rewrite, SectionRewrite};

/// Session-level values in descriptions to one party, kept so that they stay the same.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// User name and session id.
    origin: [String; 2],
    version: u64,
    name: String,
    #[serde(with = "form::bytes")]
    last: Vec<u8>,
}

impl Dialogue {
    /// Writes the description of the party at `end` for the other, with the changes to each
    /// section. `home` is our address towards that party, in descriptions without media.
    pub(super) fn write(
        &mut self,
        end: usize,
        description: &Description<'_>,
        mut sections: Vec<SectionRewrite>,
        terms: &Terms,
        (home, instance): (IpAddr, &str),
    ) -> Vec<u8> {
        let local = self.media.iter().find_map(|media| media.sides[1 - end].local.as_ref());
        let ours = terms.media_address.or(local.map(|pair| pair.advertised));
        let ours = ours.unwrap_or(home);
        let address = say_addresses(description, &mut sections, ours);
        let rewrite = Rewrite {
            address,
            origin: (terms.replace.origin || terms.replace.origin_full).then_some(ours),
            origin_fields: Default::default(),
            session_name: None,
            ice_lite: sections
                .iter()
                .any(|section| matches!(section.ice, Attributes::Replace(_))),
            mark: terms.loop_protect.then(|| instance.to_owned()),
            missing: self.missing(end, sections.len()),
            sections,
        };
        self.ends[1 - end].write(description, rewrite, terms)
    }

    /// Offered sections that an answer leaves out.
    fn missing(&self, end: usize, said: usize) -> Vec<(String, Option<String>)> {
        let offered = &self.media[..self.offered.min(self.media.len())];
        let refuse = |media: &Media| {
            let format = if media.format.is_empty() { "0" } else { &media.format };
            let line = format!("{} 0 {} {format}", media.kind, media.protocols[1 - end]);
            (line, media.sides[1 - end].mid.clone())
        };
        offered.iter().skip(said).map(refuse).collect()
    }
}

/// Chooses the session-level address: ours, or zeros when all sections are on hold. A section with
/// another address has its own line, as has every section if there is no session-level line.
fn say_addresses(description: &Description<'_>, sections: &mut [SectionRewrite], ours: IpAddr) -> IpAddr {
    let relayed = || sections.iter().filter(|section| section.port != 0);
    let first = relayed().next().and_then(|section| section.address);
    let address = first
        .filter(|first| relayed().all(|section| section.address == Some(*first)))
        .unwrap_or(ours);
    let said_for_all = description.lines.iter().any(|line| line.letter == b'c');
    for section in sections {
        section.address = section
            .address
            .filter(|other| *other != address)
            .or((!said_for_all).then_some(address));
    }
    address
}

impl End {
    /// Writes a description for this party. Session-level values stay as first written, if that was
    /// requested.
    fn write(&mut self, description: &Description<'_>, mut rewrite: Rewrite, terms: &Terms) -> Vec<u8> {
        let replace = terms.replace;
        let identity = self.identity.get_or_insert_with(|| Identity::of(description));
        let [user, id] = identity.origin.clone();
        let versioned = replace.version || replace.version_always || replace.origin_full;
        rewrite.session_name = replace.session_name.then(|| identity.name.clone());
        rewrite.origin_fields = [
            (replace.username || replace.origin_full).then_some(user),
            replace.origin_full.then_some(id),
            versioned.then(|| identity.version.to_string()),
        ];
        let mut written = description.rewrite(&rewrite);
        let changed = !identity.last.is_empty() && identity.last != written;
        if versioned && (changed || replace.version_always && !identity.last.is_empty()) {
            identity.version += 1;
            rewrite.origin_fields[2] = Some(identity.version.to_string());
            written = description.rewrite(&rewrite);
        }
        identity.last.clone_from(&written);
        written
    }
}

impl Identity {
    /// The last description.
    pub(super) fn written(&self) -> &[u8] {
        &self.last
    }

    fn of(description: &Description<'_>) -> Self {
        let value = |letter| {
            description
                .lines
                .iter()
                .find(|line| line.letter == letter)
                .map_or("", |line| line.value)
        };
        let mut origin = value(b'o').split_ascii_whitespace();
        let mut next = || origin.next().unwrap_or("-").to_owned();
        Self {
            origin: [next(), next()],
            version: next().parse().unwrap_or(0),
            name: value(b's').to_owned(),
            last: Vec::new(),
        }
    }
}
