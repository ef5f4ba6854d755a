//! One receiver: counts what arrives, and asks for what is missing.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::ops::Range;
use std::time::{Duration, Instant};

use harness::net::Datagram;
use harness::{Histogram, Tally};
use southbound::DirectKeys;
use wire::rtcp::RtcpWriter;
use wire::{PacketKind, RtpPacket, SequenceNumber, Ssrc, Unwrapper};

use crate::camera;
use crate::orders::{RECEIVER_RTX_SSRC, RECEIVER_SSRC, RTCP_SSRC};
use crate::srtp::Protection;

/// Time until a missing packet is asked for, and between two requests for it.
const ASK: Duration = Duration::from_millis(60);
/// A packet that is missing for longer is given up.
const GIVE_UP: Duration = Duration::from_secs(2);
/// Packets that are missed at a time, at most.
const MISSING_MAX: usize = 500;

/// A receiver's place in the room.
pub(crate) struct Seat {
    pub(crate) socket: UdpSocket,
    /// As the receiver uses them.
    pub(crate) keys: DirectKeys,
    pub(crate) encoding: usize,
    /// Trunks between it and the camera's node.
    pub(crate) depth: usize,
    /// Whether it opens every packet. The others read headers alone.
    pub(crate) is_probe: bool,
}

/// A receiver, without its socket.
pub(crate) struct Viewer {
    pub(crate) encoding: usize,
    pub(crate) depth: usize,
    pub(crate) is_probe: bool,
    /// Packets of media that arrived in the window.
    pub(crate) arrived: u64,
    /// Which of the wanted encoding's packets have arrived.
    pub(crate) tally: Tally,
    /// Packets of other encodings.
    pub(crate) unwanted: u64,
    /// Time of packets that arrived in order, and of those that came again.
    pub(crate) times: [Histogram; 2],
    /// Packets that were asked for, each time.
    pub(crate) asked: u64,
    protection: Protection,
    numbers: Unwrapper,
    highest: Option<u64>,
    /// Missing packets, since when, and when they were asked for.
    missing: BTreeMap<u64, (Instant, Option<Instant>)>,
}

impl Viewer {
    pub(crate) fn new(seat: &Seat) -> Self {
        Viewer {
            encoding: seat.encoding,
            depth: seat.depth,
            is_probe: seat.is_probe,
            protection: Protection::new(&seat.keys),
            arrived: 0,
            tally: Tally::default(),
            unwanted: 0,
            times: Default::default(),
            asked: 0,
            numbers: Unwrapper::default(),
            highest: None,
            missing: BTreeMap::new(),
        }
    }

    /// Takes a datagram. `window` has the times that count.
    pub(crate) fn receive(&mut self, now: Instant, datagram: Datagram<'_>, window: &Range<u64>) {
        if wire::classify(datagram.bytes) != PacketKind::Rtp {
            return;
        }
        let Ok(packet) = RtpPacket::parse_protected(datagram.bytes) else {
            return;
        };
        let is_repair = match packet.ssrc().0 {
            RECEIVER_SSRC => false,
            RECEIVER_RTX_SSRC => true,
            _ => return,
        };
        let arrived_ns = datagram.arrived_ns;
        self.arrived += u64::from(!is_repair && window.contains(&arrived_ns));
        if !self.is_probe {
            return;
        }
        let Some(packet) = self.protection.open_rtp(datagram.bytes) else {
            return;
        };
        let (sequence, payload) = match is_repair {
            false => (packet.sequence(), packet.payload()),
            true => match wire::rtx::split(packet.payload()) {
                Some(original) => original,
                None => return,
            },
        };
        let Some(stamp) = camera::stamp(payload) else { return };
        let number = self.numbers.extend(sequence.0);
        let is_late = self.miss(now, number);
        if stamp.source as usize != self.encoding {
            self.unwanted += 1;
            return;
        }
        self.tally.record(stamp.number, is_repair);
        if window.contains(&stamp.sent_ns) {
            self.times[usize::from(is_late)].record(arrived_ns.saturating_sub(stamp.sent_ns));
        }
    }

    /// Notes which packets are missing after the one with this number; says whether it was one.
    fn miss(&mut self, now: Instant, number: u64) -> bool {
        let was_missing = self.missing.remove(&number).is_some();
        match self.highest {
            Some(highest) if number <= highest => {}
            Some(highest) => {
                let gap = highest + 1..number;
                if gap.clone().count() + self.missing.len() <= MISSING_MAX {
                    self.missing.extend(gap.map(|number| (number, (now, None))));
                }
                self.highest = Some(number);
            }
            None => self.highest = Some(number),
        }
        was_missing
    }

    /// The request for what is missing, protected, if it is time for one.
    pub(crate) fn look(&mut self, now: Instant) -> Option<Vec<u8>> {
        let mut wanted = Vec::new();
        self.missing
            .retain(|_, (since, _)| now.saturating_duration_since(*since) < GIVE_UP);
        for (number, (since, asked)) in &mut self.missing {
            if now.saturating_duration_since(asked.unwrap_or(*since)) >= ASK {
                *asked = Some(now);
                wanted.push(SequenceNumber(*number as u16));
            }
        }
        self.asked += wanted.len() as u64;
        (!wanted.is_empty()).then(|| self.compound(|writer| _ = writer.nack(Ssrc(RECEIVER_SSRC), wanted)))
    }

    /// A report, protected: it proves that the receiver is there.
    pub(crate) fn report(&mut self) -> Vec<u8> {
        self.compound(|_| ())
    }

    fn compound(&mut self, write: impl FnOnce(&mut RtcpWriter<'_>)) -> Vec<u8> {
        let mut compound = Vec::new();
        write(&mut RtcpWriter::receiver_report(
            &mut compound,
            RTCP_SSRC,
            "viewer",
            &[],
        ));
        self.protection.seal_rtcp(&mut compound);
        compound
    }
}
