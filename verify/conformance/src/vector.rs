//! Runs one vector against one device.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::{self, Write as _};
use std::time::{Duration, Instant};

use dataplane::{Counter, Counters, Event, Inject, Path, WriteError};

use crate::event::{flatten, matches};
use crate::rtp::hex;
use crate::text::{EventPattern, Expected, Line, Names, Statement, Vector, print_datagram};
use crate::{Device, Peers, Step};

/// The longest wait for an expected result of a device with a real clock, and the number of looks.
const PATIENCE: Duration = Duration::from_secs(3);
const ATTEMPTS: u32 = 600;

/// An expectation that did not hold, with all a person needs to see why.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Title of the vector.
    pub title: String,
    /// `file:line`
    pub place: String,
    /// The line.
    pub line: String,
    /// Which device.
    pub device: String,
    /// The failure.
    pub what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        writeln!(f, "{}: on {}", self.place, self.device)?;
        writeln!(f, "    {}", self.line.trim())?;
        self.what.lines().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

/// Runs `vector` on a fresh `device` whose clock shows `start`.
///
/// Everything that goes out, every punt, every unknown stream and every source learned must be
/// expected before the next thing is done.
///
/// Errors: the first expectation that does not hold.
pub fn run(vector: &Vector, names: &Names, device: &mut dyn Device, start: Instant) -> Result<(), Box<Failure>> {
    let mut run = Run {
        names,
        now: start,
        counted: device.counters(),
        device,
        peers: Peers::default(),
        sent: BTreeMap::new(),
        events: VecDeque::new(),
    };
    let mut cause: Option<&Line> = None;
    let end = Line {
        number: vector.lines.last().map_or(1, |line| line.number),
        text: "(end of the vector)".into(),
        statement: Statement::ExpectNothing,
    };
    for line in vector.lines.iter().chain([&end]) {
        let step = matches!(line.statement, Statement::Do(_) | Statement::Refuse(..));
        let last = std::ptr::eq(line, &end);
        if step || last {
            let blamed = cause.unwrap_or(line);
            run.nothing_left().map_err(|what| run.failure(vector, blamed, what))?;
        }
        run.line(&line.statement)
            .map_err(|what| run.failure(vector, line, what))?;
        if step {
            cause = Some(line);
        }
    }
    Ok(())
}

struct Run<'a> {
    names: &'a Names,
    now: Instant,
    device: &'a mut dyn Device,
    peers: Peers,
    /// Went out and was not expected yet, as the peers read it.
    sent: BTreeMap<Path, VecDeque<Vec<u8>>>,
    events: VecDeque<Event>,
    counted: Counters,
}

