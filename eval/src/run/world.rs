//! The clients, and the loop that serves them.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollTimeout};

use super::agenda::Agenda;
use super::{RunError, Settings};
use crate::client::{Joining, Participant, Plan, Traffic};
use crate::clock;
use crate::media::{Ledger, Shown, Totals};
use crate::net::{self, Inbox};
use crate::transport::Identity;

/// How often timers are looked at.
pub const TICK: Duration = Duration::from_millis(10);

/// The clients and the sockets they wait on.
pub(crate) struct World {
    epoll: Epoll,
    /// Epoll instance for the media of light clients, read at the next tick.
    pool: Epoll,
    identity: Arc<Identity>,
    local_ip: IpAddr,
    pub(super) participants: Vec<Participant>,
    /// The publishers among them.
    publishers: Vec<usize>,
    agenda: Agenda,
    inbox: Inbox,
    pub(super) totals: Totals,
    tick_at: Instant,
    pub(super) window: Window,
}

/// The numbers of each source's packets at both ends of the window.
#[derive(Default)]
pub(crate) struct Window {
    pub(super) starts: Vec<u64>,
    pub(super) ends: Vec<u64>,
    pub(super) octets: [u64; 2],
    pub(super) late: [u64; 2],
    /// Quality of the video in the first room.
    pub(super) shown: Vec<Shown>,
}

impl World {
    /// An empty world.
    pub(crate) fn new(settings: &Settings) -> Result<Self, RunError> {
        Ok(Self {
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(|error| RunError::Machine(error.into()))?,
            pool: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(|error| RunError::Machine(error.into()))?,
            identity: Arc::new(Identity::new().map_err(RunError::Identity)?),
            local_ip: net::local_ip_towards(settings.server.address()).map_err(RunError::Machine)?,
            participants: Vec::new(),
            publishers: Vec::new(),
            agenda: Agenda::default(),
            inbox: Inbox::default(),
            totals: Totals::with(Ledger::new(settings.open_one_in)),
            tick_at: clock::now(),
            window: Window::default(),
        })
    }

    /// Begins to join one more.
    pub(super) fn join(&mut self, plan: Plan, settings: &Settings) -> Result<(), RunError> {
        let number = plan.number;
        let joining = Joining {
            server: &settings.server,
            identity: &self.identity,
            local_ip: self.local_ip,
            epoll: &self.epoll,
        };
        let lost = |error| RunError::Participant(number, error);
        let publishes = plan.publish.is_some();
        let participant = Participant::join(plan, &joining, clock::now()).map_err(lost)?;
        self.publishers.extend(publishes.then_some(self.participants.len()));
        self.participants.push(participant);
        Ok(())
    }

    /// Serves the clients until `deadline`.
    pub(crate) fn turn_until(&mut self, deadline: Instant) -> Result<(), RunError> {
        while clock::now() < deadline {
            self.turn(deadline)?;
        }
        Ok(())
    }

    /// Waits for sockets or the next deadline, at most until `deadline`, and serves them.
    pub(super) fn turn(&mut self, deadline: Instant) -> Result<(), RunError> {
        let wake = self
            .agenda
            .next()
            .into_iter()
            .chain([self.tick_at, deadline])
            .min()
            .unwrap_or(deadline);
        let wait = wake.saturating_duration_since(clock::now());
        let timeout = EpollTimeout::from(wait.as_micros().div_ceil(1000).min(1000) as u16);
        let mut events = [EpollEvent::empty(); 64];
        let count = wait_on(&self.epoll, &mut events, timeout)?;
        let now = clock::now();
        for event in &events[..count] {
            self.serve(now, event.data())?;
        }
        self.send_media();
        if clock::now() >= self.tick_at {
            self.tick()?;
        }
        Ok(())
    }

    fn serve(&mut self, now: Instant, token: u64) -> Result<(), RunError> {
        let (number, which) = (
            (token / Participant::SOCKETS) as usize,
            (token % Participant::SOCKETS) as usize,
        );
        let Some(participant) = self.participants.get_mut(number) else {
            return Ok(());
        };
        let outcome = match which {
            0 => participant.handle_signal(now, &self.epoll),
            media => participant.handle_media(now, media - 1, &mut self.inbox, &mut self.totals),
        };
        outcome.map_err(|error| RunError::Participant(number as u32, error))
    }

