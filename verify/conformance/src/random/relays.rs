//! Random relays, and parties that send them valid and invalid packets.

use std::collections::BTreeMap;
use std::time::Duration;

use dataplane::{Accept, Hop, Path, Relay, RelayProtection, SrtpProfile, Update};
use rand::rngs::StdRng;
use rand::seq::IteratorRandom;
use rand::{Rng, SeedableRng};

use crate::rtp::RtpFields;
use crate::step::{master_key, party_at, relay_at};
use crate::{Injection, Send, Step};

const RELAYS: u32 = 6;
const PARTIES: u32 = 4;

/// The kind of history to make.
#[derive(Clone, Copy, Debug)]
pub struct RelayOptions {
    /// How many steps.
    pub steps: usize,
    /// Whether parties have addresses of their own, and datagrams may be sent to where nobody
    /// listens.
    pub is_virtual: bool,
}

/// The history of a seed.
pub fn relay_history(seed: u64, options: RelayOptions) -> Vec<Step> {
    let mut make = Generator {
        rng: StdRng::seed_from_u64(seed),
        options,
        relays: BTreeMap::new(),
        sealed_with: BTreeMap::new(),
        numbers: BTreeMap::new(),
        next: 1,
    };
    let mut steps = Vec::with_capacity(options.steps);
    for relay in 0..RELAYS / 2 {
        steps.push(make.set(relay));
    }
    while steps.len() < options.steps {
        steps.extend(make.step());
    }
    steps
}

struct Generator {
    rng: StdRng,
    options: RelayOptions,
    relays: BTreeMap<u32, Relay>,
    /// Keys that the hops of each relay ever sealed with: no other relay may use them afterwards.
    sealed_with: BTreeMap<u32, Vec<RelayProtection>>,
    /// The newest number of each SSRC.
    numbers: BTreeMap<u32, u16>,
    /// The next number of keys and tags.
    next: u32,
}

impl Generator {
    fn step(&mut self) -> Option<Step> {
        let relay = self.rng.random_range(0..RELAYS);
        match self.rng.random_range(0..1000) {
            0..900 => self.send(relay),
            900..915 => Some(Step::Wait(Duration::from_micros(self.rng.random_range(1..2_000)))),
            915..930 => Some(Step::Inject(Injection::ReportRelay(relay_at(relay)))),
            930..940 => {
                let path = self.path(relay);
                let known = self.relays.contains_key(&relay);
                let bytes = vec![1, 1, 0, 0, self.rng.random()];
                known.then_some(Step::Inject(Injection::Datagram(path, bytes)))
            }
            940..990 => Some(self.set(relay)),
            // At times one that does not exist, which is refused.
            _ => {
                self.relays.remove(&relay);
                self.sealed_with.remove(&relay);
                Some(Step::Write(Update::RemoveRelay(relay_at(relay))))
            }
        }
    }

    fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn path(&mut self, relay: u32) -> Path {
        Path {
            local: relay_at(relay),
            remote: party_at(self.rng.random_range(1..=PARTIES)),
        }
    }

    /// A new relay, or a change of one.
    fn set(&mut self, relay: u32) -> Step {
        let old = self.relays.remove(&relay);
        let is_new = old.is_none();
        let mut entry = old.unwrap_or(Relay {
            accept: Accept::Nobody,
            ingress_protection: RelayProtection::Clear,
            terminated: false,
            rtp: None,
            rtcp: None,
        });
        let what = self.rng.random_range(0..6);
        if is_new || what == 0 {
            entry.accept = self.accept();
        }
        if is_new || what == 1 {
            entry.ingress_protection = self.protection(0.1);
        }
        if is_new || what == 2 {
            entry.terminated = self.rng.random_bool(0.4);
        }
        if is_new || what == 3 {
            entry.rtp = self.hop(&entry);
        }
        if is_new || what == 4 {
            entry.rtcp = self.hop(&entry);
        }
        let keys = self.sealed_with.entry(relay).or_default();
        let hops = [&entry.rtp, &entry.rtcp].into_iter().flatten();
        keys.extend(
            hops.map(|hop| hop.egress_protection.clone())
                .filter(|protection| protection.key().is_some()),
        );
        self.relays.insert(relay, entry.clone());
        Step::Write(Update::SetRelay(relay_at(relay), Box::new(entry)))
    }

    fn accept(&mut self) -> Accept {
        let party = party_at(self.rng.random_range(1..=PARTIES));
        match self.rng.random_range(0..20) {
            0 => Accept::Nobody,
            1..8 => Accept::Only(party),
            8..11 if self.options.is_virtual => Accept::Learn {
                within: Some(party.ip()),
                window: self.rng.random_range(0..2),
                rtp_only: self.rng.random_bool(0.5),
            },
            _ => Accept::Learn {
                within: None,
                window: self.rng.random_range(0..2),
                rtp_only: self.rng.random_bool(0.5),
            },
        }
    }

