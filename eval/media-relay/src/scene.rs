//! One measurement: calls are set up, phones send, calls end.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use harness::{Histogram, clock};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use serde::{Deserialize, Serialize};

use crate::meter::{Timeline, Window};
use crate::outcome::{Distribution, LoadSample, Outcome, Packets, SetUp, per_second};
use crate::phones::{Cables, Party, Phones};
use crate::proxy::{Command, Proxy, Reply};
use crate::quality::Quality;

/// Interval of the phones' clock: packets due within it are sent together.
const TICK: Duration = Duration::from_micros(200);
/// Time in which packets under way at the end of the phones' sending arrive.
const DRAIN: Duration = Duration::from_millis(300);
/// Calls that are not established at this time after the last offer have failed.
const SET_UP_MAX: Duration = Duration::from_secs(5);
/// Requests without a reply at a time, outside of measurements.
const OPEN_MAX: usize = 32;

/// The calls of the phones.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Load {
    /// How many calls.
    pub calls: u32,
    /// How many are offered in a second.
    pub per_second: u32,
    /// Between the last answer and the window, for relays that learn addresses first; none: nobody
    /// talks.
    pub settle: Option<Duration>,
    /// The measured window.
    pub window: Duration,
    /// Whether to watch the machine from the beginning.
    pub timeline: bool,
}

/// The connection between callers and callees.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Between {
    /// A cable.
    Nothing,
    /// A program at this address that sends each packet to the other party, under the port it
    /// arrived at.
    Mirror(Ipv4Addr),
    /// A relay.
    Relay {
        /// Its control address.
        control: SocketAddr,
        /// Whence.
        proxy: IpAddr,
    },
}

/// A measurement in progress.
pub struct Scene<'a> {
    load: &'a Load,
    phones: Phones,
    proxy: Option<Proxy>,
    mirror: Option<Ipv4Addr>,
    relay: Option<u32>,
    calls: Vec<Call>,
    replies: Vec<Reply>,
    failures: Vec<String>,
    packets_relayed: u64,
    both: Histogram,
}

/// A call while it is set up.
#[derive(Clone, Copy, Default)]
struct Call {
    offered: Option<Instant>,
    /// The address that the callee was told to send to.
    callee_to: Option<SocketAddrV4>,
    established: Option<Instant>,
    failed: bool,
}

impl<'a> Scene<'a> {
    /// Measures under a load; `relay` is the relay's process, if there is one.
    pub fn measure(cables: &Cables, between: Between, relay: Option<u32>, load: &'a Load) -> io::Result<Outcome> {
        let mut scene = Self {
            load,
            phones: Phones::open(cables, load.calls)?,
            proxy: match between {
                Between::Relay { control, proxy } => Some(Proxy::open(proxy, control)?),
                _ => None,
            },
            mirror: match between {
                Between::Mirror(address) => Some(address),
                _ => None,
            },
            relay,
            calls: vec![Call::default(); load.calls as usize],
            replies: Vec::new(),
            failures: Vec::new(),
            packets_relayed: 0,
            both: Histogram::default(),
        };
        scene.perform()
    }

    fn perform(&mut self) -> io::Result<Outcome> {
        let timeline = self.load.timeline.then(|| Timeline::begin(self.relay));
        let mut outcome = Outcome {
            calls: self.load.calls,
            ..Outcome::default()
        };
        outcome.set_up = self.set_up()?;
        if let Some(settle) = self.load.settle {
            self.pass(settle)?;
            self.talk(&mut outcome)?;
        }
        outcome.timeline = timeline.map_or_else(Vec::new, |timeline| self.moments(timeline.end()));
        self.phones.end();
        self.pass(DRAIN)?;
        if self.proxy.is_some() {
            self.ask_about_all(Command::Query)?;
            let arrived = self.phones.counts().arrived;
            outcome.relayed = self.load.settle.map(|_| [self.packets_relayed, arrived]);
            self.ask_about_all(Command::Delete)?;
        }
        outcome.established = self.calls.iter().filter(|call| call.established.is_some()).count() as u32;
        outcome.failures = std::mem::take(&mut self.failures);
        Ok(outcome)
    }