impl Run<'_> {
    fn failure(&self, vector: &Vector, line: &Line, what: String) -> Box<Failure> {
        Box::new(Failure {
            title: vector.title.clone(),
            place: format!("{}:{}", vector.file, line.number),
            line: line.text.clone(),
            device: self.device.name(),
            what,
        })
    }

    fn line(&mut self, statement: &Statement) -> Result<(), String> {
        match statement {
            Statement::Do(step) => self.step(step),
            Statement::Refuse(error, update) => match self.device.write(self.now, update.clone()) {
                Err(got) if got == *error => Ok(()),
                Err(got) => Err(format!("refused as {got:?}, not {error:?}")),
                Ok(()) => Err(format!("not refused; expected {error:?}")),
            },
            Statement::Expect(path, expected) => {
                self.eventually(|run| run.something_sent(*path))?;
                self.expect(*path, expected)
            }
            Statement::ExpectNothing => self.nothing_sent(),
            Statement::Event(pattern) => self.eventually(|run| run.event(pattern)),
            Statement::NoneSelected => self.none_selected(),
            Statement::Count(expected) => self.eventually(|run| run.count(expected)),
        }
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        self.events.clear();
        match step {
            Step::Wait(time) => self.wait(*time),
            Step::Write(update) => {
                let written: Result<(), WriteError> = self.device.write(self.now, update.clone());
                written.map_err(|error| format!("refused as {error:?}"))?;
                self.peers.apply(update);
            }
            Step::Send(send) => {
                let bytes = self.peers.on_the_wire(send);
                self.device.packet(self.now, send.path, &bytes);
            }
            Step::Receive(send) => {
                let (at, path) = (self.now, send.path);
                let bytes = &self.peers.on_the_wire(send);
                self.device.inject(self.now, Inject::Receive { at, path, bytes });
            }
            Step::Inject(injection) => self.device.inject(self.now, injection.as_inject()),
        }
        self.collect()
    }

    fn wait(&mut self, time: Duration) {
        if !self.device.keeps_virtual_time() {
            std::thread::sleep(time);
        }
        self.now += time;
    }

    fn collect(&mut self) -> Result<(), String> {
        for datagram in self.device.sent() {
            let bytes = match self.device.egress_protection() {
                false => datagram.bytes,
                true => {
                    let opened = self.peers.open(datagram.path, &datagram.bytes);
                    let name = self.names.of_path(datagram.path);
                    let refused = |error| format!("{name} cannot open a packet ({error:?}): {}", hex(&datagram.bytes));
                    opened.map_err(refused)?.bytes
                }
            };
            self.sent.entry(datagram.path).or_default().push_back(bytes);
        }
        while let Some(event) = self.device.poll() {
            self.events.extend(flatten(event));
        }
        Ok(())
    }

    /// Tries again, within a bound, on a device that takes its time.
    fn eventually(&mut self, mut check: impl FnMut(&mut Self) -> Result<(), String>) -> Result<(), String> {
        let mut result = check(self);
        let mut attempts = if self.device.keeps_virtual_time() { 0 } else { ATTEMPTS };
        while result.is_err() && attempts > 0 {
            std::thread::sleep(PATIENCE / ATTEMPTS);
            self.collect()?;
            result = check(self);
            attempts -= 1;
        }
        result
    }

    fn something_sent(&mut self, path: Path) -> Result<(), String> {
        if self.sent.get(&path).is_some_and(|got| !got.is_empty()) {
            return Ok(());
        }
        let elsewhere = self.nothing_sent().err().unwrap_or_default();
        let name = self.names.of_path(path);
        Err(format!(
            "nothing was sent to {name}; {}\n{elsewhere}",
            self.counted_since()
        ))
    }

    /// Counters since the last `count`.
    fn counted_since(&mut self) -> String {
        let now = self.device.counters();
        let since = now
            .iter()
            .map(|(counter, count)| (counter, count - self.counted[counter]));
        let shown: Vec<String> = since
            .filter(|(_, count)| *count > 0)
            .map(|(counter, count)| format!("{} {count}", counter.name()))
            .collect();
        format!("counted {}", shown.join(", "))
    }

    fn expect(&mut self, path: Path, expected: &Expected) -> Result<(), String> {
        let got = self.sent.get_mut(&path).and_then(VecDeque::pop_front);
        let got = got.expect("something was sent");
        let (wrong, wanted) = match expected {
            Expected::Rtp(fields) => (fields.mismatches(&got), fields.to_string()),
            Expected::Bytes(bytes) if *bytes == got => (Vec::new(), String::new()),
            Expected::Bytes(bytes) => (vec!["the bytes differ".into()], format!("hex {}", hex(bytes))),
        };
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(format!(
                "{}\nexpected {wanted}\n     got {}\n  in hex {}",
                wrong.join("\n"),
                print_datagram(&got),
                hex(&got)
            )),
        }
    }

    fn event(&mut self, pattern: &EventPattern) -> Result<(), String> {
        match self.events.iter().position(|event| matches(pattern, event)) {
            Some(at) => {
                self.events.remove(at);
                Ok(())
            }
            None => Err(format!("no such event; the events are {:#?}", self.events)),
        }
    }

    fn nothing_sent(&self) -> Result<(), String> {
        let mut text = String::new();
        for (path, bytes) in self
            .sent
            .iter()
            .flat_map(|(path, all)| all.iter().map(move |bytes| (path, bytes)))
        {
            let name = self.names.of_path(*path);
            let _ = writeln!(
                text,
                "{name} got, unexpected: {}\n  in hex {}",
                print_datagram(bytes),
                hex(bytes)
            );
        }
        if text.is_empty() { Ok(()) } else { Err(text) }
    }

    fn none_selected(&self) -> Result<(), String> {
        let selected = |event: &&Event| matches!(event, Event::Selected { .. });
        match self.events.iter().find(selected) {
            None => Ok(()),
            Some(event) => Err(format!("an unexpected event: {event:?}")),
        }
    }

    fn nothing_left(&self) -> Result<(), String> {
        self.nothing_sent()?;
        let important = |event: &&Event| {
            matches!(
                event,
                Event::Punt { .. } | Event::UnknownStream { .. } | Event::RelaySource { .. }
            )
        };
        match self.events.iter().find(important) {
            None => Ok(()),
            Some(event) => Err(format!("an unexpected event: {event:?}")),
        }
    }

    fn count(&mut self, expected: &[(Counter, u64)]) -> Result<(), String> {
        let counters = self.device.counters();
        let since: BTreeMap<Counter, u64> = counters
            .iter()
            .map(|(counter, count)| (counter, count - self.counted[counter]))
            .collect();
        let expected: BTreeMap<Counter, u64> = expected.iter().copied().collect();
        let wrong = since.iter().filter_map(|(counter, count)| {
            let wanted = expected.get(counter).copied().unwrap_or(0);
            (wanted != *count).then(|| format!("{} is {count}, not {wanted}", counter.name()))
        });
        let wrong: Vec<String> = wrong.collect();
        if wrong.is_empty() {
            self.counted = counters;
            Ok(())
        } else {
            Err(wrong.join("\n"))
        }
    }
}
