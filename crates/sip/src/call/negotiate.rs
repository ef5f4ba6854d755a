//! Offer and answer: what a party's description says goes into the call, and the other party's description comes out.

use std::net::SocketAddr;

use super::{Component, Context, Dialogue, Heard, Media, Place, Policy, Refused};
use crate::ng::{Flags, Ice, Learning, Protocol};
use crate::sdp::{Attributes, Candidate, Description, Section, SectionRewrite, TELEPHONE_CLOCK};
use crate::{Call, Config, Counter};

/// Whether a description offers or answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Offer,
    Answer,
}

impl Call {
    /// A party's description: says what the other party is to get.
    ///
    /// When it is refused, sections before the one that is to blame have changed already; the next description sets them right.
    pub(crate) fn describe(
        &mut self,
        place: Place,
        role: Role,
        description: &Description<'_>,
        flags: &Flags,
        context: &mut Context<'_>,
    ) -> Result<Vec<u8>, Refused> {
        let dialogue = &mut self.dialogues[place.dialogue];
        let end = place.end;
        let heard: Vec<Option<Heard>> = description
            .sections
            .iter()
            .map(|section| hear(section, flags, context))
            .collect::<Result<_, _>>()?;
        dialogue.provide(description, context)?;

        let mut sections = Vec::new();
        for (index, (section, heard)) in description.sections.iter().zip(heard).enumerate() {
            let media = &mut dialogue.media[index];
            sections.push(media.describe(end, role, index, section, heard, flags, context)?);
        }
        dialogue.trim(description.sections.len(), context);
        dialogue.resume(role);
        dialogue.ends[end].label = flags.label.clone().or(dialogue.ends[end].label.take());
        self.last_signal = context.now;
        self.metadata = flags.metadata.clone().or(self.metadata.take());
        Ok(self.dialogues[place.dialogue].write(end, description, sections, flags, context.instance))
    }
}

impl Dialogue {
    /// Sees to it that every section that is wanted has ports on both sides.
    fn provide(&mut self, description: &Description<'_>, context: &mut Context<'_>) -> Result<(), Refused> {
        for (index, section) in description.sections.iter().enumerate() {
            if self.media.len() == index {
                self.media.push(Media::new(section.media));
            }
            let media = &mut self.media[index];
            section.media.clone_into(&mut media.kind);
            media.is_rtp = section.is_rtp();
            if section.port != 0 && section.is_datagrams() {
                media.provide([self.ends[0].interface, self.ends[1].interface], context)?;
            }
        }
        Ok(())
    }

    /// Sections that are not mentioned any more are over.
    fn trim(&mut self, sections: usize, context: &mut Context<'_>) {
        for media in &mut self.media[sections..] {
            media.release(context.ports);
            media.refused = true;
        }
    }
}