    /// Offers calls at the load's pace, and waits until all are answered.
    fn set_up(&mut self) -> io::Result<SetUp> {
        let began = clock::now();
        let cpu = || self.relay.and_then(harness::process).map(|sample| sample.cpu);
        let before = cpu();
        let pace = Duration::from_secs(1) / self.load.per_second.max(1);
        let give_up = began + pace * self.load.calls + SET_UP_MAX;
        let mut next = 0;
        loop {
            let now = clock::now();
            while next < self.load.calls && began + pace * next <= now {
                self.offer(next, now)?;
                next += 1;
            }
            let open = |call: &Call| call.established.is_none() && !call.failed;
            let is_over = next == self.load.calls && !self.calls.iter().any(open);
            if is_over || now > give_up {
                break;
            }
            self.tick()?;
        }
        let took = clock::now().duration_since(began);
        let relay_cores = before.zip(self.relay.and_then(harness::process));
        let answered = self.calls.iter().filter_map(|call| call.established);
        let last = answered.clone().max().unwrap_or(began);
        let latency = |command| {
            self.proxy
                .as_ref()
                .map(|proxy| Distribution::of_durations(&proxy.latency(command)))
        };
        Ok(SetUp {
            offered: self.load.per_second.into(),
            answered: per_second(answered.count() as f64, last.duration_since(began)),
            both: Distribution::of_durations(&self.both),
            offer: latency(Command::Offer).unwrap_or_default(),
            answer: latency(Command::Answer).unwrap_or_default(),
            repeats: self.proxy.as_ref().map_or(0, Proxy::repeats),
            relay_cores: relay_cores
                .map(|(before, after)| per_second(after.cpu.saturating_sub(before).as_secs_f64(), took)),
        })
    }

    fn offer(&mut self, number: u32, now: Instant) -> io::Result<()> {
        self.calls[number as usize].offered = Some(now);
        let parties = [Party::Caller, Party::Callee].map(|party| self.phones.address(number, party));
        match (&mut self.proxy, self.mirror) {
            (Some(proxy), _) => proxy.ask(now, Command::Offer, number, parties[0])?,
            (None, Some(mirror)) => self.establish(
                number,
                now,
                parties.map(|party| SocketAddrV4::new(mirror, party.port())),
            ),
            (None, None) => self.establish(number, now, [parties[1], parties[0]]),
        }
        Ok(())
    }

    fn establish(&mut self, number: u32, now: Instant, told: [SocketAddrV4; 2]) {
        let call = &mut self.calls[number as usize];
        call.established = Some(now);
        let since = call
            .offered
            .map_or(Duration::ZERO, |offered| now.duration_since(offered));
        self.both.record(since.as_nanos() as u64);
        if self.load.settle.is_some() {
            self.phones.begin(number, told);
        }
    }

    /// Runs everything for a while.
    fn pass(&mut self, lasts: Duration) -> io::Result<()> {
        let end = clock::now() + lasts;
        while clock::now() < end {
            self.tick()?;
        }
        Ok(())
    }

    /// Sends due packets, reads arrived ones, and waits for more.
    fn tick(&mut self) -> io::Result<()> {
        self.phones.send_due(clock::now())?;
        self.phones.read()?;
        // Without requests there are no replies. Waiting is then the same with and without a relay:
        // polling only beside a relay would be charged to the relay.
        let Some(proxy) = self.proxy.as_mut().filter(|proxy| proxy.open_questions() > 0) else {
            std::thread::sleep(TICK);
            return Ok(());
        };
        let mut fds = [PollFd::new(proxy.socket().as_fd(), PollFlags::POLLIN)];
        ppoll(&mut fds, Some(TimeSpec::from_duration(TICK)), None)?;
        let mut replies = std::mem::take(&mut self.replies);
        proxy.step(&mut replies)?;
        for reply in replies.drain(..) {
            self.take(reply)?;
        }
        self.replies = replies;
        Ok(())
    }

