//! Written entries of a history so far, its senders and its network.

use std::collections::{BTreeMap, VecDeque};

use dataplane::limits::DATAGRAM_MAX;
use dataplane::{Leg, LegId, Path, Protection, Replica, ReplicaId, Stream, StreamKey};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, IteratorRandom};

use super::layers::Care;
use super::sender::Sender;
use super::{Network, Options, Srtp};
use crate::rtp::RtpFields;
use crate::{Injection, Send, Step};

/// The largest packet that fits with any extensions and tag.
const SIZE_MAX_SEALED: usize = 1_350;
/// Some of these do not fit, and some not with their receiver's extensions.
const SIZE_MAX_CLEAR: usize = DATAGRAM_MAX + 3;

pub(super) struct Tables {
    pub srtp: Srtp,
    pub network: Network,
    pub shares_paths: bool,
    pub legs: BTreeMap<LegId, Leg>,
    /// Keys of each leg, present or future.
    pub keys: BTreeMap<LegId, Protection>,
    pub streams: BTreeMap<StreamKey, (Stream, Sender)>,
    pub replicas: BTreeMap<ReplicaId, (Replica, Progress)>,
    /// Next number for legs, peers, SSRCs, keys and tags.
    next: u32,
    /// Packets on their way: the sends until delivery, the path, and the bytes.
    held: VecDeque<(u32, Path, Vec<u8>)>,
}

/// Roughly where a replica's numbers are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress(pub u16);

impl Tables {
    pub(crate) fn new(options: Options) -> Self {
        Tables {
            srtp: options.srtp,
            network: options.network,
            shares_paths: options.shares_paths,
            legs: BTreeMap::new(),
            keys: BTreeMap::new(),
            streams: BTreeMap::new(),
            replicas: BTreeMap::new(),
            next: 1,
            held: VecDeque::new(),
        }
    }

    pub(crate) fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    pub(crate) fn random_leg(&self, rng: &mut StdRng) -> Option<LegId> {
        self.legs.keys().copied().choose(rng)
    }

    pub(crate) fn random_stream(&self, rng: &mut StdRng) -> Option<StreamKey> {
        self.streams.keys().copied().choose(rng)
    }

    pub(crate) fn random_replica(&self, rng: &mut StdRng) -> Option<ReplicaId> {
        self.replicas.keys().copied().choose(rng)
    }

    /// A path of a leg, any of them.
    pub(crate) fn path_from(&self, rng: &mut StdRng, leg: LegId) -> Option<Path> {
        self.legs.get(&leg)?.paths.choose(rng).copied()
    }

    /// One sender sends a packet, and the network loses, delays or repeats it.
    pub(crate) fn media(&mut self, rng: &mut StdRng, steps: &mut Vec<Step>) {
        let Some(key) = self.random_stream(rng) else { return };
        let Some(path) = self.path_from(rng, key.leg) else {
            return;
        };
        let map = self.legs[&key.leg].extensions_in;
        let mut tag = u64::from(self.fresh()) | 0x7a67_0000_0000_0000;
        let size_max = match self.srtp {
            Srtp::Never => SIZE_MAX_CLEAR,
            Srtp::Mixed => SIZE_MAX_SEALED,
        };
        let (_, sender) = self.streams.get_mut(&key).expect("chosen from them");
        if self.network == Network::Described {
            let fields = sender.next(rng, &map, tag, size_max);
            let care = sender.care();
            return self.deliver(rng, path, fields.encode(), care, steps);
        }
        if self.network == Network::Clean {
            let bytes = sender.next(rng, &map, tag, size_max).encode();
            let tampered = false;
            return steps.push(Step::Send(Send { path, bytes, tampered }));
        }
        let before = sender.position();
        sender.may_jump |= self.held.is_empty();
        if sender.may_jump && rng.random_bool(0.01) {
            sender.jump(rng);
        }
        let (fields, is_rtx) = match rng.random_range(0..100) {
            0..8 => (sender.retransmission(rng, &map), true),
            8..11 => (sender.again(rng), false),
            _ => (Some(sender.next(rng, &map, tag, size_max)), false),
        };
        let advanced = sender.position().wrapping_sub(before);
        self.advance(key, advanced);
        let Some(fields) = fields else { return };
        let mut bytes = fields.encode();
        if rng.random_bool(0.01) && !is_rtx {
            tag |= 0xff << 32;
            corrupt(rng, &mut bytes, &fields, tag);
        }
        self.release(steps);
        match rng.random_range(0..100) {
            // Lost, for now: it may still be sent again.
            0..6 => {}
            6..14 => self.held.push_back((rng.random_range(1..30), path, bytes)),
            14..16 => {
                self.held.push_back((rng.random_range(0..10), path, bytes.clone()));
                steps.push(send(rng, path, bytes));
            }
            _ => steps.push(send(rng, path, bytes)),
        }
    }

