//! Ingress of datagrams: classify, match to a leg, unprotect.

mod demux;
pub(crate) mod open_frames;

use std::sync::Arc;
use std::time::Instant;

use dataplane::limits::{DATAGRAM_MAX, PROTECTED_PUNTS_MAX};
use dataplane::{Counter, Path, Protection, PuntKind};
use wire::{MediaKind, PacketKind, RtpPacket};

use crate::channel::PuntedRef;
use crate::shard::Shard;
use crate::shard::handoff::Received;
use crate::shard::leg::LegState;
use crate::shard::packet::Packet;
use crate::shard::routes::Route;
use crate::srtp::OpenError;

/// The time, and the arrival time of a datagram.
pub(crate) type Times = (Instant, Instant);

impl Shard {
    /// Takes one datagram. [`work`](Self::work) writes its replicas.
    pub fn receive(&mut self, now: Instant, path: Path, datagram: &[u8]) {
        self.receive_late(now, now, path, datagram);
    }

    /// Takes one datagram that arrived at `at`, and waited until now.
    pub fn receive_late(&mut self, now: Instant, at: Instant, path: Path, datagram: &[u8]) {
        self.counters.count(Counter::Received);
        let judged = match (datagram.len() > DATAGRAM_MAX, self.tables.routes.find(&path)) {
            (true, _) => Err(Counter::Oversized),
            (false, Some(Route::Elsewhere(shard))) => self.hand_over(shard, at, path, datagram),
            (false, route) => self.judge((now, at), path, route, datagram),
        };
        if let Err(reason) = judged {
            self.counters.count(reason);
        }
    }

    /// Takes a datagram that another shard received for a leg of this one. It is counted as
    /// received there.
    pub(crate) fn receive_handed_off(&mut self, now: Instant, received: &Received) {
        let Received { at, path, ref bytes } = *received;
        let route = self
            .tables
            .routes
            .find(&path)
            .filter(|route| !matches!(route, Route::Elsewhere(_)));
        if let Err(reason) = self.judge((now, at), path, route, bytes) {
            self.counters.count(reason);
        }
    }

    fn hand_over(&mut self, shard: usize, at: Instant, path: Path, datagram: &[u8]) -> Result<(), Counter> {
        let ring = self.rings[shard]
            .as_mut()
            .expect("a route elsewhere leads to another shard");
        match ring.push_datagram(at, path, datagram) {
            true => Ok(()),
            false => Err(Counter::WorkerQueueFull),
        }
    }

    /// Classifies a datagram, and punts it or processes it.
    fn judge(&mut self, (now, at): Times, path: Path, route: Option<Route>, datagram: &[u8]) -> Result<(), Counter> {
        let slot = match route {
            Some(Route::Here(slot)) => Some(slot),
            Some(Route::Shared(slot)) => self.tables.routes.find_shared(slot, datagram),
            Some(Route::Elsewhere(..)) | None => None,
        };
        let kind = wire::classify(datagram);
        match (kind, slot) {
            (PacketKind::Stun, _) => self.punt(at, path, slot, PuntKind::Stun, datagram),
            (PacketKind::TurnChannel | PacketKind::Unknown, _) => return Err(Counter::NotMedia),
            (_, None) => return Err(Counter::UnknownSource),
            (PacketKind::Dtls, Some(_)) => self.punt(at, path, slot, PuntKind::Dtls, datagram),
            (PacketKind::Rtp | PacketKind::Rtcp, Some(slot))
                if self.tables.legs[slot].entry.protection == Protection::Pending =>
            {
                let punts = &mut self.tables.legs[slot].protected_punts;
                if *punts >= PROTECTED_PUNTS_MAX {
                    return Err(Counter::NoKeys);
                }
                *punts += 1;
                self.punt(at, path, Some(slot), PuntKind::Protected, datagram);
            }
            (PacketKind::Rtcp, Some(leg)) => self.rtcp(at, path, leg, datagram)?,
            (PacketKind::Rtp, Some(leg)) => self.rtp((now, at), leg, datagram)?,
        }
        Ok(())
    }

