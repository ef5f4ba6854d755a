//! Media that arrives before the keys that open it.
//!
//! A peer sends as soon as its side of the handshake is over, and the last part of ours may still
//! be computed. The data plane hands on what it cannot open, and takes it in again after the keys.

use std::collections::HashMap;
use std::time::Instant;

use dataplane::{Inject, Path};

use crate::context::Context;
use crate::counters::Counter;
use crate::limits::{PROTECTED_MEDIA_MAX, PROTECTED_MEDIA_OWNERS_MAX};
use crate::owner::Owner;

/// How far the keys of an owner of a handshake have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keying {
    /// There are none, and no handshake.
    Absent,
    /// A handshake is under way.
    UnderWay,
    /// They are in the data plane's entry.
    Done,
}

/// Media of those whose handshake is under way.
#[derive(Debug, Default)]
pub(crate) struct ProtectedMedia(HashMap<Owner, Vec<Datagram>>);

/// A datagram as it arrived.
#[derive(Debug)]
struct Datagram {
    at: Instant,
    path: Path,
    bytes: Vec<u8>,
}

impl ProtectedMedia {
    /// Keeps a datagram; returns whether there is room for it. The data plane bounds how many there
    /// are of each owner.
    fn keep(&mut self, now: Instant, owner: Owner, datagram: Datagram) -> bool {
        if !self.0.contains_key(&owner) && self.0.len() >= PROTECTED_MEDIA_OWNERS_MAX {
            // Of handshakes that never ended.
            self.0
                .retain(|_, kept| kept.last().is_some_and(|last| is_fresh(now, last)));
            if self.0.len() >= PROTECTED_MEDIA_OWNERS_MAX {
                return false;
            }
        }
        self.0.entry(owner).or_default().push(datagram);
        true
    }
}

fn is_fresh(now: Instant, datagram: &Datagram) -> bool {
    now.saturating_duration_since(datagram.at) <= PROTECTED_MEDIA_MAX
}

impl Context<'_> {
    /// Keeps a datagram that arrived before the keys of its owner, while a handshake is under way.
    pub(crate) fn keep_protected(&mut self, owner: Owner, keying: Keying, at: Instant, path: Path, bytes: Vec<u8>) {
        match keying {
            // It waited here longer than the handshake took.
            Keying::Done => self.plane.inject(
                self.now,
                Inject::Receive {
                    at,
                    path,
                    bytes: &bytes,
                },
            ),
            Keying::UnderWay
                if self
                    .shared
                    .protected_media
                    .keep(self.now, owner, Datagram { at, path, bytes }) => {}
            Keying::UnderWay | Keying::Absent => self.count(Counter::MediaTooEarly),
        }
    }

    /// After a part of a handshake: gives the data plane back what it can open by now, and forgets
    /// what nobody will open.
    pub(crate) fn settle_protected(&mut self, owner: Owner, keying: Keying) {
        if keying == Keying::UnderWay {
            return;
        }
        let kept = self.shared.protected_media.0.remove(&owner).unwrap_or_default();
        for datagram in kept {
            if keying == Keying::Absent || !is_fresh(self.now, &datagram) {
                self.count(Counter::MediaTooEarly);
                continue;
            }
            let Datagram { at, path, ref bytes } = datagram;
            self.plane.inject(self.now, Inject::Receive { at, path, bytes });
        }
    }
}
