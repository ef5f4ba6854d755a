//! `weir-netem`: the cable as a program.

#![forbid(unsafe_code)]

mod input;

use std::error::Error;
use std::io::Write;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Parser;
use input::Input;
use netem::{Change, Counts, Directions, Link, Port, Schedule};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use serde::Serialize;

/// Joins two interfaces by a cable with faults, decided by a seed.
///
/// Frames from the far interface go down to the near one, and up again. Changes are read from a
/// schedule and, at any time, as lines on standard input: `down rate 1M queue 300ms loss 5% burst 3
/// delay 25ms jitter 2ms reorder 1%`, or `up ...`, or `both ...`; settings that are not named stay.
/// Each change, and the end, prints the counts so far as a line of JSON. The end of the input ends
/// the relay, so that it does not outlive its parent.
///
/// Both interfaces must be in promiscuous mode, have no address, and get whole frames with
/// checksums: on the machines at both ends, `ethtool -K IFACE tx off gso off tso off gro off`.
#[derive(Parser)]
#[command(name = "weir-netem")]
struct Arguments {
    /// The interface towards the receiver.
    near: String,
    /// The interface towards the rest of the world.
    far: String,
    /// Seed of the random decisions: equal seeds give equal runs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Lines such as `25s down rate 1M`; times count from the start.
    #[arg(long)]
    schedule: Option<PathBuf>,
    /// End after this many seconds.
    #[arg(long)]
    seconds: Option<f64>,
    /// Do not read standard input.
    #[arg(long, requires = "seconds")]
    no_input: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let schedule = match &arguments.schedule {
        Some(path) => std::fs::read_to_string(path)?.parse()?,
        None => Schedule::default(),
    };
    let relay = Relay::new(&arguments, schedule)?;
    relay.run(!arguments.no_input)
}

/// Frames read from one interface before the other gets its turn.
const BATCH: usize = 64;
/// Longer than any frame, so that no frame is truncated.
const FRAME_MAX: usize = 65_600;

struct Relay {
    near: Port,
    far: Port,
    down: Direction,
    up: Direction,
    schedule: Schedule,
    started: Instant,
    ends: Option<Instant>,
}

struct Direction {
    link: Link,
    /// Frames the interface did not take.
    refused: u64,
}

/// A line of output.
#[derive(Serialize)]
struct Report {
    seconds: f64,
    down: Figures,
    up: Figures,
}

#[derive(Serialize)]
struct Figures {
    #[serde(flatten)]
    counts: Counts,
    refused: u64,
}

impl Relay {
    fn new(arguments: &Arguments, schedule: Schedule) -> Result<Self, Box<dyn Error>> {
        let direction = |seed| Direction {
            link: Link::new(seed),
            refused: 0,
        };
        let started = now();
        let limit = arguments.seconds.map(Duration::try_from_secs_f64).transpose()?;
        Ok(Self {
            near: Port::open(&arguments.near)?,
            far: Port::open(&arguments.far)?,
            down: direction(arguments.seed),
            up: direction(!arguments.seed),
            schedule,
            started,
            ends: limit.map(|limit| started + limit),
        })
    }

    fn run(mut self, listen: bool) -> Result<(), Box<dyn Error>> {
        let mut input = Input::default();
        let mut buffer = vec![0; FRAME_MAX];
        loop {
            self.follow_schedule();
            self.move_frames(&mut buffer)?;
            if self.ends.is_some_and(|end| end <= now()) {
                break;
            }
            if self.wait(listen)? && !self.obey(&mut input)? {
                break;
            }
        }
        self.report();
        Ok(())
    }

    fn follow_schedule(&mut self) {
        while let Some((at, _)) = self.schedule.changes.first()
            && self.started + *at <= now()
        {
            let (_, change) = self.schedule.changes.remove(0);
            self.change(&change);
        }
    }

    fn change(&mut self, change: &Change) {
        let apply = |direction: &mut Direction| {
            let conditions = change.apply(*direction.link.conditions());
            direction.link.change(now(), conditions);
        };
        if change.directions != Directions::Up {
            apply(&mut self.down);
        }
        if change.directions != Directions::Down {
            apply(&mut self.up);
        }
        self.report();
    }

    fn move_frames(&mut self, buffer: &mut [u8]) -> Result<(), Errno> {
        for (from, to, direction) in [
            (&self.far, &self.near, &mut self.down),
            (&self.near, &self.far, &mut self.up),
        ] {
            for _ in 0..BATCH {
                let Some(length) = from.receive(buffer)? else { break };
                direction.link.offer(now(), &buffer[..length]);
            }
            while let Some(frame) = direction.link.take(now()) {
                direction.refused += u64::from(!to.send(&frame)?);
            }
        }
        Ok(())
    }

    /// Sleeps until there is something to do; whether there is input.
    fn wait(&self, listen: bool) -> Result<bool, Errno> {
        let next = self.schedule.changes.first().map(|(at, _)| self.started + *at);
        let due = [self.down.link.due(), self.up.link.due(), next, self.ends];
        let timeout = due
            .into_iter()
            .flatten()
            .min()
            .map(|due| TimeSpec::from_duration(due.saturating_duration_since(now())));
        let stdin = std::io::stdin();
        let mut ready = vec![
            PollFd::new(self.near.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.far.as_fd(), PollFlags::POLLIN),
        ];
        if listen {
            ready.push(PollFd::new(stdin.as_fd(), PollFlags::POLLIN));
        }
        match ppoll(&mut ready, timeout, None) {
            Ok(_) => Ok(ready.get(2).and_then(PollFd::any).unwrap_or(false)),
            Err(Errno::EINTR) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Executes the input's commands; false at its end.
    fn obey(&mut self, input: &mut Input) -> std::io::Result<bool> {
        let open = input.read()?;
        while let Some(line) = input.line() {
            match line.parse() {
                Ok(change) => self.change(&change),
                Err(error) => eprintln!("weir-netem: {error}"),
            }
        }
        Ok(open)
    }

    fn report(&self) {
        let figures = |direction: &Direction| Figures {
            counts: direction.link.counts(),
            refused: direction.refused,
        };
        let report = Report {
            seconds: (now() - self.started).as_secs_f64(),
            down: figures(&self.down),
            up: figures(&self.up),
        };
        // Nobody may be reading any more; the frames matter more.
        if let Ok(line) = serde_json::to_string(&report) {
            let _ = writeln!(std::io::stdout(), "{line}");
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the program owns the clock")]
fn now() -> Instant {
    Instant::now()
}
