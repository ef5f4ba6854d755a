//! Names for numbers.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use dataplane::{LegId, Path, ReplicaId, StreamKey};
use wire::Ssrc;

use super::words::{Problem, number, split};
use crate::step::{party_at, party_of, path_of, relay_at, relay_of};

/// Names of legs, replicas, relays and peers. Numbers are given out by first appearance, from 1,001
/// on.
#[derive(Clone, Debug, Default)]
pub struct Names {
    legs: BTreeMap<String, u32>,
    replicas: BTreeMap<String, u32>,
    relays: BTreeMap<String, u32>,
    peers: BTreeMap<String, u32>,
}

const FIRST: u32 = 1_001;

fn id(names: &mut BTreeMap<String, u32>, name: &str, prefix: char) -> u32 {
    let literal = name.strip_prefix(prefix).and_then(|digits| digits.parse().ok());
    if let Some(literal) = literal.filter(|literal| *literal < FIRST) {
        return literal;
    }
    let next = FIRST + names.len() as u32;
    *names.entry(name.into()).or_insert(next)
}

fn name(names: &BTreeMap<String, u32>, id: u32, prefix: char) -> String {
    names
        .iter()
        .find(|(_, named)| **named == id)
        .map_or_else(|| format!("{prefix}{id}"), |(name, _)| name.clone())
}

impl Names {
    /// The leg of this name.
    pub fn leg(&mut self, name: &str) -> LegId {
        LegId(id(&mut self.legs, name, 'l'))
    }

    /// The replica of this name.
    pub fn replica(&mut self, name: &str) -> ReplicaId {
        ReplicaId(id(&mut self.replicas, name, 'r'))
    }

    /// The relay of this name.
    pub fn relay(&mut self, name: &str) -> SocketAddr {
        relay_at(id(&mut self.relays, name, 'x'))
    }

    /// The address of the peer of this name towards relays.
    pub fn party(&mut self, name: &str) -> SocketAddr {
        party_at(id(&mut self.peers, name, 'p'))
    }

    /// The path of the peer of this name; `peer@relay` towards a relay.
    pub fn path(&mut self, name: &str) -> Path {
        match name.split_once('@') {
            None => path_of(id(&mut self.peers, name, 'p')),
            Some((peer, relay)) => Path {
                local: self.relay(relay),
                remote: self.party(peer),
            },
        }
    }

    /// The stream written `leg:ssrc`.
    pub fn stream(&mut self, text: &str) -> Result<StreamKey, Problem> {
        let (leg, ssrc) = split(text, ':', "a stream")?;
        Ok(StreamKey {
            leg: self.leg(leg),
            ssrc: Ssrc(number(ssrc, "an SSRC")?),
        })
    }

    /// The name of this leg.
    pub fn of_leg(&self, leg: LegId) -> String {
        name(&self.legs, leg.0, 'l')
    }

    /// The name of this replica.
    pub fn of_replica(&self, replica: ReplicaId) -> String {
        name(&self.replicas, replica.0, 'r')
    }

    /// The name of this relay.
    pub fn of_relay(&self, at: SocketAddr) -> String {
        relay_of(at).map_or_else(|| at.to_string(), |relay| name(&self.relays, relay, 'x'))
    }

    /// The name of the peer at this address.
    pub fn of_party(&self, address: SocketAddr) -> String {
        party_of(address).map_or_else(|| address.to_string(), |peer| name(&self.peers, peer, 'p'))
    }

    /// The name of the peer at this path.
    pub fn of_path(&self, path: Path) -> String {
        match relay_of(path.local) {
            Some(_) => format!("{}@{}", self.of_party(path.remote), self.of_relay(path.local)),
            None => crate::step::peer_at(path).map_or_else(|| format!("{path:?}"), |peer| name(&self.peers, peer, 'p')),
        }
    }

    /// As [`stream`](Self::stream) reads it.
    pub fn of_stream(&self, key: StreamKey) -> String {
        format!("{}:{:#x}", self.of_leg(key.leg), key.ssrc.0)
    }
}
