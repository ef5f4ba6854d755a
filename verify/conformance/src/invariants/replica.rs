//! The packets that one replica's receiver saw.

use std::collections::{BTreeMap, BTreeSet};

use dataplane::{Replica, Rewriting, StreamKey};
use wire::{RtpPacket, Unwrapper};

use super::decoder::Decoder;
use super::sources::{Sources, TAG_LEN, tag_of};
use super::truth::Truth;

pub(super) struct ReplicaWatch {
    pub entry: Replica,
    /// The streams that it may get packets of now.
    allowed: BTreeSet<StreamKey>,
    /// The stream that it follows, as far as that is visible.
    followed: Option<StreamKey>,
    /// Source number to own number, since it began to follow.
    placed: BTreeMap<u64, u64>,
    /// Every packet sent, by its own number.
    sent: BTreeMap<u64, [u8; TAG_LEN]>,
    /// Packets asked for again that the publisher may send again unchanged.
    asked: BTreeSet<u64>,
    unwrapper: Unwrapper,
    decoder: Decoder,
}

impl ReplicaWatch {
    pub(crate) fn new(entry: &Replica) -> Self {
        ReplicaWatch {
            entry: entry.clone(),
            allowed: entry.source.iter().filter(|_| !entry.paused).copied().collect(),
            followed: None,
            placed: BTreeMap::new(),
            sent: BTreeMap::new(),
            asked: BTreeSet::new(),
            unwrapper: Unwrapper::default(),
            decoder: Decoder::default(),
        }
    }

    pub(crate) fn changed(&mut self, entry: &Replica) {
        self.entry = entry.clone();
        match entry.source {
            Some(source) if !entry.paused => {
                self.allowed = self.followed.into_iter().chain([source]).collect();
            }
            _ => {
                self.allowed.clear();
                self.followed = None;
            }
        }
    }

    /// Another device continues it.
    pub(crate) fn moved(&mut self) {
        self.followed = None;
    }

    pub(crate) fn source_removed(&mut self, key: StreamKey) {
        self.allowed.remove(&key);
        self.followed = self.followed.filter(|followed| *followed != key);
        self.entry.source = self.entry.source.filter(|source| *source != key);
    }

    /// Its receiver asks for packets again.
    pub(crate) fn asked(&mut self, sequences: &[u16]) {
        if self.entry.rtx.is_none() {
            let own = sequences.iter().map(|sequence| self.unwrapper.peek(*sequence));
            self.asked.extend(own);
        }
    }

    /// Judges a packet that was sent under the replica's own SSRC.
    pub(crate) fn sent(&mut self, packet: &RtpPacket<'_>, sources: &Sources, is_clean: bool) -> Result<(), String> {
        let Some(tag) = tag_of(packet.payload()) else {
            return Ok(());
        };
        let found = sources.of_tag(tag, &self.allowed);
        let (key, source) = found.ok_or("sent a payload that it did not get")?;
        if !self.allowed.contains(&key) {
            return Err(format!("sent a packet of {key:?}, which is not its source"));
        }
        // A first packet that did not fit keeps its number free, so this is a bound and not the
        // number itself.
        if self.sent.is_empty() && packet.sequence().0.wrapping_sub(self.entry.first_sequence) >= 1 << 14 {
            let first = self.entry.first_sequence;
            return Err(format!("began with {}, not {first}", packet.sequence()));
        }
        let own = self.unwrapper.extend(packet.sequence().0);
        if self.sent.get(&own) == Some(&tag) && self.asked.remove(&own) {
            return Ok(());
        }
        if self.followed != Some(key) {
            self.follow(key, own)?;
        }
        self.place(key, source, own, sources)?;
        if let Some(truth) = Truth::of(packet.payload()).filter(|_| is_clean) {
            let kept = self.entry.fallback_spatial;
            let kept = kept.filter(|spatial| *spatial < self.entry.target.spatial);
            self.decoder.receive(packet, &truth, kept)?;
        }
        match self.sent.insert(own, tag) {
            Some(_) => Err(format!("sent two packets under {}", own as u16)),
            None => Ok(()),
        }
    }

    fn follow(&mut self, key: StreamKey, own: u64) -> Result<(), String> {
        self.followed = Some(key);
        self.allowed = BTreeSet::from([key]);
        self.placed.clear();
        self.decoder = Decoder::default();
        match self.sent.last_key_value() {
            Some((last, _)) if *last >= own => {
                Err(format!("began to follow under {}, behind {}", own as u16, *last as u16))
            }
            _ => Ok(()),
        }
    }

    /// Compares with the nearest packets on both sides.
    fn place(&mut self, key: StreamKey, source: u64, own: u64, sources: &Sources) -> Result<(), String> {
        let before = self
            .placed
            .range(..source)
            .next_back()
            .map(|(source, own)| (*source, *own));
        let behind = self.placed.range(source..).next().map(|(source, own)| (*source, *own));
        if let Some((source_before, own_before)) = before {
            let room = between((source_before, own_before), (source, own))?;
            let lost = sources.lost_between(key, source_before, source);
            // Numbers by frames keep this for senders that keep their cadence only.
            let is_exact = self.entry.rewriting == Rewriting::Exact;
            if is_exact && behind.is_none() && room < lost {
                return Err(format!("hid a loss: {lost} never arrived, room for {room} was left"));
            }
        }
        if let Some(behind) = behind {
            between((source, own), behind)?;
        }
        self.placed.insert(source, own);
        Ok(())
    }

    /// Judges a packet that was sent under the replica's retransmission SSRC.
    pub(crate) fn resent(&self, packet: &RtpPacket<'_>, sources: &Sources) -> Result<(), String> {
        if packet.is_padding_only() {
            return Ok(());
        }
        let (original, payload) = wire::rtx::split(packet.payload()).ok_or("resent without an original number")?;
        let own = self.unwrapper.peek(original.0);
        match (self.sent.get(&own), tag_of(payload)) {
            (Some(sent), Some(tag)) if tag == *sent => Ok(()),
            (Some(_), _) => Err(format!("resent another packet than was sent under {original}")),
            (None, None) => Ok(()),
            (None, Some(tag)) => {
                // It arrived too late to be sent the first time; its number is still reserved.
                let found = sources.of_tag(tag, &self.allowed);
                let (_, source) = found.ok_or("resent a payload that it did not get")?;
                let before = self
                    .placed
                    .range(..=source)
                    .next_back()
                    .map(|(source, own)| (*source, *own));
                let behind = self.placed.range(source..).next().map(|(source, own)| (*source, *own));
                before.map_or(Ok(0), |before| between(before, (source, own)))?;
                behind.map_or(Ok(0), |behind| between((source, own), behind)).map(drop)
            }
        }
    }
}

/// How many own numbers are free between two packets, given as (source number, own number).
fn between((source_a, own_a): (u64, u64), (source_b, own_b): (u64, u64)) -> Result<u64, String> {
    if source_a == source_b {
        return Err(format!(
            "sent one packet twice, under {} and {}",
            own_a as u16, own_b as u16
        ));
    }
    if own_a >= own_b {
        return Err(format!(
            "changed the order: {} is not behind {}",
            own_b as u16, own_a as u16
        ));
    }
    if own_b - own_a > source_b - source_a {
        return Err(format!(
            "made a gap of its own between {} and {}",
            own_a as u16, own_b as u16
        ));
    }
    Ok(own_b - own_a - 1)
}
