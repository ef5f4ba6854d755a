use std::io;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use backend_udp::srtp::Opener;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

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
    port: u16,
    opener: Opener,
    inbound: Inbound,
    meter: Meter,
}

/// The payload types of the floor's packets.
pub const VIDEO: u8 = 96;
pub const AUDIO: u8 = 111;
/// Every RTP header of the floor has this length: no extensions.
const HEADER_LEN: usize = 12;

impl Sinks {
    /// Opens a sink for each receiver, given what it hears.
    pub fn open<'a>(hears: impl Iterator<Item = &'a [u32]>) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let mut sinks = Vec::new();
        let mut sources = 0;
        for (index, hears) in hears.enumerate() {
            let socket = net::open([127, 0, 0, 1].into())?;
            epoll.add(&socket, EpollEvent::new(EpollFlags::EPOLLIN, index as u64))?;
            let mut meter = Meter::default();
            hears.iter().for_each(|&source| meter.allow(source));
            sources = sources.max(hears.iter().map(|&source| source as usize + 1).max().unwrap_or(0));
            let mut inbound = Inbound::default();
            inbound.agree(VIDEO, Carries::Video, false);
            inbound.agree(AUDIO, Carries::Audio, false);
            let port = socket.local_addr()?.port();
            sinks.push(Sink {
                socket,
                port,
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

    /// Their ports.
    pub fn ports(&self) -> Vec<u16> {
        self.sinks.iter().map(|sink| sink.port).collect()
    }

    /// What all have received.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// What each has received.
    pub fn meters(&self) -> impl Iterator<Item = &Meter> {
        self.sinks.iter().map(|sink| &sink.meter)
    }

    /// Reads for at most this long, and while `wanted` says so.
    pub fn read_for(&mut self, time: Duration, mut wanted: impl FnMut() -> bool) -> io::Result<()> {
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
            let count = match self.epoll.wait(&mut events, EpollTimeout::from(10u8)) {
                Ok(count) => count,
                Err(nix::errno::Errno::EINTR) => 0,
                Err(error) => return Err(error.into()),
            };
            let now = clock::now();
            for event in &events[..count] {
                self.read(now, event.data() as usize)?;
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