    /// Continues a call with the relay's reply.
    fn take(&mut self, reply: Reply) -> io::Result<()> {
        let now = clock::now();
        let number = reply.call;
        let said = match reply.said {
            Ok(said) => said,
            Err(why) => {
                self.fail(number, format!("{:?}: {why}", reply.command));
                return Ok(());
            }
        };
        match (reply.command, said.audio) {
            (Command::Offer, Some(audio)) => {
                self.calls[number as usize].callee_to = Some(audio);
                let callee = self.phones.address(number, Party::Callee);
                if let Some(proxy) = &mut self.proxy {
                    proxy.ask(now, Command::Answer, number, callee)?;
                }
            }
            (Command::Answer, Some(audio)) => {
                let callee_to = self.calls[number as usize].callee_to.unwrap_or(audio);
                self.establish(number, now, [audio, callee_to]);
            }
            (Command::Offer | Command::Answer, None) => self.fail(number, "a description without audio".into()),
            (Command::Query, _) => self.packets_relayed += said.packets.unwrap_or(0),
            (Command::Delete, _) => {}
        }
        Ok(())
    }

    fn fail(&mut self, number: u32, why: String) {
        self.calls[number as usize].failed = true;
        if !self.failures.contains(&why) {
            self.failures.push(why);
        }
    }

    /// The measured window.
    fn talk(&mut self, outcome: &mut Outcome) -> io::Result<()> {
        let window = Window::begin(self.relay, self.load.window);
        let missed = self.missed();
        self.phones.begin_window();
        self.pass(self.load.window)?;
        self.phones.end_window();
        let (machine, dropped_at_relay) = window.end();
        self.pass(DRAIN)?;
        outcome.seconds = self.load.window.as_secs_f64();
        outcome.machine = machine;
        let counts = self.phones.counts();
        let mut packets = Packets {
            foreign: counts.foreign,
            late: counts.late,
            missed: self.missed() - missed,
            dropped_at_relay,
            ..Packets::default()
        };
        self.judge(&mut packets, outcome);
        outcome.packets = packets;
        Ok(())
    }

    /// Packets that the generator could not send or could not receive so far.
    fn missed(&self) -> u64 {
        self.phones.counts().refused + self.phones.dropped()
    }

    fn judge(&self, packets: &mut Packets, outcome: &mut Outcome) {
        let (mut delays, mut variations) = (Histogram::default(), Histogram::default());
        let accounts = self.phones.accounts().filter(|account| !account.numbers.is_empty());
        let qualities: Vec<Quality> = accounts
            .map(|account| Quality::of(&account, &mut delays, &mut variations))
            .collect();
        for quality in &qualities {
            packets.sent += quality.sent;
            packets.received += quality.received;
            packets.duplicates += quality.duplicates;
            packets.reordered += quality.reordered;
            packets.unplayed += quality.unplayed;
        }
        outcome.delay = Distribution::of_durations(&delays);
        outcome.variation = Distribution::of_durations(&variations);
        outcome.loss = Distribution::of(qualities.iter().map(|it| it.loss() * 100.0).collect());
        outcome.score = Distribution::of(qualities.iter().map(|it| it.score).collect());
        let jitters = qualities.iter().map(|it| it.jitter.as_secs_f64() * 1e6);
        outcome.jitter = jitters.sum::<f64>() / qualities.len().max(1) as f64;
    }

    /// Sends a request about every established call, a few at a time.
    fn ask_about_all(&mut self, command: Command) -> io::Result<()> {
        let numbers: Vec<u32> = (0..self.load.calls)
            .filter(|&number| self.calls[number as usize].offered.is_some())
            .collect();
        for number in numbers {
            let caller = self.phones.address(number, Party::Caller);
            if let Some(proxy) = &mut self.proxy {
                proxy.ask(clock::now(), command, number, caller)?;
            }
            self.settle_questions(OPEN_MAX)?;
        }
        self.settle_questions(0)
    }

    /// Waits until no more than `most` requests are open; each ends, with a reply or without.
    fn settle_questions(&mut self, most: usize) -> io::Result<()> {
        while self.proxy.as_ref().is_some_and(|proxy| proxy.open_questions() > most) {
            self.tick()?;
        }
        Ok(())
    }

    fn moments(&self, moments: Vec<(Instant, LoadSample)>) -> Vec<LoadSample> {
        let Some(first) = self.calls.iter().filter_map(|call| call.offered).min() else {
            return Vec::new();
        };
        let up_by = |at: Instant| {
            let established = self.calls.iter().filter_map(|call| call.established);
            established.filter(|&it| it <= at).count() as u32
        };
        moments
            .into_iter()
            .map(|(at, moment)| LoadSample {
                at: at.saturating_duration_since(first).as_secs_f64(),
                calls: up_by(at),
                ..moment
            })
            .collect()
    }
}
