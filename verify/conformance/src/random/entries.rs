//! Entries: new ones, changes, removals, and some that must be refused.

use dataplane::{
    Leg, LegId, Path, Protection, Replica, ReplicaId, Rewriting, SrtpProfile, Stream, StreamFormat, StreamKey, Update,
};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::{IteratorRandom, SliceRandom};
use wire::{MediaKind, Mid, NtpTime, RtpTimestamp, Ssrc};

use super::sender::Sender;
use super::tables::{Progress, Tables};
use super::{Network, Srtp};
use crate::Step;
use crate::device::STARTED_AT;
use crate::step::{path_of, protection};

mod values;

use self::values::{
    described_offer, extension_map, fallback_spatial, layered_offer, offers, playout_delay, replica_formats, target,
};

const LEGS_MAX: usize = 7;
const STREAMS_MAX: usize = 9;
const REPLICAS_MAX: usize = 16;

impl Tables {
    pub(crate) fn new_leg(&mut self, rng: &mut StdRng) -> Option<Step> {
        if self.legs.len() >= LEGS_MAX {
            return None;
        }
        // Ids are reused: a leg that was removed may be written again.
        let id = LegId(rng.random_range(1..12));
        if self.legs.contains_key(&id) {
            return None;
        }
        let shared = self.may_share(rng).then(|| Ssrc(0x2000_0000 + self.fresh()));
        let paths = match shared {
            Some(_) => vec![self.path_to_share(rng)],
            None => (0..rng.random_range(1..3))
                .map(|_| path_of(self.fresh() % 800 + 1))
                .collect(),
        };
        let is_beside = |leg: &&Leg| paths.iter().any(|path| leg.paths.contains(path));
        let mut beside = self.legs.values().filter(is_beside);
        if beside.any(|leg| shared.is_none() || leg.shared.is_none()) {
            return None;
        }
        let keys = self.new_keys(rng);
        let leg = Leg {
            paths,
            shared,
            protection: if self.network == Network::Rough && rng.random_bool(0.1) {
                Protection::Pending
            } else {
                keys.clone()
            },
            extensions_in: extension_map(rng, self.network),
            extensions_out: extension_map(rng, self.network),
        };
        self.legs.insert(id, leg.clone());
        self.keys.insert(id, keys);
        Some(Step::Write(Update::SetLeg(id, leg)))
    }

    /// Whether a new leg shares its path with others: more often in histories for devices that take
    /// few of their legs, and where there are few.
    fn may_share(&self, rng: &mut StdRng) -> bool {
        let chance = match (self.network, self.srtp) {
            (Network::Clean | Network::Described, _) => 0.9,
            (Network::Rough, Srtp::Never) => 0.6,
            (Network::Rough, Srtp::Mixed) => 0.3,
        };
        self.shares_paths && rng.random_bool(chance)
    }

    /// The path of legs that share it, or a new one.
    fn path_to_share(&mut self, rng: &mut StdRng) -> Path {
        let new = path_of(self.fresh() % 800 + 1);
        let shared = self.legs.values().filter(|leg| leg.shared.is_some());
        let known = shared.map(|leg| leg.paths[0]).choose(rng);
        known.filter(|_| rng.random_bool(0.8)).unwrap_or(new)
    }

    fn new_keys(&mut self, rng: &mut StdRng) -> Protection {
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
        match self.srtp == Srtp::Mixed && rng.random_bool(0.65) {
            true => protection(profiles.into_iter().choose(rng).expect("some"), self.fresh()),
            false => Protection::Clear,
        }
    }