impl Media {
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
        // Nobody knows of them yet where one is missing.
        self.release(context.ports);
        Err(Refused::NoPorts)
    }

    #[expect(clippy::too_many_arguments, reason = "a section, what it says, and what is wanted")]
    fn describe(
        &mut self,
        end: usize,
        role: Role,
        index: usize,
        section: &Section<'_>,
        heard: Option<Heard>,
        flags: &Flags,
        context: &mut Context<'_>,
    ) -> Result<SectionRewrite, Refused> {
        let Some(heard) = heard else {
            return Ok(self.refuse(role, section, context));
        };
        self.set_protocols(end, role, section, flags);
        let keying = match role {
            Role::Offer => self.secure_offer(end, section, flags, context),
            Role::Answer => self.secure_answer(end, section, flags, context),
        };
        let keying = keying.inspect_err(|_| context.counters.count(Counter::KeysUnusable))?;
        self.refused = false;
        self.tos = flags.tos.or(self.tos);
        self.set_mux(end, role, section, flags);
        let zero = heard.is_zero() && !flags.replace.zero_address;
        let zero = zero.then(|| heard.rtp.ip());
        let closes = context.now + context.config.learning_window;
        self.sides[end].hear(heard, policy(flags, context.config), flags.reset, closes);
        let ice = self.set_ice(end, role, section, flags, context);
        let other = &self.sides[1 - end];
        let rtcp = other
            .local(Component::Rtcp)
            .filter(|_| self.is_rtp && !flags.no_rtcp_attribute);
        Ok(SectionRewrite {
            port: other.local(Component::Rtp).map_or(0, |local| local.port()),
            address: zero,
            protocol: Some(self.protocols[1 - end].clone()).filter(|protocol| protocol != section.protocol),
            without: flags.codecs.unwanted(section).into_iter().map(str::to_owned).collect(),
            direction: (self.is_rtp && !flags.original_sendrecv).then_some(section.direction),
            rtcp: rtcp.map(|local| local.port()),
            rtcp_in_full: flags.full_rtcp_attribute,
            rtcp_mux: self.is_rtp
                && if role == Role::Offer {
                    other.mux_offered
                } else {
                    other.mux
                },
            mid: flags.generate_mid.then(|| (index + 1).to_string()),
            keying,
            ice,
        })
    }

    /// A section that is not wanted, or that cannot be relayed. An offer without it needs no ports; after an answer without it
    /// another answer may come that wants it.
    fn refuse(&mut self, role: Role, section: &Section<'_>, context: &mut Context<'_>) -> SectionRewrite {
        if section.port != 0 {
            context.counters.count(Counter::SectionNotRelayed);
        }
        if role == Role::Offer {
            self.release(context.ports);
        }
        self.refused = true;
        SectionRewrite {
            port: 0,
            address: None,
            protocol: None,
            without: Vec::new(),
            direction: None,
            rtcp: None,
            rtcp_in_full: false,
            rtcp_mux: false,
            mid: None,
            keying: Attributes::Keep,
            ice: Attributes::Strip,
        }
    }

    fn set_protocols(&mut self, end: usize, role: Role, section: &Section<'_>, flags: &Flags) {
        let said = section.protocol.to_owned();
        match (role, &flags.protocol) {
            (Role::Offer, Some(Protocol::Exactly(wanted))) if self.is_rtp => self.protocols[1 - end].clone_from(wanted),
            (Role::Offer, _) | (Role::Answer, Some(Protocol::Accept)) => self.protocols[1 - end] = said.clone(),
            // Who offered gets back what it offered.
            (Role::Answer, _) => {}
        }
        self.protocols[end] = said;
    }

    fn set_mux(&mut self, end: usize, role: Role, section: &Section<'_>, flags: &Flags) {
        let asked = flags.mux;
        let fate = if asked.reject {
            Some(false)
        } else {
            (asked.accept || asked.demux).then_some(true)
        };
        let [speaker, other] = self.sides_from(end);
        match role {
            Role::Offer => {
                speaker.mux_offered = section.rtcp_mux;
                speaker.mux_fate = fate;
                speaker.mux &= section.rtcp_mux;
                other.mux_offered = section.rtcp_mux && !asked.demux || asked.offer || asked.require;
                other.mux = asked.require || other.mux && other.mux_offered;
            }
            Role::Answer => {
                speaker.mux = speaker.mux_offered && section.rtcp_mux;
                let accepted = fate.or(other.mux_fate).unwrap_or(speaker.mux);
                other.mux = other.mux_offered && accepted;
            }
        }
    }

    fn set_ice(
        &mut self,
        end: usize,
        role: Role,
        section: &Section<'_>,
        flags: &Flags,
        context: &mut Context<'_>,
    ) -> Attributes<(wire::sdp::IceCredentials, Vec<Candidate>)> {
        let [speaker, other] = self.sides_from(end);
        if section.ice.is_none() {
            speaker.ice = None;
        }
        let wanted = match (flags.ice, role) {
            (Ice::Remove, _) => false,
            (Ice::Force, Role::Offer) => true,
            (_, Role::Offer) => section.ice.is_some(),
            (_, Role::Answer) => other.heard.as_ref().is_some_and(|heard| heard.ice.is_some()),
        };
        if !wanted {
            other.ice = None;
            return Attributes::Strip;
        }
        let credentials = other.ice.get_or_insert_with(|| context.random.credentials()).clone();
        let mut candidates = Vec::new();
        if let Some(pair) = &other.local {
            let address = flags.media_address.unwrap_or(pair.advertised);
            candidates.push(Candidate {
                component: 1,
                address,
                port: pair.rtp().port(),
            });
            if !other.mux && section.is_rtp() {
                candidates.push(Candidate {
                    component: 2,
                    address,
                    port: pair.rtcp().port(),
                });
            }
        }
        Attributes::Replace((credentials, candidates))
    }

    /// The side of the party at `end`, and the other.
    fn sides_from(&mut self, end: usize) -> [&mut super::Side; 2] {
        let [first, second] = &mut self.sides;
        if end == 0 { [first, second] } else { [second, first] }
    }
}

fn policy(flags: &Flags, config: &Config) -> Policy {
    Policy {
        // Who sends from elsewhere than it receives is at an address nobody said, so packets from there are still looked for.
        learning: flags.learning.unwrap_or(match config.learning {
            Learning::Off if flags.asymmetric => Learning::Heuristic,
            learning => learning,
        }),
        asymmetric: flags.asymmetric,
        strict: flags.strict_source,
        handover: flags.media_handover,
    }
}

/// Where a section's sender wants media; `None` when it does not, or cannot have it.
fn hear(section: &Section<'_>, flags: &Flags, context: &mut Context<'_>) -> Result<Option<Heard>, Refused> {
    if section.port == 0 || !section.is_datagrams() {
        return Ok(None);
    }
    let trusts = flags.trust_address.unwrap_or(!context.config.sip_source) || section.ice.is_some();
    let said = section.address.filter(|address| trusts || address.is_unspecified());
    let address = said.or(flags.received_from).or(section.address).ok_or_else(|| {
        context.counters.count(Counter::SdpNoAddress);
        Refused::NoAddress
    })?;
    let rtp = SocketAddr::new(address, section.port);
    let rtcp = match section.rtcp {
        Some((port, other)) if port != 0 => SocketAddr::new(other.filter(|_| trusts).unwrap_or(address), port),
        _ => SocketAddr::new(address, section.port.saturating_add(1)),
    };
    Ok(Some(Heard {
        rtp,
        rtcp,
        direction: section.direction,
        ice: section.ice.clone(),
        clock_rate: section.clock_rate().unwrap_or(TELEPHONE_CLOCK),
        received: flags.received_from,
    }))
}