    fn send_media(&mut self) {
        let now = clock::now();
        while let Some(place) = self.agenda.take(now) {
            let participant = &mut self.participants[place];
            participant.send_media(now, &mut self.totals.ledger);
            if let Some(due) = participant.media_due() {
                self.agenda.put(place, due);
            }
        }
    }

    fn tick(&mut self) -> Result<(), RunError> {
        let now = clock::now();
        self.tick_at = now + TICK;
        self.read_pool(now)?;
        for place in 0..self.participants.len() {
            // More clients than this take longer than frames may be late.
            if place % 32 == 31 {
                self.send_media();
            }
            let participant = &mut self.participants[place];
            let number = participant.plan().number;
            participant
                .drain_downlink(now, &mut self.totals)
                .and_then(|()| participant.handle_timeout(now))
                .and_then(|()| participant.calm(&self.epoll, &self.pool))
                .map_err(|error| RunError::Participant(number, error))?;
        }
        for &place in &self.publishers {
            let due = self.participants[place].media_due();
            if let Some(due) = due.filter(|_| self.agenda.lacks(place)) {
                self.agenda.put(place, due);
            }
        }
        Ok(())
    }

    /// Reads the media of the light clients: once each, a batch of datagrams.
    fn read_pool(&mut self, now: Instant) -> Result<(), RunError> {
        let mut events = vec![EpollEvent::empty(); self.participants.len().max(1)];
        let count = wait_on(&self.pool, &mut events, EpollTimeout::ZERO)?;
        for (place, event) in events[..count].iter().enumerate() {
            self.serve(now, event.data())?;
            // More clients than this take longer than frames may be late.
            if place % 64 == 63 {
                self.send_media();
            }
        }
        Ok(())
    }

    /// The next packet number of each source.
    fn numbers(&self) -> Vec<u64> {
        let mut numbers = vec![0; 2 * self.participants.len()];
        for participant in &self.participants {
            for (stream, _) in participant.publisher().streams() {
                numbers[stream.source() as usize] = stream.next_number();
            }
        }
        numbers
    }

    fn octets_and_late(&self) -> (u64, u64) {
        let publishers = self.participants.iter().map(Participant::publisher);
        publishers.fold((0, 0), |(octets, late), publisher| {
            let sent: u64 = publisher.streams().map(|(stream, _)| stream.octets()).sum();
            (octets + sent, late + publisher.late() + publisher.unsent())
        })
    }

    /// From here on packets count.
    pub(crate) fn begin_window(&mut self) {
        self.window.starts = self.numbers();
        (self.window.octets[0], self.window.late[0]) = self.octets_and_late();
        self.totals.begin_window(self.window.starts.clone());
        self.participants.iter_mut().for_each(Participant::begin_window);
    }

    /// Up to here.
    pub(crate) fn end_window(&mut self) {
        self.window.ends = self.numbers();
        (self.window.octets[1], self.window.late[1]) = self.octets_and_late();
        self.totals.end_window(self.window.ends.clone());
        let first = self.participants.first().map(|it| &it.plan().room);
        let there = self.participants.iter().filter(|it| Some(&it.plan().room) == first);
        self.window.shown = there.flat_map(Participant::shown).collect();
    }

    /// Messages that the server has signalled to all participants.
    pub(super) fn traffic(&self) -> Traffic {
        let mut total = Traffic::default();
        self.participants
            .iter()
            .for_each(|participant| total += *participant.traffic());
        total
    }

    /// Sends everybody home.
    pub(crate) fn leave(&mut self) {
        let staying = self
            .participants
            .iter_mut()
            .filter(|participant| !participant.has_left());
        staying.for_each(Participant::leave);
    }
}

fn wait_on(epoll: &Epoll, events: &mut [EpollEvent], timeout: EpollTimeout) -> Result<usize, RunError> {
    match epoll.wait(events, timeout) {
        Ok(count) => Ok(count),
        Err(nix::errno::Errno::EINTR) => Ok(0),
        Err(error) => Err(RunError::Machine(error.into())),
    }
}