    /// Delivers a packet, unless it is lost or delayed; and some twice.
    fn deliver(&mut self, rng: &mut StdRng, path: Path, bytes: Vec<u8>, care: Care, steps: &mut Vec<Step>) {
        self.release(steps);
        let fate = rng.random_range(0..100);
        let arrives = match care {
            Care::None => fate >= 15,
            Care::InOrder => fate >= 7,
            Care::Whole => true,
        };
        if arrives {
            steps.push(Step::Send(Send {
                path,
                bytes: bytes.clone(),
                tampered: false,
            }));
        }
        match fate {
            8..15 if !arrives => self.held.push_back((rng.random_range(1..12), path, bytes)),
            15..20 => self.held.push_back((rng.random_range(0..20), path, bytes)),
            _ => {}
        }
    }

    /// Delivers packets that were held long enough.
    fn release(&mut self, steps: &mut Vec<Step>) {
        let held = std::mem::take(&mut self.held);
        for (left, path, bytes) in held {
            match left {
                0 => steps.push(Step::Send(Send {
                    path,
                    bytes,
                    tampered: false,
                })),
                left => self.held.push_back((left - 1, path, bytes)),
            }
        }
    }

    fn advance(&mut self, key: StreamKey, by: u16) {
        let following = self
            .replicas
            .values_mut()
            .filter(|(replica, _)| replica.source == Some(key));
        following.for_each(|(_, progress)| progress.0 = progress.0.wrapping_add(by));
    }

    /// A receiver asks for some of its numbers again.
    pub(crate) fn resend(&mut self, rng: &mut StdRng) -> Option<Step> {
        let id = self.random_replica(rng)?;
        let (_, progress) = self.replicas[&id];
        let first = progress
            .0
            .wrapping_sub(rng.random_range(0..60))
            .wrapping_add(rng.random_range(0..3));
        let sequences = (0..rng.random_range(1..9))
            .map(|at| first.wrapping_add(at * rng.random_range(1..3)))
            .collect();
        Some(Step::Inject(Injection::Resend(id, sequences)))
    }
}

fn send(rng: &mut StdRng, path: Path, bytes: Vec<u8>) -> Step {
    Step::Send(Send {
        path,
        bytes,
        tampered: rng.random_bool(0.003),
    })
}

/// Changes one bit of the header, but not of the sequence number or the end of the SSRC: the
/// packet's identity must stay clear.
fn corrupt(rng: &mut StdRng, bytes: &mut [u8], fields: &RtpFields, tag: u64) {
    let places = (0..bytes.len().min(24)).filter(|at| ![2, 3, 9, 10, 11].contains(at));
    let at = places.choose(rng).expect("a header has bytes");
    bytes[at] ^= 1 << rng.random_range(0..8);
    if let (Some(_), None, Some(end)) = (&fields.payload, fields.padding, bytes.last_chunk_mut()) {
        *end = tag.to_be_bytes();
    }
}