    fn protection(&mut self, pending: f64) -> RelayProtection {
        let profiles = [
            SrtpProfile::AeadAes128Gcm,
            SrtpProfile::AeadAes256Gcm,
            SrtpProfile::AesCm128HmacSha1_80,
            SrtpProfile::AesCm128HmacSha1_32,
            SrtpProfile::AesCm192HmacSha1_80,
            SrtpProfile::AesCm256HmacSha1_32,
            SrtpProfile::F8_128HmacSha1_80,
            SrtpProfile::NullHmacSha1_32,
        ];
        if self.rng.random_bool(pending) {
            return RelayProtection::Pending;
        }
        match self.rng.random_bool(0.5) {
            true => RelayProtection::Clear,
            false => {
                let profile = profiles.into_iter().choose(&mut self.rng).expect("some");
                RelayProtection::Srtp(master_key(profile, self.fresh()))
            }
        }
    }

    /// A random destination. Relays that send to the same address use the same protection, as far
    /// as a party can tell them apart.
    fn hop(&mut self, of: &Relay) -> Option<Hop> {
        if self.rng.random_bool(0.1) {
            return None;
        }
        let relay = self.rng.random_range(0..RELAYS);
        let path = self.path(relay);
        let others = self.relays.values().chain([of]);
        let same = others
            .flat_map(|relay| relay.rtp.iter().chain(&relay.rtcp))
            .find(|hop| hop.path == path)
            .map(|hop| hop.egress_protection.clone());
        let known = self.sealed_with.values().flatten().choose(&mut self.rng).cloned();
        let shared = known.filter(|_| self.next.is_multiple_of(5));
        let egress_protection = same.or(shared).unwrap_or_else(|| self.protection(0.05));
        let tos = [None, Some(0xb8), Some(0), Some(0x67)][self.next as usize % 4];
        Some(Hop {
            path,
            egress_protection,
            tos,
        })
    }

    /// A datagram from anybody to anywhere.
    fn send(&mut self, relay: u32) -> Option<Step> {
        let entry = self.relays.get(&relay);
        if entry.is_none() && !self.options.is_virtual {
            return None;
        }
        let accepted = match entry.map(|entry| entry.accept) {
            Some(Accept::Only(party)) if self.rng.random_bool(0.9) => Some(party),
            _ => None,
        };
        let mut path = self.path(relay);
        path.remote = accepted.unwrap_or(path.remote);
        let tampered = self.rng.random_bool(0.01);
        let bytes = match self.rng.random_range(0..100) {
            0..80 => self.rtp(),
            80..88 => vec![0x80, 0xc9, 0, 1, 0, 0, 0, self.rng.random_range(0..3)],
            88..91 => vec![0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42, self.rng.random()],
            91..94 => vec![22, 0xfe, 0xfd, self.rng.random()],
            94 => vec![0x80; self.rng.random_range(1_499..1_503)],
            _ => self.noise(),
        };
        let send = Send { path, bytes, tampered };
        Some(match self.rng.random_bool(0.05) {
            true => Step::Receive(send),
            false => Step::Send(send),
        })
    }

    /// The next packet of an SSRC, or a lost, repeated or very old one.
    fn rtp(&mut self) -> Vec<u8> {
        let ssrc = self.rng.random_range(1..4);
        let newest = *self
            .numbers
            .entry(ssrc)
            .or_insert_with(|| self.rng.random_range(65_000..=65_535));
        let number = match self.rng.random_range(0..200) {
            0..170 => newest.wrapping_add(self.rng.random_range(1..4)),
            170..190 => newest.wrapping_sub(self.rng.random_range(0..10)),
            190..199 => newest.wrapping_sub(self.rng.random_range(1_000..1_050)),
            _ => newest.wrapping_add(self.rng.random_range(1_000..20_000)),
        };
        if number.wrapping_sub(newest) < 1 << 15 {
            self.numbers.insert(ssrc, number);
        }
        let tag = self.fresh().to_be_bytes();
        let fields = RtpFields {
            ssrc: Some(ssrc),
            payload_type: Some(self.rng.random_range(0..64)),
            sequence: Some(number),
            timestamp: Some(self.rng.random()),
            payload: Some(tag.to_vec()),
            ..RtpFields::default()
        };
        fields.encode()
    }

    fn noise(&mut self) -> Vec<u8> {
        let len = self.rng.random_range(0..20);
        let mut bytes: Vec<u8> = (0..len).map(|_| self.rng.random()).collect();
        if let Some(first) = bytes.first_mut().filter(|_| self.rng.random()) {
            *first = 0x80 | *first & 0x3f;
        }
        bytes
    }
}
