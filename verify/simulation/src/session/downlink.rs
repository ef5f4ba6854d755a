//! Media that a client receives, and its reports.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use wire::rtcp::{ReportBlock, RtcpWriter};
use wire::sdp::MediaSection;
use wire::{RtpPacket, SequenceNumber, Ssrc, Unwrapper};

use crate::stamp::Stamp;

const ASK_AFTER: Duration = Duration::from_millis(30);
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(150);
const ASK_MAX: u8 = 5;
const MISSING_MAX: usize = 64;
const REPORT_INTERVAL: Duration = Duration::from_millis(1_000);
/// The receiver's SSRC in RTCP.
const OWN_SSRC: Ssrc = Ssrc(1);

/// Everything one transport brings.
#[derive(Default)]
pub(crate) struct Downlink {
    streams: BTreeMap<Ssrc, Stream>,
    report_at: Option<Instant>,
}

/// One SSRC announced by the server.
struct Stream {
    /// The track that the description states.
    sid: String,
    repair: Option<Ssrc>,
    numbers: Unwrapper,
    missing: BTreeMap<u64, Missing>,
}

struct Missing {
    asked: u8,
    ask_at: Instant,
}

/// An arrived media packet.
pub(crate) struct Received {
    pub(crate) stamp: Stamp,
    /// The track of its SSRC, if the client knows it.
    pub(crate) sid: Option<String>,
}

impl Downlink {
    /// The server describes what it sends on a section.
    pub(crate) fn told(&mut self, section: &MediaSection, track_id: Option<&String>) {
        let sid = track_id
            .cloned()
            .or_else(|| section.msids.first().and_then(|msid| msid.track.clone()));
        let (Some(sid), Some(ssrc)) = (sid, section.media_ssrcs().first().copied()) else {
            return;
        };
        let repair = section.repair_of(ssrc);
        let stream = self.streams.entry(ssrc).or_insert_with(|| Stream {
            sid: sid.clone(),
            repair,
            numbers: Unwrapper::default(),
            missing: BTreeMap::new(),
        });
        stream.sid = sid;
    }

    /// A packet arrived. Retransmissions are unwrapped.
    pub(crate) fn receive(&mut self, now: Instant, packet: &RtpPacket<'_>) -> Option<Received> {
        let ssrc = packet.ssrc();
        if let Some(stream) = self.streams.get_mut(&ssrc) {
            stream.arrived(now, packet.sequence().0);
            let sid = Some(stream.sid.clone());
            return Stamp::read(packet.payload()).map(|stamp| Received { stamp, sid });
        }
        let repaired = self.streams.values_mut().find(|stream| stream.repair == Some(ssrc));
        let Some(stream) = repaired else {
            return Stamp::read(packet.payload()).map(|stamp| Received { stamp, sid: None });
        };
        let (original, payload) = wire::rtx::split(packet.payload())?;
        stream.arrived(now, original.0);
        Stamp::read(payload).map(|stamp| Received {
            stamp,
            sid: Some(stream.sid.clone()),
        })
    }

    /// Asks for what is missing, and reports.
    pub(crate) fn tick(&mut self, now: Instant, out: &mut Vec<Vec<u8>>) {
        for (ssrc, stream) in self.streams.iter_mut().filter(|(_, stream)| stream.repair.is_some()) {
            let due: Vec<SequenceNumber> = stream.ask(now);
            if !due.is_empty() {
                let mut compound = Vec::new();
                RtcpWriter::receiver_report(&mut compound, OWN_SSRC, "simulated", &[]).nack(*ssrc, due);
                out.push(compound);
            }
        }
        if self.report_at.is_none_or(|at| at <= now) && !self.streams.is_empty() {
            self.report_at = Some(now + REPORT_INTERVAL);
            let heard = self
                .streams
                .iter()
                .filter_map(|(ssrc, stream)| Some((*ssrc, stream.numbers.highest()?)));
            let block = |(ssrc, highest): (Ssrc, u64)| ReportBlock {
                ssrc,
                highest_sequence: highest as u32,
                ..ReportBlock::default()
            };
            let blocks: Vec<_> = heard.map(block).take(31).collect();
            let mut compound = Vec::new();
            RtcpWriter::receiver_report(&mut compound, OWN_SSRC, "simulated", &blocks);
            out.push(compound);
        }
    }

    /// Asks for a key frame of everything.
    pub(crate) fn ask_key_frames(&self, out: &mut Vec<Vec<u8>>) {
        for ssrc in self.streams.keys() {
            let mut compound = Vec::new();
            RtcpWriter::receiver_report(&mut compound, OWN_SSRC, "simulated", &[]).pli(*ssrc);
            out.push(compound);
        }
    }
}

impl Stream {
    fn arrived(&mut self, now: Instant, sequence: u16) {
        let before = self.numbers.highest();
        let number = self.numbers.extend(sequence);
        self.missing.remove(&number);
        let Some(before) = before else { return };
        for missing in (before + 1..number).rev().take(MISSING_MAX) {
            self.missing.insert(
                missing,
                Missing {
                    asked: 0,
                    ask_at: now + ASK_AFTER,
                },
            );
        }
        while self.missing.len() > MISSING_MAX {
            self.missing.pop_first();
        }
    }

    fn ask(&mut self, now: Instant) -> Vec<SequenceNumber> {
        self.missing.retain(|_, missing| missing.asked < ASK_MAX);
        let mut due = Vec::new();
        for (number, missing) in self.missing.iter_mut().filter(|(_, missing)| missing.ask_at <= now) {
            missing.asked += 1;
            missing.ask_at = now + ASK_AGAIN_AFTER;
            due.push(SequenceNumber(*number as u16));
        }
        due
    }
}
