//! Offer and answer: applies a party's description to the call, and makes the other party's.

mod heard;
mod ice;
mod mids;
mod places;

use super::{Call, Component, Context, Heard, Ice, Media, Offered, Place, Policy, Protocol, Refused, Terms};
use crate::counters::Counter;
use crate::sdp::{Description, Section, SectionRewrite};
use heard::{hear, said_direction};

/// Whether a description offers or answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Offer,
    Answer,
}

impl Call {
    /// Applies a party's description; returns the other party's. Nothing changes if it is refused,
    /// and nothing that is relayed if it offers a change: that waits for its answer.
    pub(crate) fn describe(
        &mut self,
        place: Place,
        role: Role,
        description: &Description<'_>,
        terms: &Terms,
        context: &mut Context<'_>,
    ) -> Result<Vec<u8>, Refused> {
        let dialogue = &mut self.dialogues[place.dialogue];
        let offers = role == Role::Offer;
        if let Some(reply) = dialogue.repeated(place.end, description, terms).filter(|_| offers) {
            self.last_signal = context.now;
            return Ok(reply);
        }
        dialogue.roll_back((!offers).then_some(place.end), context.ports);
        let changes = offers && dialogue.is_established();
        let before = dialogue.agreed(place.end, context.ports);
        let written = self.apply(place, role, description, terms, context);
        let dialogue = &mut self.dialogues[place.dialogue];
        match written {
            Err(_) => dialogue.restore(before, context.ports),
            Ok(_) if changes => dialogue.await_answer(before, description, terms),
            Ok(_) => {
                before.release(context.ports);
                dialogue.commit(context.ports);
            }
        }
        written
    }

    fn apply(
        &mut self,
        place: Place,
        role: Role,
        description: &Description<'_>,
        terms: &Terms,
        context: &mut Context<'_>,
    ) -> Result<Vec<u8>, Refused> {
        let dialogue = &mut self.dialogues[place.dialogue];
        let end = place.end;
        let said = dialogue.place_sections(role, description, context);
        if role == Role::Offer {
            dialogue.place_ends(end, description, terms, context);
        }
        let interface = dialogue.ends[end].interface;
        if let Some(ours) = terms.media_address {
            context.check_kind(dialogue.ends[1 - end].interface, ours)?;
        }
        let hear = |(section, media): (_, &Media)| {
            let heard = || hear(section, interface, terms, context);
            media.takes(section).then(heard).transpose()
        };
        let heard: Vec<Option<Heard>> = said.iter().zip(&dialogue.media).map(hear).collect::<Result<_, _>>()?;
        dialogue.provide(&heard, context)?;

        let mids = dialogue.name_sections(end, role, said, terms.attributes.mid);
        let mut sections = Vec::new();
        for (((section, heard), media), mid) in said.iter().zip(heard).zip(&mut dialogue.media).zip(mids) {
            let section = media.describe(end, role, section, heard, terms, context)?;
            sections.push(SectionRewrite { mid, ..section });
        }
        dialogue.trim(context);
        dialogue.resume(role);
        dialogue.ends[end].label = terms.label.clone().or(dialogue.ends[end].label.take());
        let home = context.ports.advertised(dialogue.ends[1 - end].interface);
        self.last_signal = context.now;
        self.metadata = terms.metadata.clone().or(self.metadata.take());
        Ok(self.dialogues[place.dialogue].write(end, description, sections, terms, (home, context.instance)))
    }
}

