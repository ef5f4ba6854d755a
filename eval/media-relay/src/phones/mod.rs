//! Both phones of every call: they send at even intervals, and record arrivals.

mod frame;
mod tap;

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::Range;
use std::time::{Duration, Instant};

use harness::{Stamp, clock};
use serde::{Deserialize, Serialize};

use frame::{Arrived, Frame};
pub use frame::{FRAME_LEN, Mac, RTP_LEN};
use tap::Tap;

/// Between a phone's packets.
pub const INTERVAL: Duration = Duration::from_millis(20);
/// The first call's port at both phones; each call has the next but one, as RTP and RTCP would.
pub const FIRST_PORT: u16 = 10_000;
/// More calls than this have no ports.
pub const CALLS_MAX: u32 = 20_000;
/// A packet sent later than this after its time is late by our own fault.
const LATE: Duration = Duration::from_millis(5);

/// How phones are reached.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cables {
    /// The interfaces of callers and of callees; the same one where a relay is between them.
    pub interfaces: [String; 2],
    /// The addresses of all callers and of all callees.
    pub addresses: [Ipv4Addr; 2],
    /// The phones' Ethernet address.
    pub phones: Mac,
    /// The other end's.
    pub other: Mac,
}

/// One of the two parties of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Party {
    /// The calling party.
    Caller = 0,
    /// The called party.
    Callee = 1,
}

/// All phones.
pub struct Phones {
    cables: Cables,
    taps: Vec<Tap>,
    calls: u32,
    streams: Vec<Stream>,
    /// When slot 0 of the grid is, and the next slot to be served.
    grid: (Instant, u64),
    counts: Counts,
}

/// One phone's stream, and its arrivals at the other phone.
#[derive(Default)]
struct Stream {
    frame: Option<(Frame, SocketAddrV4)>,
    next: u64,
    window: Range<u64>,
    arrivals: Vec<Arrival>,
}

/// A packet of the measured window, in the order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its number at its source.
    pub number: u32,
    /// From just before the system call that sent it to the kernel's stamp after the second cable.
    pub delay_ns: u32,
}

/// The packets that one phone sent in the window, and their arrivals.
pub struct Account<'a> {
    /// The numbers that were sent.
    pub numbers: Range<u64>,
    /// Their arrivals.
    pub arrivals: &'a [Arrival],
}

/// Single events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Packets sent since the beginning.
    pub sent: u64,
    /// Packets that arrived since the beginning.
    pub arrived: u64,
    /// Packets that left late.
    pub late: u64,
    /// Packets that the kernel did not take.
    pub refused: u64,
    /// Packets that reached another phone than the other party, or had a wrong source port.
    pub foreign: u64,
}

impl Phones {
    /// Pairs of phones, none of which sends yet.
    pub fn open(cables: &Cables, calls: u32) -> io::Result<Self> {
        let both = cables.interfaces[0] != cables.interfaces[1];
        let interfaces = cables.interfaces.iter().take(if both { 2 } else { 1 });
        Ok(Self {
            taps: interfaces.map(|name| Tap::open(name)).collect::<io::Result<_>>()?,
            cables: cables.clone(),
            calls,
            streams: (0..2 * calls).map(|_| Stream::default()).collect(),
            grid: (clock::now(), 0),
            counts: Counts::default(),
        })
    }

    /// A phone's own address.
    pub fn address(&self, call: u32, party: Party) -> SocketAddrV4 {
        let port = FIRST_PORT + 2 * call as u16;
        SocketAddrV4::new(self.cables.addresses[party as usize], port)
    }

    /// Starts both phones of a call: the caller and the callee, each with its destination.
    pub fn begin(&mut self, call: u32, told: [SocketAddrV4; 2]) {
        for party in [Party::Caller, Party::Callee] {
            let (from, to) = (self.address(call, party), told[party as usize]);
            let source = self.source(call, party);
            let frame = Frame::new([self.cables.phones, self.cables.other], from, to, source as u32);
            self.streams[source].frame = Some((frame, to));
        }
    }

    /// Silences everybody.
    pub fn end(&mut self) {
        self.streams.iter_mut().for_each(|stream| stream.frame = None);
    }