    pub(crate) fn new_stream(&mut self, rng: &mut StdRng) -> Option<Step> {
        let leg = self.random_leg(rng)?;
        if self.streams.len() >= STREAMS_MAX {
            return None;
        }
        let ssrc = 0x1000_0000 + self.fresh();
        let (kind, formats) = match self.network {
            Network::Rough => offers(rng),
            Network::Clean => layered_offer(rng),
            Network::Described => described_offer(rng),
        };
        let rtx = (kind == MediaKind::Video && rng.random_bool(0.8)).then_some(ssrc ^ 0x7000_0000);
        let stream = Stream {
            kind,
            formats: formats
                .iter()
                .map(|(payload_type, codec, rtx)| StreamFormat {
                    payload_type: *payload_type,
                    codec: *codec,
                    rtx: *rtx,
                })
                .collect(),
            rtx: rtx.map(Ssrc),
            // An offload goes by the SSRC alone.
            mid: (self.srtp == Srtp::Mixed && rng.random_bool(0.1)).then(|| Mid::new("a").expect("a token")),
            reference: self.reference(rng),
        };
        let key = StreamKey { leg, ssrc: Ssrc(ssrc) };
        let sender = Sender::new(rng, ssrc, rtx, formats, self.network);
        self.streams.insert(key, (stream.clone(), sender));
        Some(Step::Write(Update::SetStream(key, stream)))
    }

    fn reference(&mut self, rng: &mut StdRng) -> Option<(NtpTime, RtpTimestamp)> {
        let some = rng.random_bool(0.6);
        let seconds = rng.random_range(0..8_u64);
        let ntp = NtpTime(STARTED_AT.0 + (seconds << 32) + u64::from(rng.random::<u32>()));
        some.then(|| (ntp, RtpTimestamp(rng.random())))
    }

    pub(crate) fn new_replica(&mut self, rng: &mut StdRng) -> Option<Step> {
        let leg = self.random_leg(rng)?;
        if self.replicas.len() >= REPLICAS_MAX {
            return None;
        }
        let id = ReplicaId(rng.random_range(1..60));
        if self.replicas.contains_key(&id) {
            return None;
        }
        let ssrc = 0x5000_0000 + self.fresh();
        let first = if rng.random() {
            rng.random_range(0..1 << 15)
        } else {
            rng.random_range(32_500..1 << 15)
        };
        let replica = Replica {
            leg,
            ssrc: Ssrc(ssrc),
            first_sequence: first,
            rtx: rng
                .random_bool(0.8)
                .then(|| (Ssrc(0x1000_0000 + ssrc), rng.random_range(32_600..1 << 15))),
            formats: replica_formats(rng, self.network),
            mid: rng.random_bool(0.5).then(|| Mid::new("m7").expect("a token")),
            playout_delay: playout_delay(rng),
            source: self.random_stream(rng).filter(|_| rng.random_bool(0.9)),
            target: target(rng),
            fallback_spatial: fallback_spatial(rng),
            rewriting: Rewriting::Exact,
            paused: rng.random_bool(0.05),
        };
        self.replicas.insert(id, (replica.clone(), Progress(first)));
        Some(Step::Write(Update::SetReplica(id, replica)))
    }

    /// One change that the tables take.
    pub(crate) fn change(&mut self, rng: &mut StdRng) -> Option<Step> {
        match rng.random_range(0..100) {
            0..5 => self.new_leg(rng),
            5..15 => self.new_stream(rng),
            15..30 => self.new_replica(rng),
            30..70 => self.change_replica(rng),
            70..80 => self.change_leg(rng),
            80..90 => self.change_stream(rng),
            90..95 => self.remove_replica(rng),
            95..98 => self.remove_stream(rng),
            _ => self.remove_leg(rng),
        }
    }

    fn change_replica(&mut self, rng: &mut StdRng) -> Option<Step> {
        let id = self.random_replica(rng)?;
        let source = self.random_stream(rng);
        let (replica, _) = self.replicas.get_mut(&id).expect("chosen from them");
        match rng.random_range(0..34) {
            20..32 => replica.target = target(rng),
            32..34 => replica.fallback_spatial = fallback_spatial(rng),
            0..11 => replica.source = source,
            11 => replica.source = None,
            12..16 => replica.paused = !replica.paused,
            16 => replica.formats = replica_formats(rng, Network::Rough),
            17 => replica.mid = replica.mid.xor(Mid::new("n")),
            18 => replica.playout_delay = playout_delay(rng),
            _ => {}
        }
        Some(Step::Write(Update::SetReplica(id, replica.clone())))
    }

