//! All receivers on one thread.

use std::io::{self, IoSlice};
use std::net::UdpSocket;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use harness::clock;
use harness::net::{self, Inbox};

use crate::epoll::Sockets;
use crate::viewer::{Seat, Viewer};

/// Interval of looks for missing packets.
const LOOK: Duration = Duration::from_millis(20);
/// Time between two reports of a receiver.
const REPORT: Duration = Duration::from_secs(1);

/// The times that count, by the clock of the kernel's stamps: none until it is set.
#[derive(Default)]
pub(crate) struct Window {
    from: AtomicU64,
    to: AtomicU64,
}

impl Window {
    pub(crate) fn open(&self) {
        self.to.store(u64::MAX, Ordering::Relaxed);
        self.from.store(clock::wall_ns(), Ordering::Release);
    }

    pub(crate) fn close(&self) {
        self.to.store(clock::wall_ns(), Ordering::Release);
    }

    pub(crate) fn range(&self) -> Range<u64> {
        let from = self.from.load(Ordering::Acquire);
        from..self.to.load(Ordering::Acquire)
    }
}

/// Receivers that watch until they are ended.
pub(crate) struct Receivers {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<io::Result<Vec<Viewer>>>,
}

impl Receivers {
    pub(crate) fn start(seats: Vec<Seat>, window: Arc<Window>) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let sockets = Sockets::new(seats.iter().map(|seat| &seat.socket))?;
        let count = seats.len() as u32;
        let mut audience = Audience {
            viewers: seats.iter().map(Viewer::new).collect(),
            ready: sockets,
            sockets: seats.into_iter().map(|seat| seat.socket).collect(),
            buffers: Inbox::default(),
            window,
            look_at: clock::now(),
            report_at: spread(clock::now(), count),
        };
        let stopped = stop.clone();
        let thread = thread::Builder::new().name("receivers".into()).spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                audience.turn()?;
            }
            Ok(audience.viewers)
        })?;
        Ok(Receivers { stop, thread })
    }

    pub(crate) fn end(self) -> io::Result<Vec<Viewer>> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread
            .join()
            .map_err(|_| io::Error::other("the receivers have panicked"))?
    }
}

/// Instants within a second, so that not all report at once.
fn spread(from: Instant, count: u32) -> Vec<Instant> {
    (0..count).map(|place| from + REPORT * place / count).collect()
}

struct Audience {
    viewers: Vec<Viewer>,
    /// The sockets of all viewers.
    sockets: Vec<UdpSocket>,
    ready: Sockets,
    buffers: Inbox,
    window: Arc<Window>,
    look_at: Instant,
    /// When each viewer reports.
    report_at: Vec<Instant>,
}

impl Audience {
    fn turn(&mut self) -> io::Result<()> {
        let now = clock::now();
        if self.look_at <= now {
            self.look_at = now + LOOK;
            self.say(now)?;
        }
        let ready = self.ready.wait(self.look_at.saturating_duration_since(now))?;
        let (now, window) = (clock::now(), self.window.range());
        for place in ready {
            let viewer = &mut self.viewers[place];
            let socket = &self.sockets[place];
            self.buffers
                .read(socket, |datagram| viewer.receive(now, datagram, &window))?;
        }
        Ok(())
    }

    /// Requests for what is missing, and the reports that are due.
    fn say(&mut self, now: Instant) -> io::Result<()> {
        for (place, viewer) in self.viewers.iter_mut().enumerate() {
            let report_at = &mut self.report_at[place];
            let report = (*report_at <= now).then(|| viewer.report());
            if report.is_some() {
                *report_at = now + REPORT;
            }
            for compound in viewer.look(now).into_iter().chain(report) {
                net::send_each(&self.sockets[place], &[[IoSlice::new(&compound)]])?;
            }
        }
        Ok(())
    }
}
