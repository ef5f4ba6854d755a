//! Invariants of every device, independent of the model.
//!
//! * The map from a source's numbers to a replica's is injective and keeps their order, so a late
//!   packet is sent under the number that was left for it.
//! * No real loss is hidden: between two packets there is room for all packets between them that
//!   never arrived.
//! * Packets of a stream are sent to its replicas only, and no packet is made up.
//! * A relay sends a packet only if it arrived at a relay.
//! * RTCP is sent only if it arrived on a leg whose feedback goes on, and only to the leg that it
//!   goes on to.
//! * A retransmission carries the packet that was sent under the number it names. In sessions
//!   without retransmissions, a packet that the publisher repeats may be sent once, unchanged, to a
//!   receiver that asked for it.
//!
//! Packets are identified by the tag at the end of their payload, which no device may change.

mod decoder;
mod replica;
pub mod sources;
pub mod truth;

use std::collections::{BTreeMap, BTreeSet};

use dataplane::{LegId, Path, ReplicaId, Update};
use wire::{PacketKind, RtpPacket};

use crate::leg_table::LegTable;
use crate::step::relay_of;
use crate::subject::Observation;
use crate::{Injection, Send, Step};
use replica::ReplicaWatch;
use sources::Sources;

/// Whether a datagram is RTCP.
fn is_rtcp(bytes: &[u8]) -> bool {
    wire::classify(bytes) == PacketKind::Rtcp
}

/// Watches one device through a history.
#[derive(Default)]
pub struct Invariants {
    /// Whether the network loses nothing, so that everything must be decodable.
    is_clean: bool,
    legs: LegTable,
    sources: Sources,
    replicas: BTreeMap<ReplicaId, ReplicaWatch>,
    /// Datagrams that arrived at relays.
    relayed: BTreeSet<Vec<u8>>,
    /// The legs whose feedback goes on, each with the leg that it goes on to,
    feedback: BTreeMap<LegId, LegId>,
    /// and what has arrived from them and has not been sent.
    going_on: Vec<(LegId, Vec<u8>)>,
    /// Packets that the agent injected and that did not arrive yet: a device may send them in a
    /// later step.
    injected: Vec<Injection>,
}

impl Invariants {
    /// For a history without losses and delays, in which receivers are always ready: received
    /// streams must be decodable.
    pub fn of_clean_network() -> Self {
        Invariants {
            is_clean: true,
            ..Self::default()
        }
    }

    /// Follows a step and judges its effects.
    ///
    /// Errors: the broken invariant.
    pub fn observe(&mut self, step: &Step, observation: &Observation) -> Result<(), String> {
        match step {
            Step::Write(update) if observation.written.is_ok() => self.apply(update),
            Step::Send(send) | Step::Receive(send) => self.arrived(send),
            Step::Inject(Injection::Resend(id, sequences)) => {
                if let Some(replica) = self.replicas.get_mut(id) {
                    replica.asked(sequences);
                }
            }
            Step::Inject(injection @ (Injection::Datagram(..) | Injection::Rtcp(..))) => {
                self.injected.push(injection.clone())
            }
            _ => {}
        }
        self.judge_all(observation)
    }

    /// A replica continues on another device, which may leave numbers out.
    pub fn moved(&mut self, id: ReplicaId) {
        if let Some(replica) = self.replicas.get_mut(&id) {
            replica.moved();
        }
    }

