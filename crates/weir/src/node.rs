//! The media node: the agent and its data plane on a thread of their own.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use agent::Agent;
use dataplane::DataPlane;
use southbound::{Command, Notice};
use tokio::sync::mpsc;
use tracing::error;

use crate::clock;
use crate::handshakes::Handshakes;
use crate::metrics::Metrics;
use crate::observe::Question;

/// How many commands may wait. The agent takes thousands a millisecond; this many waiting means it has died.
const COMMANDS_MAX: usize = 1 << 20;

/// How many events and commands are taken before time is looked at again, so that a flood of one cannot starve the timers.
const TURN: usize = 512;

/// How often counters are published.
const PUBLISH_INTERVAL: Duration = Duration::from_millis(500);

/// Wakes the agent's thread when there is something to do.
#[derive(Clone, Default)]
pub struct Waker(Arc<WakerState>);

#[derive(Default)]
struct WakerState {
    awake: AtomicBool,
    thread: OnceLock<Thread>,
}

impl Waker {
    /// Wakes the thread, or makes it not fall asleep.
    pub fn wake(&self) {
        // Only the first of many pays for waking the thread.
        if !self.0.awake.swap(true, Ordering::SeqCst)
            && let Some(thread) = self.0.thread.get()
        {
            thread.unpark();
        }
    }

    fn sleep(&self, until: Option<Instant>) {
        let longest = PUBLISH_INTERVAL;
        let wait = until.map_or(longest, |until| {
            until.saturating_duration_since(clock::now()).min(longest)
        });
        if !self.0.awake.load(Ordering::SeqCst) && !wait.is_zero() {
            thread::park_timeout(wait);
        }
        // Before the queues are looked at: what is put there from now on sets it again.
        self.0.awake.store(false, Ordering::SeqCst);
    }
}

/// The controller's handle on the node.
#[derive(Clone)]
pub struct CommandSender {
    commands: mpsc::Sender<Command>,
    waker: Waker,
}

impl CommandSender {
    /// Hands a command over.
    pub fn send(&self, command: Command) {
        if self.commands.try_send(command).is_err() {
            error!("the media node does not take commands");
        }
        self.waker.wake();
    }
}

/// Starts the node on `plane`. It ends when the last [`CommandSender`] is dropped.
pub fn start(
    agent: Agent,
    plane: Box<dyn DataPlane + Send>,
    waker: Waker,
    notices: mpsc::Sender<Notice>,
    questions: mpsc::Receiver<Question>,
    metrics: Metrics,
) -> io::Result<CommandSender> {
    let (commands, taken) = mpsc::channel(COMMANDS_MAX);
    let node = Node {
        agent,
        plane,
        handshakes: Handshakes::start(handshake_threads(), &waker)?,
        notices,
        questions,
        metrics,
        out: Vec::new(),
        published: clock::now(),
    };
    let of_thread = waker.clone();
    thread::Builder::new().name("agent".to_owned()).spawn(move || {
        of_thread.0.thread.get_or_init(thread::current);
        node.run(taken, &of_thread);
    })?;
    Ok(CommandSender { commands, waker })
}

/// Half of the processors: those who are in a call already have the other half to themselves.
fn handshake_threads() -> usize {
    thread::available_parallelism().map_or(1, |processors| processors.get().div_ceil(2))
}

struct Node {
    agent: Agent,
    plane: Box<dyn DataPlane + Send>,
    handshakes: Handshakes,
    notices: mpsc::Sender<Notice>,
    questions: mpsc::Receiver<Question>,
    metrics: Metrics,
    out: Vec<Notice>,
    published: Instant,
}

impl Node {
    fn run(mut self, mut commands: mpsc::Receiver<Command>, waker: &Waker) {
        loop {
            let began = clock::now();
            let (ended, busy) = self.turn(&mut commands);
            if ended || self.deliver().is_err() {
                return;
            }
            let asked = self.settle_question();
            self.publish(began);
            if !asked && !busy {
                waker.sleep(self.agent.poll_timeout());
            }
        }
    }

    /// Takes what waits, a bounded part of it. Says whether the controller is gone, and whether more is waiting.
    fn turn(&mut self, commands: &mut mpsc::Receiver<Command>) -> (bool, bool) {
        let mut taken = 0;
        let ended = loop {
            match commands.try_recv() {
                Ok(command) => {
                    taken += 1;
                    self.agent
                        .command(clock::now(), command, &mut *self.plane, &mut self.out);
                }
                Err(mpsc::error::TryRecvError::Empty) => break false,
                Err(mpsc::error::TryRecvError::Disconnected) => break true,
            }
            if taken == TURN {
                break false;
            }
        };
        let now = clock::now();
        let mut events = 0;
        while events < TURN
            && let Some(event) = self.plane.poll()
        {
            events += 1;
            self.agent.event(now, event, &mut *self.plane, &mut self.out);
        }
        while let Some(done) = self.handshakes.poll() {
            self.agent.handshaken(now, done, &mut *self.plane, &mut self.out);
        }
        self.agent.handle_timeout(clock::now(), &mut *self.plane, &mut self.out);
        self.handshakes.hand_out(&mut self.agent);
        (ended, taken == TURN || events == TURN)
    }

    /// Answers one question, if there is any: the next one waits until media has had its turn again.
    fn settle_question(&mut self) -> bool {
        let question = self.questions.try_recv();
        question.map(|question| question.settle(&self.agent)).is_ok()
    }

    /// Hands notices to the controller, waiting where it is behind: media goes on meanwhile. An error means it is gone.
    fn deliver(&mut self) -> Result<(), ()> {
        self.out
            .drain(..)
            .try_for_each(|notice| self.notices.blocking_send(notice).map_err(drop))
    }

    /// Tells how long the turn that `began` then has taken, and once in a while what was counted.
    fn publish(&mut self, began: Instant) {
        let now = clock::now();
        self.metrics.turn(now.saturating_duration_since(began));
        if now >= self.published + PUBLISH_INTERVAL {
            self.published = now;
            self.metrics
                .publish(self.plane.counters(), self.agent.counters().clone());
        }
    }
}
