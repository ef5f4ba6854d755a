//! Which sections there are, and on which of our interfaces and ports the two parties have them.

use super::super::{Context, Dialogue, Heard, Media, Offered, Refused, Terms};
use super::Role;
use crate::counters::Counter;
use crate::sdp::{Description, Section};

impl Dialogue {
    /// The sections of a description. An offer defines the sections; an answer has the offered
    /// ones, and further ones in it are ignored (RFC 3264 section 6).
    pub(super) fn place_sections<'a, 'd>(
        &mut self,
        role: Role,
        description: &'a Description<'d>,
        context: &mut Context<'_>,
    ) -> &'a [Section<'d>] {
        let sections = &description.sections;
        if role == Role::Answer {
            let known = sections.len().min(self.offered);
            context.counters[Counter::SectionNotRelayed] += (sections.len() - known) as u64;
            return &sections[..known];
        }
        for (index, section) in sections.iter().enumerate() {
            if self.media.len() == index {
                self.media.push(Media::new(section.media));
            }
            self.media[index].offer(section);
        }
        self.offered = sections.len();
        sections
    }

    /// Moves the parties to the interfaces that an offer asks for: by name, and by the family of
    /// where its sender is now.
    pub(super) fn place_ends(
        &mut self,
        end: usize,
        description: &Description<'_>,
        terms: &Terms,
        context: &mut Context<'_>,
    ) {
        let mut addresses = description.sections.iter().filter_map(|section| section.address);
        let said = addresses.find(|address| !address.is_unspecified());
        let families = [said.map(|address| address.is_ipv6()), terms.v6];
        for ((family, name), end) in families.into_iter().zip(terms.interfaces()).zip([end, 1 - end]) {
            let interface = &mut self.ends[end].interface;
            let v6 = family.unwrap_or(context.ports.address_of(*interface).is_ipv6());
            let named = name.map(|name| context.ports.interface(name, v6));
            *interface = match named {
                Some(Some(named)) => named,
                _ => context.ports.sibling(*interface, v6),
            };
        }
    }

    /// Sees to it that every section that is relayed has ports on both sides, on the interfaces of
    /// its ends.
    pub(super) fn provide(&mut self, heard: &[Option<Heard>], context: &mut Context<'_>) -> Result<(), Refused> {
        let interfaces = [self.ends[0].interface, self.ends[1].interface];
        for (media, heard) in self.media.iter_mut().zip(heard) {
            if heard.is_some() {
                media.leave_other(interfaces, context);
                media.provide(interfaces, context)?;
            }
        }
        Ok(())
    }

    /// Sections that are not mentioned any more are over.
    pub(super) fn trim(&mut self, context: &mut Context<'_>) {
        for media in &mut self.media[self.offered..] {
            media.release(context.ports);
            media.refused = true;
            media.offered = Offered::Refused;
        }
    }
}

impl Media {
    /// An offer has this in its place.
    fn offer(&mut self, section: &Section<'_>) {
        if !self.is_kind(section) {
            self.begin_anew(section.media);
        }
        self.is_rtp = section.is_rtp();
        self.format = section
            .formats
            .split_ascii_whitespace()
            .next()
            .unwrap_or_default()
            .to_owned();
        self.offered = match (section.port, section.is_datagrams()) {
            (0, _) => Offered::Refused,
            (_, true) => Offered::Relayed,
            (_, false) => Offered::AsItCame,
        };
    }

    /// Whether a section of a description is relayed: it was offered as relayed, and is wanted.
    pub(super) fn takes(&self, section: &Section<'_>) -> bool {
        self.offered == Offered::Relayed && section.port != 0 && self.is_of(section)
    }

    /// Whether a section can be an answer to the offered one.
    pub(super) fn is_of(&self, section: &Section<'_>) -> bool {
        self.is_kind(section)
            && self.is_rtp == section.is_rtp()
            && (self.offered == Offered::AsItCame || section.is_datagrams())
    }

    fn is_kind(&self, section: &Section<'_>) -> bool {
        self.kind.eq_ignore_ascii_case(section.media)
    }

    /// Gives back the ports of a side that is on another interface now.
    fn leave_other(&mut self, interfaces: [usize; 2], context: &mut Context<'_>) {
        for (side, interface) in self.sides.iter_mut().zip(interfaces) {
            if side.local.as_ref().is_some_and(|pair| pair.interface() != interface) {
                side.release(context.ports);
            }
        }
    }

    /// Takes the ports that are missing, of both sides or of none.
    pub(crate) fn provide(&mut self, interfaces: [usize; 2], context: &mut Context<'_>) -> Result<(), Refused> {
        for (side, interface) in self.sides.iter_mut().zip(interfaces) {
            if side.local.is_none() {
                side.local = context.ports.take(interface);
            }
        }
        if self.sides.iter().all(|side| side.local.is_some()) {
            return Ok(());
        }
        // If one port is missing, the others are free again, as no party knows of them yet.
        self.release(context.ports);
        Err(Refused::NoPorts)
    }
}
