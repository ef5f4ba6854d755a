//! The rings between the control handle and one worker.

use std::sync::Arc;
use std::time::Duration;

use dataplane::{Counters, Event};
use rtrb::{Consumer, Producer, PushError, RingBuffer};

use super::events;
use crate::channel::{CounterPage, ReportReader, Reports};
use crate::wakeup::Wakeup;

/// How many commands may wait in a worker's ring.
const COMMANDS_MAX: usize = 4_096;
/// How long to wait between two attempts to push a command to a full ring.
const BACK_OFF: Duration = Duration::from_micros(200);

/// The control handle's link to one worker that takes commands `C`.
pub(crate) struct WorkerLink<C> {
    commands: Producer<C>,
    reader: ReportReader,
    counters: Arc<CounterPage>,
    wakeup: Arc<Wakeup>,
    /// Whether a command was pushed that the worker has not been woken for.
    has_posted: bool,
}

/// The worker's ends.
pub(crate) struct WorkerEnds<C> {
    pub(crate) commands: Consumer<C>,
    pub(crate) reports: Reports,
    pub(crate) counters: Arc<CounterPage>,
}

impl<C> WorkerLink<C> {
    /// A link to a worker that `wakeup` wakes; it wakes the handle's owner by `agent`.
    pub(crate) fn new(wakeup: &Arc<Wakeup>, agent: &Arc<Wakeup>) -> (Self, WorkerEnds<C>) {
        let (commands, commands_reader) = RingBuffer::new(COMMANDS_MAX);
        let (reports, reader) = Reports::new(agent.clone());
        let counters = Arc::new(CounterPage::new());
        let link = WorkerLink {
            commands,
            reader,
            counters: counters.clone(),
            wakeup: wakeup.clone(),
            has_posted: false,
        };
        let ends = WorkerEnds {
            commands: commands_reader,
            reports,
            counters,
        };
        (link, ends)
    }

    /// Pushes a command that must not be lost, and wakes the worker for it.
    pub(crate) fn send(&mut self, command: C) {
        self.post(command);
        self.wake();
    }

    /// Pushes a command that must not be lost without waking the worker. The worker takes it before
    /// its next packet, or after [`wake_for_posted`](Self::wake_for_posted). Waits for room as long
    /// as there is a worker.
    pub(crate) fn post(&mut self, mut command: C) {
        while let Err(PushError::Full(refused)) = self.commands.push(command) {
            if self.commands.is_abandoned() {
                return;
            }
            command = refused;
            self.wakeup.wake();
            std::thread::sleep(BACK_OFF);
        }
        self.has_posted = true;
    }

    /// Pushes a command that may be lost, and wakes the worker; false when it was lost.
    pub(crate) fn try_send(&mut self, command: C) -> bool {
        let is_placed = self.try_post(command);
        self.wake();
        is_placed
    }

    /// As [`post`](Self::post), of a command that may be lost; false when it was lost.
    pub(crate) fn try_post(&mut self, command: C) -> bool {
        self.has_posted = true;
        self.commands.push(command).is_ok()
    }

    /// Wakes the worker for commands posted without a wake-up.
    pub(crate) fn wake_for_posted(&mut self) {
        if std::mem::take(&mut self.has_posted) {
            self.wake_unless_drained();
        }
    }

    /// Whether the worker has taken every command, or is gone. A worker that has not is woken.
    pub(crate) fn wake_unless_drained(&self) -> bool {
        let is_drained = self.commands.slots() == COMMANDS_MAX || self.commands.is_abandoned();
        if !is_drained {
            self.wakeup.wake();
        }
        is_drained
    }

    /// Wakes the worker for everything in its ring.
    fn wake(&mut self) {
        self.has_posted = false;
        self.wakeup.wake();
    }

    pub(crate) fn next_event(&mut self) -> Option<Event> {
        events::next_event(&mut self.reader)
    }

    pub(crate) fn counters(&self) -> Counters {
        self.counters.read()
    }
}
