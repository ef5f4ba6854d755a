//! Answering the peer's offers.

use std::collections::HashSet;

use southbound::{Node, SubscriptionId, TrackId};
use wire::sdp::{MediaSection, SectionKind, SessionDescription};
use wire::{MediaKind, Mid};

use super::codecs::AudioWish;
use super::peer::{NegotiationError, Peer};
use super::slot::{Down, Sides, Slot, Up, Usage};

/// What an offer changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The peer stopped sending a track.
    Ended(TrackId),
    /// The peer no longer wants to receive on the section of a subscription.
    Unplaced(SubscriptionId),
    /// The peer restarted ICE; our side has to as well.
    Restarted,
}

impl Peer {
    /// Takes an offer in. What the peer sends that is new is [`Up::Unclaimed`] then, and where it could receive something it is [`Down::Idle`]; the
    /// answer is written by [`answer`](Self::answer).
    ///
    /// Errors: the offer cannot be used; nothing has changed.
    pub(crate) fn take_offer(
        &mut self,
        offer: &SessionDescription,
        node: &Node,
        may_publish: bool,
    ) -> Result<Vec<Change>, NegotiationError> {
        let known = self.slots.iter().zip(&offer.sections);
        let recycled = |slot: &Slot, section: &MediaSection| slot.usage == Usage::Rejected && !section.rejected;
        let mut same = known.clone().map(|(slot, section)| {
            (slot.mid == section.mid && slot.kind == section.kind) || recycled(slot, section) || section.rejected
        });
        if offer.sections.len() < self.slots.len() || !same.all(|same| same) {
            return Err(NegotiationError::SectionsChanged);
        }
        let mut changes = Vec::new();
        if self.take_transport(offer, node.clear_rtp)? {
            changes.push(Change::Restarted);
        }
        let bundle: HashSet<Mid> = offer.bundle.iter().copied().collect();
        let mut known = self.said();
        for (position, section) in offer.sections.iter().enumerate() {
            let bundled = bundle.contains(&section.mid) || (bundle.is_empty() && position == 0);
            if position == self.slots.len() {
                self.slots
                    .push(Slot::new(section.mid, section.kind.clone(), Usage::Rejected));
            }
            let slot = &mut self.slots[position];
            let is_other_track = slot.sends_another(section);
            slot.hear(section, &mut known);
            if let Some(sides) = slot.sides_mut().filter(|_| is_other_track) {
                end_uplink(sides, &mut changes);
            }
            take_section(slot, section, bundled, may_publish, &mut changes);
        }
        Ok(changes)
    }

    /// Writes the answer to the offer that was taken in.
    pub(crate) fn answer(&mut self, node: &Node) -> SessionDescription {
        let (placeholder, disabled) = (self.placeholder(), self.disabled);
        let mut known = self.agreements();
        for slot in &mut self.slots {
            slot.settle(placeholder, disabled, node.copies, &mut known);
        }
        let setup = self.setup();
        let answer = self.describe(node, setup);
        for slot in self.slots.iter_mut().filter(|slot| slot.is_releasing()) {
            if let Some(sides) = slot.sides_mut() {
                sides.down = Down::Idle;
            }
        }
        answer
    }

    /// What sections without a published track say of Opus. Over a bundle one payload type has one meaning, so it is what a track says.
    fn placeholder(&self) -> AudioWish {
        let wishes = self
            .slots
            .iter()
            .filter(|slot| slot.media_kind() == Some(MediaKind::Audio));
        wishes
            .clone()
            .find_map(|slot| slot.uplink())
            .map(|uplink| uplink.audio)
            .unwrap_or_default()
    }
}

fn take_section(slot: &mut Slot, section: &MediaSection, bundled: bool, may_publish: bool, changes: &mut Vec<Change>) {
    slot.mid = section.mid;
    slot.kind.clone_from(&section.kind);
    let usage = next_usage(slot, section, bundled, may_publish);
    let next = match &usage {
        Usage::Media(sides) => Some(sides),
        Usage::Data | Usage::Rejected => None,
    };
    if let Some(uplink) = slot.uplink()
        && next.map(|sides| sides.up) != Some(Up::Track(uplink))
    {
        changes.push(Change::Ended(uplink.track));
    }
    if let Some(downlink) = slot.downlink()
        && !next.is_some_and(|sides| matches!(sides.down, Down::Track(_)))
    {
        changes.push(Change::Unplaced(downlink.subscription));
    }
    slot.usage = usage;
}

fn next_usage(slot: &Slot, section: &MediaSection, bundled: bool, may_publish: bool) -> Usage {
    match section.kind {
        _ if section.rejected || !bundled => return Usage::Rejected,
        SectionKind::Data => return Usage::Data,
        SectionKind::Other { .. } => return Usage::Rejected,
        SectionKind::Media(_) => {}
    }
    let before = slot.sides().cloned().unwrap_or_default();
    Usage::Media(Sides {
        up: match before.up {
            _ if !section.direction.sends() => Up::Nothing,
            Up::Track(uplink) => Up::Track(uplink),
            _ if may_publish => Up::Unclaimed,
            _ => Up::Forbidden,
        },
        down: match before.down {
            Down::Track(_) if !section.direction.receives() => Down::Idle,
            down => down,
        },
    })
}

/// Ends what the peer sent here until now.
fn end_uplink(sides: &mut Sides, changes: &mut Vec<Change>) {
    if let Up::Track(uplink) = std::mem::take(&mut sides.up) {
        changes.push(Change::Ended(uplink.track));
    }
}
