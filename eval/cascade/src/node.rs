//! One media node: the agent over the userspace data plane, on threads of its own.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

use agent::{Agent, Certificate, Config};
use backend_udp::{UdpConfig, UdpPlane};
use dataplane::{Clock, Counter, DataPlane};
use harness::clock;
use southbound::{Command, Notice};
use wire::NtpTime;

/// How long a timer of the agent's may be late, as in the program: packets and commands wake it.
const GRAIN: Duration = Duration::from_millis(4);
/// The longest sleep of the agent's thread.
const SLEEP_MAX: Duration = Duration::from_millis(500);
/// Commands between two looks at events.
const COMMANDS: usize = 64;
/// Faults that are kept.
const FAULTS_MAX: usize = 10;

/// A node that runs until it is dropped.
pub(crate) struct Node {
    pub(crate) address: SocketAddr,
    commands: Sender<Request>,
    thread: Option<JoinHandle<()>>,
    wake: Thread,
    /// The threads of agent and data plane.
    tasks: Vec<u32>,
    faults: Faults,
}

type Faults = Arc<Mutex<Vec<String>>>;

enum Request {
    Command(Box<Command>),
    Count(Sender<Counts>),
    End,
}

/// Counts of a node.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Packets lost in the node for want of time.
    pub(crate) overflows: u64,
}

impl Node {
    /// Starts a node at a port of this address, with one worker.
    pub(crate) fn start(address: SocketAddr) -> io::Result<Node> {
        let before = tasks();
        let (commands, orders) = channel();
        let (ready, started) = channel();
        let faults = Faults::default();
        let kept = faults.clone();
        let thread = thread::Builder::new().name("agent".into()).spawn(move || {
            let machine = Machine::start(address, orders, kept);
            let bound = machine.as_ref().map(|machine| machine.plane.local_addr());
            let _ = ready.send(bound.map_err(|error| io::Error::new(error.kind(), error.to_string())));
            if let Ok(machine) = machine {
                machine.run();
            }
        })?;
        let address = started.recv().map_err(io::Error::other)??;
        let tasks = tasks().difference(&before).copied().collect();
        Ok(Node {
            address,
            commands,
            wake: thread.thread().clone(),
            thread: Some(thread),
            tasks,
            faults,
        })
    }

    pub(crate) fn command(&self, command: Command) {
        self.order(Request::Command(Box::new(command)));
    }

    /// Processor time of agent and data plane until now, the kernel's part of their calls included.
    pub(crate) fn processor_time(&self) -> Duration {
        let time = |task: &u32| {
            let line = fs::read_to_string(format!("/proc/self/task/{task}/schedstat")).ok()?;
            line.split_ascii_whitespace().next()?.parse::<u64>().ok()
        };
        Duration::from_nanos(self.tasks.iter().filter_map(time).sum())
    }

    pub(crate) fn counts(&self) -> Counts {
        let (answer, answered) = channel();
        self.order(Request::Count(answer));
        answered.recv().unwrap_or_default()
    }

    /// Faults until now, in words.
    pub(crate) fn faults(&self) -> Vec<String> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn order(&self, order: Request) {
        // A node that is gone has said why, or its thread's panic is seen when it is dropped.
        let _ = self.commands.send(order);
        self.wake.unpark();
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.order(Request::End);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            eprintln!("cascade: the thread of a node has panicked");
        }
    }
}

/// The threads of this process.
fn tasks() -> BTreeSet<u32> {
    let entries = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// The parts of a node on its thread.
struct Machine {
    agent: Agent,
    plane: UdpPlane,
    orders: Receiver<Request>,
    notices: Vec<Notice>,
    faults: Faults,
}

impl Machine {
    fn start(address: SocketAddr, orders: Receiver<Request>, faults: Faults) -> io::Result<Self> {
        let clock = Clock {
            origin: clock::now(),
            ntp: NtpTime::from_unix(Duration::from_nanos(clock::wall_ns())),
        };
        let config = UdpConfig {
            addresses: vec![address],
            workers: 1,
            ..UdpConfig::default()
        };
        let agent = thread::current();
        let plane = UdpPlane::start(config, clock, Arc::new(move || agent.unpark()))?;
        let certificate = Certificate::generate().map_err(io::Error::other)?;
        let config = Config::new(plane.local_addrs().to_vec(), certificate);
        Ok(Machine {
            agent: Agent::new(config, clock, clock::wall_ns()),
            plane,
            orders,
            notices: Vec::new(),
            faults,
        })
    }

    fn run(mut self) {
        while self.turn() {}
    }

    /// Says whether the node goes on.
    fn turn(&mut self) -> bool {
        let began = clock::now();
        let mut is_idle = false;
        for _ in 0..COMMANDS {
            match self.orders.try_recv() {
                Ok(Request::Command(command)) => {
                    let now = clock::now();
                    self.agent.command(now, *command, &mut self.plane, &mut self.notices);
                }
                Ok(Request::Count(answer)) => drop(answer.send(self.counts())),
                Ok(Request::End) => return false,
                Err(_) => {
                    is_idle = true;
                    break;
                }
            }
        }
        while let Some(event) = self.plane.poll() {
            self.agent
                .event(clock::now(), event, &mut self.plane, &mut self.notices);
        }
        self.agent
            .handle_timeout(clock::now(), &mut self.plane, &mut self.notices);
        self.note();
        if is_idle {
            let due = self.agent.poll_timeout().map(|due| due.max(began + GRAIN));
            let wait = due.map_or(SLEEP_MAX, |due| due.saturating_duration_since(clock::now()));
            thread::park_timeout(wait.min(SLEEP_MAX));
        }
        true
    }

    fn note(&mut self) {
        for notice in self.notices.drain(..) {
            let fault = match notice {
                Notice::Refused { why, .. } => why,
                Notice::Closed { transport, reason } => format!("{transport:?} is closed: {reason:?}"),
                Notice::Disconnected { transport } => format!("{transport:?} is silent"),
                _ => continue,
            };
            let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
            if faults.len() < FAULTS_MAX {
                faults.push(fault);
            }
        }
    }

    fn counts(&mut self) -> Counts {
        let counters = self.plane.counters();
        let overflows = [
            Counter::ReceiveOverflow,
            Counter::WorkerQueueFull,
            Counter::SendFailed,
            Counter::PaceQueueFull,
        ];
        Counts {
            overflows: overflows.into_iter().map(|counter| counters[counter]).sum(),
        }
    }
}