    /// A change of a replica's selection only.
    pub(crate) fn change_selection(&mut self, rng: &mut StdRng) -> Option<Step> {
        let id = self.random_replica(rng)?;
        let source = self.random_stream(rng);
        let (replica, _) = self.replicas.get_mut(&id).expect("chosen from them");
        if self.network == Network::Described {
            let follows = replica.source.and_then(|source| self.streams.get(&source));
            if follows.is_some_and(|(_, sender)| !sender.is_between_pictures()) {
                return None;
            }
        }
        match rng.random_range(0..10) {
            0 => replica.source = source,
            1 => replica.paused = !replica.paused,
            2..4 => replica.fallback_spatial = fallback_spatial(rng),
            _ => replica.target = target(rng),
        }
        Some(Step::Write(Update::SetReplica(id, replica.clone())))
    }

    fn change_leg(&mut self, rng: &mut StdRng) -> Option<Step> {
        let id = self.random_leg(rng)?;
        let new_path = path_of(self.fresh() % 800 + 1);
        let taken = self.legs.values().any(|leg| leg.paths.contains(&new_path));
        let network = self.network;
        let leg = self.legs.get_mut(&id).expect("chosen from them");
        let is_shared = leg.shared.is_some();
        match rng.random_range(0..10) {
            0..3 => leg.paths.shuffle(rng),
            3 if !taken && !is_shared => leg.paths.insert(0, new_path),
            4 if !is_shared => drop(leg.paths.pop()),
            5 => leg.extensions_out = extension_map(rng, network),
            6 => leg.extensions_in = extension_map(rng, network),
            // Keys stay once they are there: another handshake is a vector.
            _ => match leg.protection {
                Protection::Pending => leg.protection = self.keys[&id].clone(),
                Protection::Clear if rng.random_bool(0.3) => leg.protection = Protection::Pending,
                _ => {}
            },
        }
        leg.paths.truncate(4);
        Some(Step::Write(Update::SetLeg(id, leg.clone())))
    }

    fn change_stream(&mut self, rng: &mut StdRng) -> Option<Step> {
        let key = self.random_stream(rng)?;
        let reference = self.reference(rng);
        let (stream, _) = self.streams.get_mut(&key).expect("chosen from them");
        match rng.random_range(0..10) {
            0 => stream.formats.truncate(1),
            1 => stream.rtx = None,
            _ => stream.reference = reference,
        }
        Some(Step::Write(Update::SetStream(key, stream.clone())))
    }

    fn remove_replica(&mut self, rng: &mut StdRng) -> Option<Step> {
        let id = self.random_replica(rng)?;
        self.replicas.remove(&id);
        Some(Step::Write(Update::RemoveReplica(id)))
    }

    fn remove_stream(&mut self, rng: &mut StdRng) -> Option<Step> {
        let key = self.random_stream(rng)?;
        self.forget_stream(key);
        Some(Step::Write(Update::RemoveStream(key)))
    }

    fn forget_stream(&mut self, key: StreamKey) {
        self.streams.remove(&key);
        let from_it = self
            .replicas
            .values_mut()
            .filter(|(replica, _)| replica.source == Some(key));
        from_it.for_each(|(replica, _)| replica.source = None);
    }

    fn remove_leg(&mut self, rng: &mut StdRng) -> Option<Step> {
        let id = self.random_leg(rng)?;
        self.legs.remove(&id);
        self.replicas.retain(|_, (replica, _)| replica.leg != id);
        let streams: Vec<StreamKey> = self.streams.keys().filter(|key| key.leg == id).copied().collect();
        streams.into_iter().for_each(|key| self.forget_stream(key));
        Some(Step::Write(Update::RemoveLeg(id)))
    }