impl Media {
    fn describe(
        &mut self,
        end: usize,
        role: Role,
        section: &Section<'_>,
        heard: Option<Heard>,
        terms: &Terms,
        context: &mut Context<'_>,
    ) -> Result<SectionRewrite, Refused> {
        self.set_protocols(end, role, section, terms);
        if role == Role::Offer {
            self.passes_ice = self.may_pass_ice(end, section, terms, context.config);
        }
        let Some(heard) = heard else {
            return Ok(self.decline(end, role, section, context));
        };
        let moved = self.sides[end].moves(&heard);
        let keying = match role {
            Role::Offer => self.secure_offer(end, section, moved, terms, context),
            Role::Answer => self.secure_answer(end, section, moved, terms, context),
        };
        let keying = keying.inspect_err(|_| context.counters.count(Counter::KeysUnusable))?;
        self.refused = false;
        if role == Role::Answer && self.is_rtp {
            self.codec = section.codec();
        }
        self.tos = terms.tos.or(self.tos);
        self.set_mux(end, role, section, terms);
        let holds = heard.is_zero();
        self.restart_ice(end, role, &heard, context);
        let closes = context.now + context.config.learning_window;
        self.sides[end].hear(heard, Policy::of(terms, context.config), terms.reset, closes);
        let (ice, candidates) = self.set_ice(end, role, section, terms, context);
        let is_relay = terms.ice == Ice::ForceRelay && !candidates.is_empty();
        let other = &self.sides[1 - end];
        let rtcp = other
            .local(Component::Rtcp)
            .filter(|_| self.is_rtp && !terms.attributes.no_rtcp);
        let unwanted = terms
            .codecs
            .unwanted(section, terms.single_codec && role == Role::Answer);
        let order = match role {
            Role::Offer => terms.codecs.order(section),
            Role::Answer => Vec::new(),
        };
        let (port, address) = if is_relay {
            (section.port, section.address)
        } else {
            (
                other.local(Component::Rtp).map_or(0, |local| local.port()),
                (holds && !terms.replace.zero_address).then(|| other.zero()),
            )
        };
        Ok(SectionRewrite {
            port,
            address,
            protocol: Some(self.protocols[1 - end].clone()).filter(|protocol| protocol != section.protocol),
            without: unwanted.into_iter().map(str::to_owned).collect(),
            order: order.into_iter().map(str::to_owned).collect(),
            packet_time: terms
                .ptime
                .filter(|_| role == Role::Offer && section.media == "audio" && section.stated_packet_time().is_none()),
            direction: (self.is_rtp && !terms.attributes.original_direction)
                .then(|| said_direction(section.direction, holds)),
            rtcp: rtcp.map(|local| local.port()),
            rtcp_in_full: terms.attributes.rtcp_in_full,
            rtcp_mux: self.is_rtp
                && if role == Role::Offer {
                    other.mux_offered
                } else {
                    other.mux
                },
            keying,
            ice,
            candidates,
            is_relay,
            ..SectionRewrite::refused()
        })
    }

    /// Handles a section that is not relayed: it is not wanted, or not over UDP. Its offer needs no
    /// ports. After an answer without it, another answer may still want it.
    fn decline(&mut self, end: usize, role: Role, section: &Section<'_>, context: &mut Context<'_>) -> SectionRewrite {
        if role == Role::Offer {
            self.release(context.ports);
        }
        self.refused = true;
        if section.port != 0 || section.bundle_only {
            context.counters.count(Counter::SectionNotRelayed);
        }
        if self.offered == Offered::AsItCame && self.is_of(section) && !section.is_datagrams() {
            return SectionRewrite::as_it_came();
        }
        SectionRewrite {
            media: Some(self.kind.clone()).filter(|kind| kind != section.media),
            protocol: Some(self.protocols[1 - end].clone()).filter(|protocol| protocol != section.protocol),
            format: Some(self.format.clone()).filter(|format| role == Role::Answer && !format.is_empty()),
            ..SectionRewrite::refused()
        }
    }

    /// The protocols of both sides stay until the offerer changes its own; earlier flags about them
    /// are void then.
    fn set_protocols(&mut self, end: usize, role: Role, section: &Section<'_>, terms: &Terms) {
        let said = section.protocol;
        match (role, &terms.protocol) {
            (Role::Offer, wanted) => {
                if !self.protocols[end].eq_ignore_ascii_case(said) || self.protocols[1 - end].is_empty() {
                    self.protocols = [said.to_owned(), said.to_owned()];
                }
                if let Some(Protocol::Exactly(wanted)) = wanted
                    && self.is_rtp
                {
                    self.protocols[1 - end].clone_from(wanted);
                }
            }
            (Role::Answer, Some(Protocol::Accept)) if self.is_of(section) => {
                self.protocols = [said.to_owned(), said.to_owned()];
            }
            // The offerer gets the protocol that it offered.
            (Role::Answer, _) => {}
        }
    }

    fn set_mux(&mut self, end: usize, role: Role, section: &Section<'_>, terms: &Terms) {
        let asked = terms.mux;
        let fate = if asked.reject {
            Some(false)
        } else {
            (asked.accept || asked.demux).then_some(true)
        };
        let fallback_spatial = asked == Default::default() && !terms.reset;
        let [speaker, other] = self.sides_from(end);
        match role {
            Role::Offer => {
                speaker.mux_offered = section.rtcp_mux;
                if !fallback_spatial {
                    speaker.mux_fate = fate;
                }
                speaker.mux &= section.rtcp_mux;
                // A separate decision for the two sides stays until there is a new one.
                let snapshot = section.rtcp_mux && !(fallback_spatial && speaker.mux_fate.is_some());
                other.mux_offered =
                    snapshot && !asked.demux || asked.offer || asked.require || fallback_spatial && other.mux;
                other.mux = asked.require || other.mux && other.mux_offered;
            }
            Role::Answer => {
                speaker.mux = speaker.mux_offered && section.rtcp_mux;
                let accepted = fate.or(other.mux_fate).unwrap_or(speaker.mux);
                other.mux = other.mux_offered && accepted;
            }
        }
    }

    /// The side of the party at `end`, and the other.
    fn sides_from(&mut self, end: usize) -> [&mut super::Side; 2] {
        let [first, second] = &mut self.sides;
        if end == 0 { [first, second] } else { [second, first] }
    }
}
