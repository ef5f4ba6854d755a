//! Offering, to a peer that has a connection of its own for receiving.

use std::time::Instant;

use southbound::{Capabilities, Node, SubscriptionId};
use wire::sdp::{SectionKind, SessionDescription, Setup};
use wire::{MediaKind, Mid};

use super::codecs::AudioWish;
use super::peer::{NegotiationError, Peer};
use super::section::{Down, Section, Sides, Usage};

/// The outcome for a subscription in the peer's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    /// The peer takes it.
    Taken(SubscriptionId),
    /// The peer has no use for the section it was offered on.
    Refused(SubscriptionId),
}

impl Peer {
    /// Offers the data channels first, so that the connection exists before there is anything to
    /// receive.
    pub(crate) fn add_data_section(&mut self) {
        let mid = self.next_mid();
        self.sections.push(Section::new(mid, SectionKind::Data, Usage::Data));
    }

    /// A section for a track: the free one it was on before, another that is free again, or a new
    /// one.
    pub(crate) fn section_for(&mut self, kind: MediaKind, track_sid: &str) -> &mut Section {
        // The peer's last description of it was an answer to our offer of then.
        let is_free =
            |section: &Section| section.usage == Usage::Media(Sides::default()) && section.media_kind() == Some(kind);
        let was_here = |section: &Section| section.first_track.as_deref() == Some(track_sid);
        let same = self
            .sections
            .iter()
            .position(|section| is_free(section) && was_here(section));
        let free = same.or_else(|| self.sections.iter().position(is_free));
        let position = free.unwrap_or_else(|| {
            let mid = self.next_mid();
            let usage = Usage::Media(Sides::default());
            self.sections.push(Section::new(mid, SectionKind::Media(kind), usage));
            self.sections.len() - 1
        });
        &mut self.sections[position]
    }

    fn next_mid(&self) -> Mid {
        Mid::new(&self.sections.len().to_string()).expect("a number is a token")
    }

    /// Writes an offer of what the sections are used for now.
    pub(crate) fn offer(&mut self, now: Instant, node: &Node) -> (u32, SessionDescription) {
        for sides in self.sections.iter_mut().filter_map(Section::sides_mut) {
            if let Down::Releasing { told } = &mut sides.down {
                *told = true;
            }
        }
        let id = self.offering.begin(now);
        (id, self.describe(node, Setup::ActPass))
    }

    /// Takes the answer to the offer that is out.
    ///
    /// Errors: it cannot be used; nothing has changed.
    pub(crate) fn take_answer(&mut self, answer: &SessionDescription) -> Result<Vec<Answered>, NegotiationError> {
        // Sections that were added after the offer went out are not in its answer.
        let same = self
            .sections
            .iter()
            .zip(&answer.sections)
            .all(|(section, media_section)| section.mid == media_section.mid);
        if !same || answer.sections.len() > self.sections.len() {
            return Err(NegotiationError::SectionsChanged);
        }
        // Our offer was encrypted, and all its header extensions have small numbers.
        self.take_transport(answer, false)?;
        self.offering.pending = None;
        let (mut answered, disabled) = (Vec::new(), self.disabled);
        let (mut said, mut agreements) = (self.remote_sections(), self.agreements());
        for (section, media_section) in self.sections.iter_mut().zip(&answer.sections) {
            section.hear(media_section, &mut said);
            section.settle(AudioWish::default(), disabled, &Capabilities::ALL, &mut agreements);
            let takes = media_section.direction.receives() && !media_section.rejected && !section.formats().is_empty();
            match section.sides_mut().map(|sides| &mut sides.down) {
                Some(Down::Track(downlink)) if takes => answered.push(Answered::Taken(downlink.subscription)),
                Some(Down::Track(downlink)) => answered.push(Answered::Refused(downlink.subscription)),
                Some(down @ Down::Releasing { told: true }) => *down = Down::Idle,
                _ => {}
            }
            if media_section.rejected {
                section.usage = Usage::Rejected;
            }
        }
        Ok(answered)
    }
}