    /// An entry that is refused, or would be if the device were wrong.
    pub(crate) fn refused(&mut self, rng: &mut StdRng) -> Option<Step> {
        let leg = self.random_leg(rng)?;
        let nowhere = LegId(500);
        // Histories without shared legs are those that they were before there were any.
        let kinds = if self.shares_paths { 12 } else { 9 };
        Some(Step::Write(match rng.random_range(0..kinds) {
            9.. => self.refused_beside(rng)?,
            0 => Update::RemoveLeg(nowhere),
            1 => Update::RemoveStream(StreamKey { leg, ssrc: Ssrc(1) }),
            2 => Update::RemoveReplica(ReplicaId(999)),
            3 => {
                let other = self.random_leg(rng)?;
                Update::SetLeg(LegId(13), self.legs[&other].clone())
            }
            4 => {
                let key = self.random_stream(rng)?;
                let (stream, _) = &self.streams[&key];
                let ssrc = stream.rtx.unwrap_or(Ssrc(5));
                let leg = if stream.rtx.is_some() { key.leg } else { nowhere };
                Update::SetStream(StreamKey { leg, ssrc }, stream.clone())
            }
            5 => {
                let (replica, _) = &self.replicas[&self.random_replica(rng)?];
                Update::SetReplica(ReplicaId(998), replica.clone())
            }
            6 => {
                let id = self.random_replica(rng)?;
                let mut replica = self.replicas[&id].0.clone();
                replica.first_sequence ^= 1;
                Update::SetReplica(id, replica)
            }
            7 => {
                let mut replica = self.replicas[&self.random_replica(rng)?].0.clone();
                replica.first_sequence |= 1 << 15;
                Update::SetReplica(ReplicaId(997), replica)
            }
            _ => {
                let id = self.random_replica(rng)?;
                let mut replica = self.replicas[&id].0.clone();
                replica.source = Some(StreamKey { leg, ssrc: Ssrc(2) });
                Update::SetReplica(id, replica)
            }
        }))
    }

    /// An entry that is refused because legs share a path.
    fn refused_beside(&self, rng: &mut StdRng) -> Option<Update> {
        let sharing = self.legs.iter().filter(|(_, leg)| leg.shared.is_some());
        let (id, mut leg) = sharing.map(|(id, leg)| (*id, leg.clone())).choose(rng)?;
        let (owner, ssrc) = self.ssrcs_at(leg.paths[0]).into_iter().choose(rng)?;
        match rng.random_range(0..6) {
            // Its SSRC is fixed, and so is its path, and that it shares it.
            0 => leg.shared = leg.shared.map(|ssrc| Ssrc(ssrc.0 + 1)),
            1 => leg.shared = None,
            2 => leg.paths = vec![path_of(rng.random_range(890..900))],
            3 => leg.paths.push(path_of(899)),
            // The SSRC of another.
            4 => {
                leg.shared = Some(ssrc);
                return Some(Update::SetLeg(LegId(13), leg));
            }
            _ => {
                let (stream, _) = self.streams.values().choose(rng)?;
                let key = StreamKey { leg: id, ssrc };
                let is_refused = owner != id || leg.shared == Some(ssrc);
                return is_refused.then(|| Update::SetStream(key, stream.clone()));
            }
        }
        Some(Update::SetLeg(id, leg))
    }

    /// The SSRCs that legs of a path are told apart by, each with its leg.
    pub(super) fn ssrcs_at(&self, path: Path) -> Vec<(LegId, Ssrc)> {
        let legs = self.legs.iter().filter(|(_, leg)| leg.paths.contains(&path));
        let of_leg = |(id, leg): (&LegId, &Leg)| {
            let streams = self.streams.iter().filter(|(key, _)| key.leg == *id);
            let of_streams = streams.flat_map(|(key, (stream, _))| [Some(key.ssrc), stream.rtx]);
            let ssrcs = of_streams.chain([leg.shared]).flatten();
            ssrcs.map(|ssrc| (*id, ssrc)).collect::<Vec<_>>()
        };
        legs.flat_map(of_leg).collect()
    }
}