    /// As [`observe`](Self::observe), for datagrams that arrived together.
    ///
    /// Errors: the broken invariant.
    pub fn observe_burst<'a>(
        &mut self,
        sends: impl Iterator<Item = &'a Send>,
        observation: &Observation,
    ) -> Result<(), String> {
        sends.for_each(|send| self.arrived(send));
        self.judge_all(observation)
    }

    fn arrived(&mut self, send: &Send) {
        if relay_of(send.path.local).is_some() {
            self.relayed.insert(send.bytes.clone());
        }
        let leg = self.legs.of_arrival(send.path, &send.bytes);
        if let Some(leg) = leg.filter(|leg| !send.tampered || self.legs.profile(*leg).is_none()) {
            self.sources.arrived(leg, &send.bytes);
            if let Some(to) = self.feedback.get(&leg).filter(|_| is_rtcp(&send.bytes)) {
                self.going_on.push((*to, send.bytes.clone()));
            }
        }
    }

    fn judge_all(&mut self, observation: &Observation) -> Result<(), String> {
        for (path, got) in &observation.got {
            for opened in got {
                let unopened = |error| format!("{} cannot open a packet: {error:?}", path.remote);
                let opened = opened.as_ref().map_err(unopened)?;
                if !self.is_injected(*path, &opened.bytes) && !self.goes_on(*path, &opened.bytes) {
                    self.judge(*path, &opened.bytes)?;
                }
            }
        }
        // It goes on at once or not at all.
        self.going_on.clear();
        Ok(())
    }

    fn apply(&mut self, update: &Update) {
        self.legs.apply(update);
        match update {
            Update::SetLeg(..) | Update::SetPace(..) | Update::SetCopied(..) => {}
            Update::SetFeedback(from, Some(to)) => drop(self.feedback.insert(*from, *to)),
            Update::SetFeedback(from, None) => drop(self.feedback.remove(from)),
            Update::RemoveLeg(leg) => self.leg_removed(*leg),
            Update::SetStream(key, stream) => self.sources.set(*key, stream),
            Update::RemoveStream(key) => {
                self.sources.remove(*key);
                self.replicas
                    .values_mut()
                    .for_each(|replica| replica.source_removed(*key));
            }
            Update::SetReplica(id, replica) => match self.replicas.get_mut(id) {
                Some(watch) => watch.changed(replica),
                None => drop(self.replicas.insert(*id, ReplicaWatch::new(replica))),
            },
            Update::RemoveReplica(id) => drop(self.replicas.remove(id)),
            // Packets of relays are checked as they are sent.
            Update::SetRelay(..) | Update::RemoveRelay(_) => {}
        }
    }

    fn leg_removed(&mut self, leg: LegId) {
        self.replicas.retain(|_, replica| replica.entry.leg != leg);
        self.feedback.retain(|from, to| *from != leg && *to != leg);
        for key in self.sources.remove_leg(leg) {
            self.replicas
                .values_mut()
                .for_each(|replica| replica.source_removed(key));
        }
    }

    /// Whether this is a datagram that the agent injected, which is sent once.
    fn is_injected(&mut self, path: Path, bytes: &[u8]) -> bool {
        let is_this = |injection: &Injection| match injection {
            Injection::Datagram(to, sent) => *to == path && sent == bytes,
            Injection::Rtcp(_, sent) => sent == bytes,
            _ => false,
        };
        let found = self.injected.iter().position(is_this);
        found.map(|at| self.injected.swap_remove(at)).is_some()
    }

    /// Whether this is feedback that goes on, which is sent once, on the nominated path.
    fn goes_on(&mut self, path: Path, bytes: &[u8]) -> bool {
        let nominated = |leg| self.legs.entry(leg).and_then(|leg| leg.paths.first().copied());
        let is_this = |(to, sent): &(LegId, Vec<u8>)| nominated(*to) == Some(path) && sent == bytes;
        let found = self.going_on.iter().position(is_this);
        found.map(|at| self.going_on.swap_remove(at)).is_some()
    }

    /// Judges a datagram that the agent did not make.
    fn judge(&mut self, path: Path, bytes: &[u8]) -> Result<(), String> {
        if relay_of(path.local).is_some() {
            return match self.relayed.contains(bytes) {
                true => Ok(()),
                false => Err("sent a packet from a relay that arrived at none".into()),
            };
        }
        let packet = RtpPacket::parse(bytes).map_err(|error| format!("sent a packet that is not RTP: {error}"))?;
        if wire::classify(bytes) != PacketKind::Rtp {
            return Err("sent RTCP of its own".into());
        }
        let leg = self
            .legs
            .of_departure(path, bytes)
            .ok_or_else(|| format!("sent media to {}, which no leg has", path.remote))?;
        if self.legs.entry(leg).and_then(|leg| leg.paths.first()) != Some(&path) {
            return Err(format!("sent media to {}, which is not nominated", path.remote));
        }
        let ssrc = packet.ssrc();
        let on_leg = || self.replicas.values().filter(|replica| replica.entry.leg == leg);
        let as_media = on_leg().any(|replica| replica.entry.ssrc == ssrc);
        let mut on_leg = self.replicas.values_mut().filter(|replica| replica.entry.leg == leg);
        let found = match as_media {
            true => on_leg.find(|replica| replica.entry.ssrc == ssrc),
            false => on_leg.find(|replica| replica.entry.rtx.is_some_and(|(rtx, _)| rtx == ssrc)),
        };
        let replica = found.ok_or_else(|| format!("sent SSRC {:#x} to a leg that has no such replica", ssrc.0))?;
        match as_media {
            true => replica.sent(&packet, &self.sources, self.is_clean),
            false => replica.resent(&packet, &self.sources),
        }
    }
}
