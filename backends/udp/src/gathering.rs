//! Workers one after the other, as long as few are connected.
//!
//! A frame whose receivers are spread over workers wakes each of them, on another processor and
//! from sleep, which costs more than sealing a few packets does. Who meets connects at about the
//! same time. So the first few dozen legs are the first worker's, the next ones the second
//! worker's, and so on, and what comes from their ports arrives there. A worker that has much to do
//! gets no more. When each has its part, addresses decide about all others.
//!
//! Legs stay where they are first heard. What the kernel leads elsewhere is handed over, so that
//! nothing but cost depends on what is decided here.

use std::time::{Duration, Instant};

use crate::control::Control;
use crate::net::{Door, Led, ThreadTime};

/// How often it is looked at how much the worker has to do that gets new legs.
const LOOK: Duration = Duration::from_millis(250);
/// With so much of one processor it gets no more.
const BUSY: f64 = 0.1;
/// So many ports are looked through for each datagram at most.
const HOMES_MAX: usize = 128;

/// Decides which worker hears those who are new.
#[derive(Debug)]
pub(crate) struct Gathering {
    door: Door,
    workers: Vec<ThreadTime>,
    /// How many legs a worker gets that way.
    legs_max: usize,
    /// Who gets new ones; nobody when addresses decide.
    current: Option<usize>,
    /// When it was looked at last, and what it had used then.
    looked: Option<(Instant, Duration)>,
}

impl Gathering {
    /// Begins with the first worker, where the kernel can do that; `None` where it cannot.
    pub(crate) fn begin(door: Door, workers: Vec<ThreadTime>, legs_max: usize) -> Option<Self> {
        door.lead(&[], Led::To(0)).ok()?;
        Some(Gathering {
            door,
            workers,
            legs_max,
            current: Some(0),
            looked: None,
        })
    }

    /// A leg was added or removed.
    pub(crate) fn count(&mut self, control: &Control) {
        let legs = control.legs();
        let snapshot = match self.current {
            Some(current) => legs[current] >= self.legs_max,
            None => legs.iter().sum::<usize>() < self.legs_max / 2,
        };
        if snapshot {
            self.go_on(control, None);
        }
    }

    /// Looks how much there is to do, if it is time.
    pub(crate) fn look(&mut self, now: Instant, control: &Control) {
        let since = |at: Instant| now.saturating_duration_since(at);
        let Some(current) = self.current else { return };
        if self.looked.is_some_and(|(at, _)| since(at) < LOOK) {
            return;
        }
        let used = self.workers[current].used();
        let before = self.looked.replace((now, used));
        let share = before.map_or(0.0, |(at, before)| {
            used.saturating_sub(before).as_secs_f64() / since(at).as_secs_f64()
        });
        if share > BUSY {
            self.go_on(control, Some(current));
        }
    }

    /// Turns to the worker that has the fewest legs, unless all have enough or it would be one that
    /// is busy.
    fn go_on(&mut self, control: &Control, busy: Option<usize>) {
        let legs = control.legs();
        let is_few = legs.iter().sum::<usize>() < HOMES_MAX;
        let free = |worker: &usize| is_few && legs[*worker] < self.legs_max;
        let fewest = (0..legs.len()).filter(free).min_by_key(|worker| legs[*worker]);
        self.current = fewest.filter(|worker| Some(*worker) != busy);
        self.looked = None;
        let homes: Vec<_> = control.homes().take(HOMES_MAX).collect();
        let others = self.current.map_or(Led::ByAddress, Led::To);
        if self.door.lead(&homes, others).is_err() {
            // As it is, it only costs more.
            self.current = None;
        }
    }
}
