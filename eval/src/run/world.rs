//! The clients, and the loop that serves them.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollTimeout};

use super::{RunError, Settings};
use crate::clock;
use crate::media::Totals;
use crate::net::{self, Inbox};
use crate::peer::{Identity, Joining, Participant, Plan};

/// Participants that may be connecting at the same time.
const CONNECTING_MAX: usize = 8;
/// The next one joins after this, even if so many still connect.
const JOIN_PATIENCE: Duration = Duration::from_millis(250);
/// When joining counts as failed.
const JOIN_TIMEOUT: Duration = Duration::from_secs(60);
/// How often timers are looked at.
const TICK: Duration = Duration::from_millis(10);

/// The clients and what they wait on.
pub struct World {
    epoll: Epoll,
    identity: Arc<Identity>,
    local_ip: IpAddr,
    pub(super) participants: Vec<Participant>,
    inbox: Inbox,
    pub(super) totals: Totals,
    tick_at: Instant,
    pub(super) window: Window,
}

/// The numbers of each source's packets at both ends of the window.
#[derive(Default)]
pub struct Window {
    pub(super) starts: Vec<u64>,
    pub(super) ends: Vec<u64>,
    pub(super) octets: [u64; 2],
    pub(super) late: [u64; 2],
}

/// How long joining took: for everybody, and for the participant in the middle.
pub struct Joined {
    pub all: Duration,
    pub median: Duration,
}

impl World {
    /// An empty world.
    pub fn new(settings: &Settings) -> Result<Self, RunError> {
        Ok(Self {
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(|error| RunError::Machine(error.into()))?,
            identity: Arc::new(Identity::new().map_err(RunError::Identity)?),
            local_ip: net::local_ip_towards(settings.server.address()).map_err(RunError::Machine)?,
            participants: Vec::new(),
            inbox: Inbox::default(),
            totals: Totals::default(),
            tick_at: clock::now(),
            window: Window::default(),
        })
    }

    /// Joins everybody, a few at a time, and waits until everybody hears whom they should.
    pub fn join_all(&mut self, settings: &Settings) -> Result<Joined, RunError> {
        let began = clock::now();
        // Rooms of an earlier run may still be closing.
        let run = format!("{:x}", clock::wall_ns() & 0xffff_ffff_ffff);
        let plans = settings.scenario.plans(&run, &settings.behaviour);
        for plan in plans {
            let waited = clock::now();
            while self.connecting() >= CONNECTING_MAX && waited.elapsed() < JOIN_PATIENCE {
                self.turn(clock::now() + TICK)?;
            }
            self.join(plan, settings)?;
            self.turn(clock::now())?;
        }
        while self
            .participants
            .iter()
            .any(|participant| participant.ready_after().is_none())
        {
            if began.elapsed() > JOIN_TIMEOUT {
                return Err(RunError::NotReady(self.describe_unready()));
            }
            self.turn(clock::now() + TICK)?;
        }
        let mut times: Vec<Duration> = self.participants.iter().filter_map(Participant::ready_after).collect();
        times.sort_unstable();
        Ok(Joined {
            all: began.elapsed(),
            median: times[times.len() / 2],
        })
    }

    fn join(&mut self, plan: Plan, settings: &Settings) -> Result<(), RunError> {
        let number = plan.number;
        let joining = Joining {
            server: &settings.server,
            identity: &self.identity,
            local_ip: self.local_ip,
            epoll: &self.epoll,
        };
        let now = clock::now();
        let lost = |error| RunError::Participant(number, error);
        let mut participant = Participant::join(plan, &joining, now).map_err(lost)?;
        // The server's first message may have come with its acceptance; no event announces it then.
        participant.handle_signal(now, &self.epoll).map_err(lost)?;
        self.participants.push(participant);
        Ok(())
    }

    fn connecting(&self) -> usize {
        let connecting = |it: &&Participant| !it.is_publishing() || it.transports().all(|t| t.profile().is_none());
        self.participants.iter().filter(connecting).count()
    }

    fn describe_unready(&self) -> String {
        let unready: Vec<&Participant> = self
            .participants
            .iter()
            .filter(|it| it.ready_after().is_none())
            .collect();
        let connected = |it: &&&Participant| it.transports().any(|transport| transport.profile().is_some());
        let unheard: usize = unready
            .iter()
            .map(|it| it.meter().sources().filter(|(_, tally)| tally.is_empty()).count())
            .sum();
        format!(
            "{} of {} participants not ready: {} have no media transport, {} are not publishing, {unheard} sources are not heard",
            unready.len(),
            self.participants.len(),
            unready.len() - unready.iter().filter(connected).count(),
            unready.iter().filter(|it| !it.is_publishing()).count(),
        )
    }

    /// Serves the clients until `deadline`.
    pub fn turn_until(&mut self, deadline: Instant) -> Result<(), RunError> {
        while clock::now() < deadline {
            self.turn(deadline)?;
        }
        Ok(())
    }

    /// Waits for sockets or the next deadline, no longer than until `deadline`, and serves what there is.
    fn turn(&mut self, deadline: Instant) -> Result<(), RunError> {
        let due = self.participants.iter().filter_map(Participant::media_due).min();
        let wake = due
            .into_iter()
            .chain([self.tick_at, deadline])
            .min()
            .unwrap_or(deadline);
        let wait = wake.saturating_duration_since(clock::now());
        let timeout = EpollTimeout::from(wait.as_micros().div_ceil(1000).min(1000) as u16);
        let mut events = [EpollEvent::empty(); 64];
        let count = match self.epoll.wait(&mut events, timeout) {
            Ok(count) => count,
            Err(nix::errno::Errno::EINTR) => 0,
            Err(error) => return Err(RunError::Machine(error.into())),
        };
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
        for participant in &mut self.participants {
            if participant.media_due().is_some_and(|due| due <= now) {
                participant.send_media(now);
            }
        }
    }

    fn tick(&mut self) -> Result<(), RunError> {
        let now = clock::now();
        self.tick_at = now + TICK;
        for participant in &mut self.participants {
            let number = participant.plan().number;
            participant
                .handle_timeout(now)
                .map_err(|error| RunError::Participant(number, error))?;
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
    pub fn begin_window(&mut self) {
        self.window.starts = self.numbers();
        (self.window.octets[0], self.window.late[0]) = self.octets_and_late();
        self.totals.begin_window(self.window.starts.clone());
        self.participants
            .iter_mut()
            .for_each(|participant| participant.meter_mut().begin_window());
    }

    /// Up to here.
    pub fn end_window(&mut self) {
        self.window.ends = self.numbers();
        (self.window.octets[1], self.window.late[1]) = self.octets_and_late();
        self.totals.end_window(self.window.ends.clone());
    }

    /// Sends everybody home.
    pub fn leave(&mut self) {
        self.participants.iter_mut().for_each(Participant::leave);
    }
}
