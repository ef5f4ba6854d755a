//! DTLS handshakes on threads of their own, so that media does not wait for joining participants.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use agent::{Agent, Handshake, HandshakeFailure, Handshaken};
use tracing::{error, warn};

use crate::media::waker::Waker;
use crate::os::clock;
use crate::os::priority;

/// How many parts of handshakes are handed to each thread at once: enough that none waits for the
/// agent. The others wait there, where what arrives for one of them is computed with it.
const AHEAD: usize = 4;

/// The agent's handle on the threads.
pub(crate) struct Handshakes {
    work: Sender<Handshake>,
    /// `None` for one that was given up.
    done: Receiver<Option<Handshaken>>,
    /// How many are handed out.
    out: usize,
    out_max: usize,
}

impl Handshakes {
    /// Starts the threads. They end when this is dropped.
    pub(crate) fn start(threads: usize, waker: &Waker) -> io::Result<Self> {
        let (work, to_do) = mpsc::channel();
        let (computed, done) = mpsc::channel();
        let to_do = Arc::new(Mutex::new(to_do));
        for _ in 0..threads {
            let (to_do, computed, waker) = (to_do.clone(), computed.clone(), waker.clone());
            thread::Builder::new()
                .name("handshakes".to_owned())
                .spawn(move || compute(&to_do, &computed, &waker))?;
        }
        Ok(Self {
            work,
            done,
            out: 0,
            out_max: threads * AHEAD,
        })
    }

    /// Hands out what waits, as far as there is room.
    pub(crate) fn hand_out(&mut self, agent: &mut Agent) {
        while self.out < self.out_max
            && let Some(handshake) = agent.poll_handshake()
        {
            self.work.send(handshake).expect("the threads wait for work");
            self.out += 1;
        }
    }

    /// The next finished handshake.
    pub(crate) fn poll(&mut self) -> Option<Handshaken> {
        while let Ok(done) = self.done.try_recv() {
            self.out -= 1;
            if done.is_some() {
                return done;
            }
        }
        None
    }
}

/// Logs the handshakes that failed.
pub(crate) fn log_failures(agent: &mut Agent) {
    while let Some(HandshakeFailure { peer, role, fault }) = agent.poll_handshake_failure() {
        warn!(%peer, ?role, %fault, "a DTLS handshake failed");
    }
}

fn compute(to_do: &Mutex<Receiver<Handshake>>, done: &Sender<Option<Handshaken>>, waker: &Waker) {
    priority::give_way(priority::HANDSHAKES);
    loop {
        // The others wait for the lock instead of the work, which is the same.
        let next = to_do.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(handshake) = next else { return };
        // A panic of the library over one peer's message ends only that peer's handshake.
        let computed = panic::catch_unwind(AssertUnwindSafe(|| handshake.compute(clock::now()))).ok();
        if computed.is_none() {
            error!("a handshake was given up: the library panicked");
        }
        if done.send(computed).is_err() {
            return;
        }
        waker.wake();
    }
}
