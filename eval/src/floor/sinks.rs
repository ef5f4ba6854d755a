use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use backend_udp::srtp::Opener;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use super::publishing::Publishing;
use crate::clock;
use crate::media::{Carries, Inbound, Meter, Totals};
use crate::net::{self, Inbox};

/// Clients without a handshake: they receive, decrypt and count as real ones do.
pub struct Sinks {
    epoll: Epoll,
    sinks: Vec<Sink>,
    inbox: Inbox,
    totals: Totals,
}

struct Sink {
    socket: UdpSocket,
    address: SocketAddr,
    opener: Opener,
    inbound: Inbound,
    meter: Meter,
}

/// The payload types of the floor's packets.
pub const VIDEO: u8 = 96;
pub const AUDIO: u8 = 111;
/// How long to wait for packets before looking at the clock.
const WAIT: Duration = Duration::from_millis(10);
/// Every RTP header of the floor has this length: no extensions.
const HEADER_LEN: usize = 12;

impl Sinks {
    /// Opens a sink for each receiver, given what it hears.
    pub fn open<'a>(local: IpAddr, hears: impl Iterator<Item = &'a [u32]>) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let mut sinks = Vec::new();
        let mut sources = 0;
        for (index, hears) in hears.enumerate() {
            let socket = net::open(local)?;
            epoll.add(&socket, EpollEvent::new(EpollFlags::EPOLLIN, index as u64))?;
            let mut meter = Meter::default();
            hears.iter().for_each(|&source| meter.allow(source));
            sources = sources.max(hears.iter().map(|&source| source as usize + 1).max().unwrap_or(0));
            let mut inbound = Inbound::default();
            inbound.agree(VIDEO, Carries::Video, false);
            inbound.agree(AUDIO, Carries::Audio, false);
            let address = socket.local_addr()?;
            sinks.push(Sink {
                socket,
                address,
                opener: super::opener(index),
                inbound,
                meter,
            });
        }
        let mut totals = Totals::default();
        totals.begin_window(vec![0; sources]);
        Ok(Self {
            epoll,
            sinks,
            inbox: Inbox::default(),
            totals,
        })
    }

    /// Their addresses.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.sinks.iter().map(|sink| sink.address).collect()
    }

    /// What all have received.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// What each has received.
    pub fn meters(&self) -> impl Iterator<Item = &Meter> {
        self.sinks.iter().map(|sink| &sink.meter)
    }

    /// Reads for at most this long, and while `wanted` says so; meanwhile publishers send what is due.
    pub fn read_for(
        &mut self,
        time: Duration,
        mut publishing: Option<&mut Publishing>,
        mut wanted: impl FnMut() -> bool,
    ) -> io::Result<()> {
        let end = clock::now() + time;
        let mut asked = clock::now();
        let mut events = [EpollEvent::empty(); 64];
        while clock::now() < end {
            if asked.elapsed() > Duration::from_millis(100) {
                asked = clock::now();
                if !wanted() {
                    break;
                }
            }
            let due = publishing.as_ref().and_then(|publishing| publishing.due());
            let wait = due.map_or(WAIT, |due| due.saturating_duration_since(clock::now()).min(WAIT));
            let timeout = EpollTimeout::from(wait.as_micros().div_ceil(1000) as u16);
            let count = match self.epoll.wait(&mut events, timeout) {
                Ok(count) => count,
                Err(nix::errno::Errno::EINTR) => 0,
                Err(error) => return Err(error.into()),
            };
            let now = clock::now();
            for event in &events[..count] {
                self.read(now, event.data() as usize)?;
            }
            if let Some(publishing) = &mut publishing {
                publishing.send_due()?;
            }
        }
        Ok(())
    }

    fn read(&mut self, now: Instant, index: usize) -> io::Result<()> {
        let Some(Sink {
            socket,
            opener,
            inbound,
            meter,
            ..
        }) = self.sinks.get_mut(index)
        else {
            return Ok(());
        };
        let totals = &mut self.totals;
        self.inbox
            .read(socket, |datagram| match opener.open_rtp(datagram.bytes, HEADER_LEN) {
                Ok(opened) => inbound.handle(now, datagram.arrived_ns, &datagram.bytes[..opened.len], meter, totals),
                Err(_) => totals.damaged += 1,
            })?;
        Ok(())
    }
}