    /// Begins the window: packets sent from here on are measured.
    pub fn begin_window(&mut self) {
        for stream in &mut self.streams {
            stream.window = stream.next..u64::MAX;
            stream.arrivals.clear();
        }
        (self.counts.late, self.counts.refused, self.counts.foreign) = (0, 0, 0);
    }

    /// Ends the window: packets sent from here on are not measured.
    pub fn end_window(&mut self) {
        self.streams
            .iter_mut()
            .for_each(|stream| stream.window.end = stream.next);
    }

    /// The packets of each phone in the window, and their arrivals.
    pub fn accounts(&self) -> impl Iterator<Item = Account<'_>> {
        self.streams.iter().map(|stream| Account {
            numbers: stream.window.clone(),
            arrivals: &stream.arrivals,
        })
    }

    /// Single events since the window began, or since the beginning.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Packets that arrived and that the kernel could not hold for us.
    pub fn dropped(&self) -> u64 {
        self.taps.iter().map(|tap| u64::from(tap.dropped())).sum()
    }

    /// Callers are the first half of the grid, callees the second: the two of a call are half an
    /// interval apart.
    fn source(&self, call: u32, party: Party) -> usize {
        (call + self.calls * party as u32) as usize
    }

    /// Sends the packets that are due, each with a system call of its own, as separate phones
    /// would.
    pub fn send_due(&mut self, now: Instant) -> io::Result<()> {
        let slots = self.streams.len() as u64;
        let slot_ns = INTERVAL.as_nanos() as f64 / slots as f64;
        let due = (now.saturating_duration_since(self.grid.0).as_nanos() as f64 / slot_ns) as u64;
        let late_slots = (LATE.as_nanos() as f64 / slot_ns) as u64;
        while self.grid.1 <= due {
            let late = due - self.grid.1 > late_slots;
            let source = (self.grid.1 % slots) as usize;
            self.grid.1 += 1;
            self.send(source, late)?;
        }
        Ok(())
    }

    fn send(&mut self, source: usize, late: bool) -> io::Result<()> {
        let stream = &mut self.streams[source];
        let Some((frame, _)) = &mut stream.frame else {
            return Ok(());
        };
        let tap = if source < self.calls as usize {
            0
        } else {
            self.taps.len() - 1
        };
        let stamp = Stamp {
            source: source as u32,
            number: stream.next,
            sent_ns: clock::wall_ns(),
        };
        stream.next += 1;
        self.counts.sent += 1;
        self.counts.late += u64::from(late);
        self.counts.refused += u64::from(!self.taps[tap].send(frame.stamped(stamp))?);
        Ok(())
    }

    /// Reads the packets that have arrived.
    pub fn read(&mut self) -> io::Result<()> {
        let mut taps = std::mem::take(&mut self.taps);
        let mut outcome = Ok(());
        for tap in &mut taps {
            // The loop is bounded, so that sending does not wait.
            for _ in 0..64 {
                match tap.read(|frame, at| self.take(frame, at)) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => outcome = Err(error),
                }
            }
        }
        self.taps = taps;
        outcome
    }

    fn take(&mut self, frame: &[u8], at: u64) {
        let Some(arrived) = Arrived::read(frame) else {
            return;
        };
        let source = arrived.stamp.source as usize;
        if !self.is_for_the_other(&arrived, source) {
            self.counts.foreign += 1;
            return;
        }
        self.counts.arrived += 1;
        let stream = &mut self.streams[source];
        if stream.window.contains(&arrived.stamp.number) {
            let delay = at.saturating_sub(arrived.stamp.sent_ns);
            stream.arrivals.push(Arrival {
                number: arrived.stamp.number as u32,
                delay_ns: delay.min(u32::MAX.into()) as u32,
            });
        }
    }

    /// Whether it reached the other party of its sender's call, from the address that this party
    /// sends to.
    fn is_for_the_other(&self, arrived: &Arrived, source: usize) -> bool {
        let calls = self.calls as usize;
        if source >= 2 * calls {
            return false;
        }
        let (call, other) = match source.checked_sub(calls) {
            None => (source, Party::Callee),
            Some(call) => (call, Party::Caller),
        };
        let call = call as u32;
        let sends_to = self.streams[self.source(call, other)]
            .frame
            .as_ref()
            .map(|frame| frame.1);
        arrived.to == self.address(call, other) && sends_to.is_none_or(|to| to == arrived.from)
    }
}
