//! Offering, to a peer that has a connection of its own for receiving.

use std::time::Instant;

use southbound::{Node, SubscriptionId};
use wire::sdp::{SectionKind, SessionDescription, Setup};
use wire::{MediaKind, Mid};

use super::codecs::AudioWish;
use super::peer::{NegotiationError, Peer};
use super::slot::{Down, Sides, Slot, Usage};

/// Whether an offer of ours is out. There is one at a time; what changes meanwhile goes into the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offering {
    /// The offer that is out.
    pub(crate) pending: Option<Pending>,
    /// There is something new to offer.
    pub(crate) needed: bool,
    last_id: u32,
}

/// An offer that is out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pending {
    pub(crate) id: u32,
    pub(crate) since: Instant,
}

/// What became of a subscription in the peer's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    /// The peer takes it.
    Taken(SubscriptionId),
    /// The peer has no use for the section it was offered on.
    Refused(SubscriptionId),
}

impl Peer {
    /// Offers the data channels first, so that the connection exists before there is anything to receive.
    pub(crate) fn add_data_section(&mut self) {
        let mid = self.next_mid();
        self.slots.push(Slot::new(mid, SectionKind::Data, Usage::Data));
    }

    /// A section for a track: the free one it was on before, another that is free again, or a new one.
    pub(crate) fn section_for(&mut self, kind: MediaKind, track_sid: &str) -> &mut Slot {
        // What the peer last said of it was an answer to what we offered then.
        let is_free = |slot: &Slot| slot.usage == Usage::Media(Sides::default()) && slot.media_kind() == Some(kind);
        let was_here = |slot: &Slot| slot.first_track.as_deref() == Some(track_sid);
        let same = self.slots.iter().position(|slot| is_free(slot) && was_here(slot));
        let free = same.or_else(|| self.slots.iter().position(is_free));
        let position = free.unwrap_or_else(|| {
            let mid = self.next_mid();
            let usage = Usage::Media(Sides::default());
            self.slots.push(Slot::new(mid, SectionKind::Media(kind), usage));
            self.slots.len() - 1
        });
        &mut self.slots[position]
    }

    fn next_mid(&self) -> Mid {
        Mid::new(&self.slots.len().to_string()).expect("a number is a token")
    }

    /// Writes an offer of what the sections are used for now.
    pub(crate) fn offer(&mut self, now: Instant, node: &Node) -> (u32, SessionDescription) {
        for sides in self.slots.iter_mut().filter_map(Slot::sides_mut) {
            if let Down::Releasing { told } = &mut sides.down {
                *told = true;
            }
        }
        let offering = &mut self.offering;
        offering.last_id += 1;
        offering.needed = false;
        offering.pending = Some(Pending {
            id: offering.last_id,
            since: now,
        });
        let id = offering.last_id;
        (id, self.describe(node, Setup::ActPass))
    }

    /// Takes the answer to the offer that is out.
    ///
    /// Errors: it cannot be used; nothing has changed.
    pub(crate) fn take_answer(&mut self, answer: &SessionDescription) -> Result<Vec<Answered>, NegotiationError> {
        // Sections that were added after the offer went out are not in its answer.
        let same = self
            .slots
            .iter()
            .zip(&answer.sections)
            .all(|(slot, section)| slot.mid == section.mid);
        if !same || answer.sections.len() > self.slots.len() {
            return Err(NegotiationError::SectionsChanged);
        }
        // What we offered was encrypted.
        self.take_transport(answer, false)?;
        self.offering.pending = None;
        let (mut answered, disabled) = (Vec::new(), self.disabled);
        let (mut said, mut agreements) = (self.said(), self.agreements());
        for (slot, section) in self.slots.iter_mut().zip(&answer.sections) {
            slot.hear(section, &mut said);
            slot.settle(AudioWish::default(), disabled, false, &mut agreements);
            let takes = section.direction.receives() && !section.rejected && !slot.formats().is_empty();
            match slot.sides_mut().map(|sides| &mut sides.down) {
                Some(Down::Track(downlink)) if takes => answered.push(Answered::Taken(downlink.subscription)),
                Some(Down::Track(downlink)) => answered.push(Answered::Refused(downlink.subscription)),
                Some(down @ Down::Releasing { told: true }) => *down = Down::Idle,
                _ => {}
            }
            if section.rejected {
                slot.usage = Usage::Rejected;
            }
        }
        Ok(answered)
    }
}
