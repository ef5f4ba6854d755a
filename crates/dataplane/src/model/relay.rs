//! Relays: a datagram that arrives at one local port is sent from another, unchanged.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Instant;

use wire::{PacketKind, RtpPacket, Ssrc};

use super::{Egress, Ingress, Model};
use crate::limits::{DATAGRAM_MAX, KEYS_PER_RELAY_MAX, PROTECTED_PUNTS_MAX, REORDER_MAX, SSRCS_PER_KEY_MAX};
use crate::{
    Accept, Counter, Event, Hop, MasterKey, PuntKind, Relay, RelayProtection, RelayTraffic, Verdict, WriteError,
};

/// Bytes of an RTCP packet that are always in clear: its header and its sender.
const RTCP_MIN: usize = 8;

#[derive(Debug)]
pub(super) struct RelayState {
    entry: Relay,
    /// The keys that its hops have sealed with, the last named last.
    sealed_with: Vec<MasterKey>,
    /// The last reported source.
    told: Option<SocketAddr>,
    /// Datagrams that were punted since it had keys.
    protected_punts: usize,
    traffic: RelayTraffic,
    last: Option<Instant>,
}

/// The numbers one key has protected, at any relay's hop: a number never protects two packets.
#[derive(Debug)]
pub(super) struct Sealed {
    key: MasterKey,
    streams: BTreeMap<Ssrc, BTreeSet<u64>>,
}

/// The next step for a datagram, by its first bytes.
enum Onward {
    Punted(PuntKind, Counter),
    Along(PacketKind, Hop),
}

impl Model {
    pub(super) fn set_relay(&mut self, at: SocketAddr, entry: Relay) -> Result<(), WriteError> {
        let mut sealed_with = self.relays.get(&at).map_or(Vec::new(), |old| old.sealed_with.clone());
        let keys = [&entry.rtp, &entry.rtcp]
            .into_iter()
            .flatten()
            .filter_map(|hop| hop.egress_protection.key());
        for key in keys {
            sealed_with.retain(|known| known != key);
            sealed_with.push(key.clone());
        }
        let retired = sealed_with.len().saturating_sub(KEYS_PER_RELAY_MAX);
        sealed_with.drain(..retired);
        for key in &sealed_with {
            if self.sealed.iter().all(|sealed| sealed.key != *key) {
                self.sealed.push(Sealed {
                    key: key.clone(),
                    streams: BTreeMap::new(),
                });
            }
        }
        let old = self.relays.remove(&at);
        let state = RelayState {
            told: old
                .as_ref()
                .filter(|old| old.entry.accept == entry.accept)
                .and_then(|old| old.told),
            protected_punts: old
                .as_ref()
                .filter(|_| entry.ingress_protection == RelayProtection::Pending)
                .map_or(0, |old| old.protected_punts),
            traffic: old.as_ref().map_or_else(RelayTraffic::default, |old| old.traffic),
            last: old.and_then(|old| old.last),
            entry,
            sealed_with,
        };
        self.relays.insert(at, state);
        self.forget_keys();
        Ok(())
    }

    pub(super) fn remove_relay(&mut self, at: SocketAddr) -> Result<(), WriteError> {
        if !self.relays.contains_key(&at) {
            return Err(WriteError::UnknownRelay);
        }
        self.report_relay(at);
        self.relays.remove(&at);
        self.forget_keys();
        Ok(())
    }

    /// Forgets what keys have sealed that no relay remembers.
    fn forget_keys(&mut self) {
        let relays = &self.relays;
        self.sealed
            .retain(|sealed| relays.values().any(|relay| relay.sealed_with.contains(&sealed.key)));
    }

    pub(super) fn report_relay(&mut self, at: SocketAddr) {
        if let Some(RelayState { traffic, last, .. }) = self.relays.get(&at) {
            self.events.push_back(Event::RelayTraffic {
                at,
                traffic: *traffic,
                last: *last,
            });
        }
    }

    /// The key that a relay decrypts a datagram with before [`packet`](Self::packet) gets it;
    /// `None` if it is not decrypted.
    pub fn relay_key(&self, arrival: Ingress<'_>) -> Option<&MasterKey> {
        match self.onward(arrival) {
            Ok(Onward::Along(..)) => self.relays[&arrival.path.local].entry.ingress_protection.key(),
            _ => None,
        }
    }

    /// Processes a datagram that arrives at a relay.
    pub(super) fn relay(&mut self, now: Instant, arrival: Ingress<'_>, out: &mut Vec<Egress>) -> Verdict {
        let onward = self.onward(arrival);
        self.learn(arrival, &onward);
        let verdict = match onward {
            Err(reason) => Verdict::Drop(reason),
            Ok(Onward::Punted(kind, counter)) => self.punt(now, arrival, None, kind, counter),
            Ok(Onward::Along(kind, ref hop)) => self.pass(now, arrival, kind, hop.clone(), out),
        };
        let state = self.relays.get_mut(&arrival.path.local).expect("it arrived there");
        if let Ok(Onward::Punted(PuntKind::Protected, _)) = onward {
            state.protected_punts += 1;
        }
        match verdict {
            Verdict::Forward => {
                state.traffic.packets += 1;
                state.traffic.bytes += arrival.bytes.len() as u64;
                state.last = Some(now);
                if wire::classify(arrival.bytes) == PacketKind::Rtp {
                    let packet = RtpPacket::parse_protected(arrival.bytes).expect("it was looked at");
                    state.traffic.ssrc = Some(packet.ssrc());
                }
            }
            Verdict::Drop(_) => state.traffic.dropped += 1,
            Verdict::Punt => {}
        }
        verdict
    }

