//! Answering the peer's offers.

use std::collections::HashSet;

use southbound::{Node, SubscriptionId, TrackId};
use wire::sdp::{MediaSection, SectionKind, SessionDescription};
use wire::{MediaKind, Mid};

use super::codecs::AudioWish;
use super::peer::{NegotiationError, Peer};
use super::section::{Down, Section, Sides, Up, Usage};

/// A change by an offer.
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
    /// Takes an offer in. A new stream of the peer is [`Up::Unclaimed`] then, and a section that it
    /// could receive on is [`Down::Idle`]; the answer is written by [`answer`](Self::answer).
    ///
    /// Errors: the offer cannot be used; nothing has changed.
    pub(crate) fn take_offer(
        &mut self,
        offer: &SessionDescription,
        node: &Node,
        may_publish: bool,
    ) -> Result<Vec<Change>, NegotiationError> {
        let known = self.sections.iter().zip(&offer.sections);
        let recycled = |section: &Section, media_section: &MediaSection| {
            section.usage == Usage::Rejected && !media_section.rejected
        };
        let mut same = known.clone().map(|(section, media_section)| {
            (section.mid == media_section.mid && section.kind == media_section.kind)
                || recycled(section, media_section)
                || media_section.rejected
        });
        if offer.sections.len() < self.sections.len() || !same.all(|same| same) {
            return Err(NegotiationError::SectionsChanged);
        }
        let mut changes = Vec::new();
        if self.take_transport(offer, node.clear_rtp)? {
            changes.push(Change::Restarted);
        }
        let bundle: HashSet<Mid> = offer.bundle.iter().copied().collect();
        let mut known = self.remote_sections();
        for (position, media_section) in offer.sections.iter().enumerate() {
            let bundled = bundle.contains(&media_section.mid) || (bundle.is_empty() && position == 0);
            if position == self.sections.len() {
                self.sections.push(Section::new(
                    media_section.mid,
                    media_section.kind.clone(),
                    Usage::Rejected,
                ));
            }
            let section = &mut self.sections[position];
            let is_other_track = section.sends_another(media_section);
            section.hear(media_section, &mut known);
            if let Some(sides) = section.sides_mut().filter(|_| is_other_track) {
                end_uplink(sides, &mut changes);
            }
            take_section(section, media_section, bundled, may_publish, &mut changes);
        }
        Ok(changes)
    }

    /// Writes the answer to the offer that was taken in.
    pub(crate) fn answer(&mut self, node: &Node) -> SessionDescription {
        let (placeholder, disabled) = (self.placeholder(), self.disabled);
        let mut known = self.agreements();
        for section in &mut self.sections {
            section.settle(placeholder, disabled, &node.capabilities, &mut known);
        }
        let setup = self.setup();
        let answer = self.describe(node, setup);
        for section in self.sections.iter_mut().filter(|section| section.is_releasing()) {
            if let Some(sides) = section.sides_mut() {
                sides.down = Down::Idle;
            }
        }
        answer
    }

    /// The Opus parameters of sections without a published track. Over a bundle one payload type
    /// has one meaning, so it is what a track says.
    fn placeholder(&self) -> AudioWish {
        let wishes = self
            .sections
            .iter()
            .filter(|section| section.media_kind() == Some(MediaKind::Audio));
        wishes
            .clone()
            .find_map(|section| section.uplink())
            .map(|uplink| uplink.audio)
            .unwrap_or_default()
    }
}

fn take_section(
    section: &mut Section,
    media_section: &MediaSection,
    bundled: bool,
    may_publish: bool,
    changes: &mut Vec<Change>,
) {
    section.mid = media_section.mid;
    section.kind.clone_from(&media_section.kind);
    let usage = next_usage(section, media_section, bundled, may_publish);
    let next = match &usage {
        Usage::Media(sides) => Some(sides),
        Usage::Data | Usage::Rejected => None,
    };
    if let Some(uplink) = section.uplink()
        && next.map(|sides| sides.up) != Some(Up::Track(uplink))
    {
        changes.push(Change::Ended(uplink.track));
    }
    if let Some(downlink) = section.downlink()
        && !next.is_some_and(|sides| matches!(sides.down, Down::Track(_)))
    {
        changes.push(Change::Unplaced(downlink.subscription));
    }
    section.usage = usage;
}

fn next_usage(section: &Section, media_section: &MediaSection, bundled: bool, may_publish: bool) -> Usage {
    match media_section.kind {
        _ if media_section.rejected || !bundled => return Usage::Rejected,
        SectionKind::Data => return Usage::Data,
        SectionKind::Other { .. } => return Usage::Rejected,
        SectionKind::Media(_) => {}
    }
    let before = section.sides().cloned().unwrap_or_default();
    Usage::Media(Sides {
        up: match before.up {
            _ if !media_section.direction.sends() => Up::Nothing,
            Up::Track(uplink) => Up::Track(uplink),
            _ if may_publish => Up::Unclaimed,
            _ => Up::Forbidden,
        },
        down: match before.down {
            Down::Track(_) if !media_section.direction.receives() => Down::Idle,
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
