//! One media section of a dialogue, with its two sides.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use southbound::relay::Traffic;
use wire::sdp::{Direction, IceCredentials};

use super::security::{Choice, Security};
use super::source::Source;
use super::terms::Terms;
use crate::config::{Config, Learning};
use crate::form;
use crate::limits::QUALITIES_MAX;
use crate::ports::{Pair, PortPool};
use crate::quality::{Quality, Sample};

/// RTP, or RTCP beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Component {
    Rtp = 0,
    Rtcp = 1,
}

/// One media section.
#[derive(Debug)]
pub(crate) struct Media {
    /// Its media type, as `audio`.
    pub(crate) kind: String,
    pub(crate) is_rtp: bool,
    /// The transport protocol on each side.
    pub(crate) protocols: [String; 2],
    pub(crate) sides: [Side; 2],
    /// The choices that the last offer leaves to its answer, if both ends have keys in
    /// descriptions.
    pub(crate) choice: Option<Choice>,
    /// In the last offer ICE went on to the other party, with our addresses beside the sender's:
    /// checks pass like media.
    pub(crate) passes_ice: bool,
    /// Whether one of the parties refuses it.
    pub(crate) refused: bool,
    /// Its outcome in the last offer.
    pub(crate) offered: Offered,
    /// The first of the formats in the last offer.
    pub(crate) format: String,
    /// The first codec of the last answer, for queries.
    pub(crate) codec: Option<String>,
    pub(crate) tos: Option<u8>,
}

/// The outcome for an offered section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Offered {
    /// It has ports, and is relayed once it is answered.
    #[default]
    Relayed,
    /// It is not over UDP, so it passes unchanged.
    AsItCame,
    /// It is not wanted, or not possible: any answer to it gets port 0.
    Refused,
}

/// The side that faces one party.
#[derive(Debug, Default)]
pub(crate) struct Side {
    /// Our ports that the party sends to.
    pub(crate) local: Option<Pair>,
    /// The party's last description.
    pub(crate) heard: Option<Heard>,
    /// The addresses at which the party last wanted RTP and RTCP.
    pub(crate) said: Option<[SocketAddr; 2]>,
    /// The section's name between the party and us.
    pub(crate) mid: Option<String>,
    pub(crate) policy: Policy,
    /// The sources of its packets.
    pub(crate) sources: [Source; 2],
    /// RTP and RTCP share a port.
    pub(crate) mux: bool,
    /// The party offered that, or we did.
    pub(crate) mux_offered: bool,
    /// Whether it is to be accepted or rejected in any case, for any answer.
    pub(crate) mux_fate: Option<bool>,
    pub(crate) security: Security,
    /// Our credentials towards the party, where it has ICE.
    pub(crate) ice: Option<IceCredentials>,
    /// The party offered ICE, and is to get none.
    pub(crate) ice_rejected: bool,
    pub(crate) traffic: [Traffic; 2],
    pub(crate) last_packets: [Option<Instant>; 2],
    pub(crate) qualities: Vec<Quality>,
}

/// The addresses in a party's description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Heard {
    pub(crate) rtp: SocketAddr,
    pub(crate) rtcp: SocketAddr,
    #[serde(with = "form::direction")]
    pub(crate) direction: Direction,
    #[serde(with = "form::credentials")]
    pub(crate) ice: Option<IceCredentials>,
    /// It only answers checks, as we do. So nobody checks, and media goes to the described address
    /// (RFC 8445 section 8.2.2).
    #[serde(default)]
    pub(crate) ice_lite: bool,
    /// The clock rate of its preferred format.
    pub(crate) clock_rate: u32,
    /// The source of its description, as stated by the proxy.
    #[serde(default)]
    pub(crate) received: Option<IpAddr>,
    /// It had keys with a protocol without protection.
    #[serde(default)]
    pub(crate) is_opportunistic: bool,
}

/// How a party's packets are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Policy {
    pub(crate) learning: Learning,
    pub(crate) asymmetric: bool,
    pub(crate) strict: bool,
    pub(crate) handover: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            learning: Learning::Heuristic,
            asymmetric: false,
            strict: false,
            handover: false,
        }
    }
}

impl Policy {
    /// The terms of a description, with the operator's defaults.
    pub(crate) fn of(terms: &Terms, config: &Config) -> Self {
        let asymmetric = terms.sources.asymmetric;
        Self {
            // A party that sends from another address than it receives at has not stated that
            // address, so its source is still learned.
            learning: terms.sources.learning.unwrap_or(match config.learning {
                Learning::Off if asymmetric => Learning::Heuristic,
                learning => learning,
            }),
            asymmetric,
            strict: terms.sources.strict,
            handover: terms.sources.handover,
        }
    }
}

impl Heard {
    pub(crate) fn at(&self, component: Component) -> SocketAddr {
        match component {
            Component::Rtp => self.rtp,
            Component::Rtcp => self.rtcp,
        }
    }

    /// It is on hold in the old way, by an address of zeros (RFC 3264 section 8.4). With ICE zeros
    /// only mean that no candidate is known yet (RFC 8839 section 4.4.1.1.1, RFC 8840 section
    /// 4.1.1).
    pub(crate) fn is_zero(&self) -> bool {
        self.rtp.ip().is_unspecified() && self.ice.is_none()
    }
}