    fn onward(&self, arrival: Ingress<'_>) -> Result<Onward, Counter> {
        let state = self.relays.get(&arrival.path.local).ok_or(Counter::UnknownSource)?;
        let relay = &state.entry;
        if arrival.bytes.len() > DATAGRAM_MAX {
            return Err(Counter::Oversized);
        }
        let kind = wire::classify(arrival.bytes);
        if relay.terminated && kind == PacketKind::Stun {
            return Ok(Onward::Punted(PuntKind::Stun, Counter::PuntedStun));
        }
        if relay.accept == Accept::Nobody {
            return Err(Counter::NotReady);
        }
        if !relay.accept.takes(arrival.path.remote) {
            return Err(Counter::ForeignSource);
        }
        if relay.terminated && kind == PacketKind::Dtls {
            return Ok(Onward::Punted(PuntKind::Dtls, Counter::PuntedDtls));
        }
        let hop = match kind {
            PacketKind::Rtp | PacketKind::Rtcp if relay.ingress_protection == RelayProtection::Pending => {
                return match state.protected_punts < PROTECTED_PUNTS_MAX {
                    true => Ok(Onward::Punted(PuntKind::Protected, Counter::PuntedProtected)),
                    false => Err(Counter::NoKeys),
                };
            }
            // Whether padding is right is not seen from outside, where packets pass protected.
            PacketKind::Rtp if RtpPacket::parse_protected(arrival.bytes).is_err() => return Err(Counter::Malformed),
            PacketKind::Rtcp if arrival.bytes.len() < RTCP_MIN => return Err(Counter::Malformed),
            PacketKind::Rtcp => &relay.rtcp,
            PacketKind::Rtp => &relay.rtp,
            _ if relay.ingress_protection != RelayProtection::Clear => return Err(Counter::NotMedia),
            _ => &relay.rtp,
        };
        let hop = hop.as_ref().ok_or(Counter::NoDestination)?;
        if !matches!(kind, PacketKind::Rtp | PacketKind::Rtcp) && hop.egress_protection != RelayProtection::Clear {
            return Err(Counter::NotMedia);
        }
        if hop.egress_protection == RelayProtection::Pending || !self.relays.contains_key(&hop.path.local) {
            return Err(Counter::NotReady);
        }
        Ok(Onward::Along(kind, hop.clone()))
    }

    /// Reports a datagram's source, if it is new and the relay learns. At a relay with keys, only a
    /// party that has them is a source: a packet that does not authenticate is not given to the
    /// model.
    fn learn(&mut self, arrival: Ingress<'_>, onward: &Result<Onward, Counter>) {
        let (at, from) = (arrival.path.local, arrival.path.remote);
        let state = self.relays.get_mut(&at).expect("it arrived there");
        let kind = wire::classify(arrival.bytes);
        let counts = match (&state.entry.ingress_protection, onward) {
            _ if kind == PacketKind::Rtcp && state.entry.rtcp.is_none() => false,
            (_, Err(Counter::Oversized | Counter::ForeignSource) | Ok(Onward::Punted(PuntKind::Stun, _))) => false,
            (RelayProtection::Srtp(_), onward) => matches!(onward, Ok(Onward::Along(..))),
            (RelayProtection::Pending | RelayProtection::Clear, _) => true,
        };
        let learns = state.entry.accept.learns_from(kind);
        if counts && learns && state.told.replace(from) != Some(from) {
            self.events.push_back(Event::RelaySource { at, from });
        }
    }

    fn pass(
        &mut self,
        now: Instant,
        arrival: Ingress<'_>,
        kind: PacketKind,
        hop: Hop,
        out: &mut Vec<Egress>,
    ) -> Verdict {
        if let (PacketKind::Rtp, Some(key)) = (kind, hop.egress_protection.key()) {
            let sealed = self.sealed.iter_mut().find(|sealed| sealed.key == *key);
            let packet = RtpPacket::parse_protected(arrival.bytes).expect("it was looked at");
            if let Err(reason) = sealed.expect("set_relay entered it").claim(&packet) {
                return Verdict::Drop(reason);
            }
        }
        if kind == PacketKind::Rtcp {
            // A copy of the parties' reports, by which quality is measured here.
            self.punt(now, arrival, None, PuntKind::Rtcp, Counter::PuntedRtcp);
        }
        out.push(Egress {
            leg: None,
            path: hop.path,
            bytes: arrival.bytes.to_vec(),
        });
        self.counters.count(Counter::Relayed);
        Verdict::Forward
    }
}

impl Sealed {
    /// Takes the index of a packet for good: its number, with the roll-over counter that puts it
    /// nearest to the highest one taken (RFC 3711 section 3.3.1).
    fn claim(&mut self, packet: &RtpPacket<'_>) -> Result<(), Counter> {
        let number = i64::from(packet.sequence().0);
        if !self.streams.contains_key(&packet.ssrc()) && self.streams.len() >= SSRCS_PER_KEY_MAX {
            return Err(Counter::UnknownStream);
        }
        let taken = self.streams.entry(packet.ssrc()).or_default();
        let highest = taken.last().map_or(number, |highest| *highest as i64);
        let rollovers = [0, -1, 1].map(|more| (((highest >> 16) + more) << 16) + number);
        let index = rollovers
            .into_iter()
            .filter(|index| *index >= 0)
            .min_by_key(|index| highest.abs_diff(*index));
        let index = index.expect("the first is not below zero") as u64;
        if index + REORDER_MAX <= highest as u64 {
            return Err(Counter::TooLate);
        }
        taken.insert(index).then_some(()).ok_or(Counter::Duplicate)
    }
}