    fn punt(&mut self, at: Instant, path: Path, slot: Option<usize>, kind: PuntKind, bytes: &[u8]) {
        let counter = match kind {
            PuntKind::Stun => Counter::PuntedStun,
            PuntKind::Dtls => Counter::PuntedDtls,
            PuntKind::Rtcp => Counter::PuntedRtcp,
            PuntKind::Protected => Counter::PuntedProtected,
        };
        let leg = slot.map(|slot| self.tables.legs[slot].id);
        let may_wait = kind == PuntKind::Rtcp && only_reports(bytes);
        let punted = PuntedRef {
            kind,
            at,
            path,
            leg,
            bytes,
            may_wait,
        };
        if self.reports.punt(&self.counters, &punted) {
            self.counters.count(counter);
        }
    }

    fn rtcp(&mut self, at: Instant, path: Path, slot: usize, datagram: &[u8]) -> Result<(), Counter> {
        let mut clear = std::mem::take(&mut self.scratch);
        clear.clear();
        clear.extend_from_slice(datagram);
        let opened = match self.tables.legs[slot].keys_in_use() {
            Some(keys) => keys.opener.open_rtcp(&mut clear).map_err(reason),
            None => Ok(clear.len()),
        };
        if let Ok(len) = opened {
            self.punt(at, path, Some(slot), PuntKind::Rtcp, &clear[..len]);
        }
        self.scratch = clear;
        opened.map(drop)
    }

    /// Takes an RTP packet: unprotects it in a buffer of its own, finds its stream, queues it for
    /// the replicas and keeps it for retransmissions.
    fn rtp(&mut self, times: Times, slot: usize, datagram: &[u8]) -> Result<(), Counter> {
        let mut shared = self.pool.take(datagram.len());
        let packet = Arc::get_mut(&mut shared).expect("buffers in the pool are nobody else's");
        let received = unprotect(&mut self.tables.legs[slot], packet, datagram)
            .and_then(|clear_len| self.demux(times, slot, packet, clear_len, datagram.len()));
        match received {
            Ok(Some(stream)) => {
                self.mark_open_frame(stream, &shared);
                self.hand_to_shards(stream, shared.clone());
                self.cache(stream, shared);
            }
            Ok(None) => self.pool.give(shared),
            Err(reason) => {
                self.pool.give(shared);
                return Err(reason);
            }
        }
        Ok(())
    }

    /// Records whether the newest packet of a video stream ends its frame.
    fn mark_open_frame(&mut self, slot: usize, packet: &Packet) {
        let info = packet.info();
        if info.kind == MediaKind::Video && info.newest {
            self.open_frames.arrived(slot, info.marker);
        }
    }

    /// Keeps a packet for retransmissions.
    fn cache(&mut self, slot: usize, packet: Arc<Packet>) {
        let stream = &mut self.tables.streams[slot];
        let highest = stream.media.highest();
        stream.cache.keep(packet, highest, &mut self.pool);
    }
}

/// Copies a datagram into `packet` and unprotects it; returns the length of the clear packet.
fn unprotect(leg: &mut LegState, packet: &mut Packet, datagram: &[u8]) -> Result<usize, Counter> {
    let buffer = &mut packet.buffer()[..datagram.len()];
    buffer.copy_from_slice(datagram);
    let Some(keys) = leg.keys_in_use() else {
        return Ok(datagram.len());
    };
    let header = RtpPacket::parse_protected(datagram).map_err(|_| Counter::Malformed)?;
    let opened = keys.opener.open_rtp(buffer, header.header_len()).map_err(reason)?;
    Ok(opened.len)
}

/// Whether a compound only reports, and requests nothing.
///
/// Source: RFC 3550 section 12.1, draft-holmer-rmcat-transport-wide-cc-extensions-01 section 3.1.
fn only_reports(mut compound: &[u8]) -> bool {
    while let [first, kind, high, low, ..] = *compound {
        let is_report = matches!((kind, first & 31), (200..=202, _) | (205, 15));
        let len = 4 * (1 + usize::from(u16::from_be_bytes([high, low])));
        match compound.get(len..) {
            Some(rest) if is_report => compound = rest,
            _ => return false,
        }
    }
    true
}

fn reason(error: OpenError) -> Counter {
    match error {
        OpenError::Malformed => Counter::Malformed,
        OpenError::Authentication => Counter::Unauthenticated,
        OpenError::Replayed => Counter::Duplicate,
        OpenError::TooOld => Counter::TooLate,
        OpenError::TooManyStreams => Counter::UnknownStream,
    }
}