impl Media {
    pub(crate) fn new(kind: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            is_rtp: true,
            protocols: Default::default(),
            sides: Default::default(),
            choice: None,
            passes_ice: false,
            refused: false,
            offered: Offered::default(),
            format: String::new(),
            codec: None,
            tos: None,
        }
    }

    /// The section's place is used for something else from now on (RFC 3264 section 8.2); its ports
    /// stay.
    pub(crate) fn begin_anew(&mut self, kind: &str) {
        let before = std::mem::replace(self, Self::new(kind));
        for (side, before) in self.sides.iter_mut().zip(before.sides) {
            *side = Side {
                local: before.local,
                traffic: before.traffic,
                last_packets: before.last_packets,
                ..Side::default()
            };
        }
    }

    /// Neither party has it on hold.
    pub(crate) fn flows(&self) -> bool {
        let speaks = |side: &Side| {
            side.heard
                .as_ref()
                .is_some_and(|heard| !heard.is_zero() && heard.direction == Direction::SendRecv)
        };
        !self.refused && self.sides.iter().all(speaks)
    }

    /// Whether the media of the party at `end` is protected, by us or by the other party.
    pub(crate) fn is_protected(&self, end: usize) -> bool {
        let heard = || self.sides.iter().map(|side| side.heard.as_ref());
        let both_have_keys = heard().all(|heard| heard.is_some_and(|heard| heard.is_opportunistic));
        both_have_keys || self.protocols[end].to_ascii_uppercase().contains("SAVP")
    }

    /// Gives the ports of both sides back.
    pub(crate) fn release(&mut self, ports: &mut PortPool) {
        for side in &mut self.sides {
            side.release(ports);
        }
    }
}

impl Side {
    /// Gives its ports back. Learned addresses and ICE proofs are of no use at other ports.
    pub(crate) fn release(&mut self, ports: &mut PortPool) {
        self.local.take().into_iter().for_each(|pair| ports.give_back(pair));
        self.sources = Default::default();
        self.said = None;
        self.ice = None;
    }

    /// Our credentials towards a party that proves its address by checks.
    pub(crate) fn checked(&self) -> Option<&IceCredentials> {
        let is_lite = self.heard.as_ref().is_some_and(|heard| heard.ice_lite);
        self.ice.as_ref().filter(|_| !is_lite)
    }

    /// Whether a description says that the party is elsewhere: at another address or, with ICE,
    /// with other credentials.
    pub(crate) fn moves(&self, heard: &Heard) -> bool {
        let Some(before) = &self.heard else { return false };
        match (&before.ice, &heard.ice) {
            (Some(before), Some(ice)) if !heard.ice_lite => before != ice,
            _ => !heard.is_zero() && self.said.map(|[rtp, _]| rtp) != Some(heard.rtp),
        }
    }

    /// Records a description of the party: its packets may have another source from now on.
    pub(crate) fn hear(&mut self, heard: Heard, policy: Policy, reset: bool, closes: Instant) {
        // On hold, a party is still where it was.
        let said = (!heard.is_zero()).then_some([heard.rtp, heard.rtcp]);
        if reset {
            self.sources.iter_mut().for_each(Source::reset);
        } else if let Some(said) = said {
            for (component, source) in self.sources.iter_mut().enumerate() {
                let moved = self.said.is_some_and(|before| before[component] != said[component]);
                source.describe(moved, closes);
            }
        }
        self.said = said.or(self.said);
        self.heard = Some(heard);
        self.policy = policy;
    }

    /// The address that means none, of the party's family.
    pub(crate) fn zero(&self) -> IpAddr {
        match self.local.as_ref().map(|pair| pair.advertised) {
            Some(IpAddr::V6(_)) => Ipv6Addr::UNSPECIFIED.into(),
            _ => Ipv4Addr::UNSPECIFIED.into(),
        }
    }

    /// Our address for a component, seen from the party.
    pub(crate) fn local(&self, component: Component) -> Option<SocketAddr> {
        let pair = self.local.as_ref()?;
        match component {
            Component::Rtcp if !self.mux => Some(pair.rtcp()),
            _ => Some(pair.rtp()),
        }
    }

    /// The destination of packets to the party; `None` while it wants none.
    pub(crate) fn destination(&self, component: Component) -> Option<SocketAddr> {
        let component = if self.mux { Component::Rtp } else { component };
        let heard = self.heard.as_ref().filter(|heard| !heard.is_zero())?;
        let learned = self.sources[component as usize]
            .address()
            .filter(|_| !self.policy.asymmetric);
        let to = learned.unwrap_or(heard.at(component));
        // A party with ICE proves its address, whatever its description says.
        let is_somewhere = to.port() != 0 && !to.ip().is_unspecified();
        (self.checked().is_some() || is_somewhere).then_some(to)
    }

    /// The clock rate of media to the party, if its RTCP can be read: media encrypted from end to
    /// end cannot be.
    pub(crate) fn clock_rate(&self, is_protected: bool) -> Option<u32> {
        let from_end_to_end = matches!(self.security, Security::Clear) && is_protected;
        let heard = self.heard.as_ref().filter(|_| !from_end_to_end)?;
        Some(heard.clock_rate)
    }

    /// Adds a report about the quality of a stream of the party.
    pub(crate) fn rate(&mut self, ssrc: u32, sample: Sample) {
        if let Some(quality) = self.qualities.iter_mut().find(|quality| quality.ssrc == ssrc) {
            quality.add(sample);
        } else if self.qualities.len() < QUALITIES_MAX {
            self.qualities.push(Quality::new(ssrc, sample));
        }
    }
}
