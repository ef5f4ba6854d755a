//! The receivers. They send reports if a server would get them.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use backend_udp::srtp::{Opener, Sealer};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use super::PROFILE;
use super::publishing::Publishing;
use super::source::{AUDIO, VIDEO};
use crate::clock;
use crate::media::{Carries, Inbound, Meter, Reporter, Totals};
use crate::net::{self, Inbox};
use crate::run::TICK;
use crate::transport::seal_rtcp;

/// Clients without a handshake: they receive, decrypt and count as real ones do.
pub(crate) struct Sinks {
    epoll: Epoll,
    sinks: Vec<Sink>,
    inbox: Inbox,
    totals: Totals,
    /// The address for reports, if any, and the time of the next check whether one is due.
    reports: Option<(SocketAddr, Instant)>,
}

struct Sink {
    socket: UdpSocket,
    address: SocketAddr,
    opener: Opener,
    inbound: Inbound,
    meter: Meter,
    reporter: Reporter,
    sealer: Sealer,
}

/// How long to wait for packets before looking at the clock.
const WAIT: Duration = Duration::from_millis(10);
/// Every RTP header of the floor has this length: no extensions.
const HEADER_LEN: usize = 12;

impl Sinks {
    /// Opens a sink for each receiver with its sources.
    pub(crate) fn open<'a>(local: IpAddr, hears: impl Iterator<Item = &'a [u32]>) -> io::Result<Self> {
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
                reporter: Reporter::new(index as u32, clock::now()),
                sealer: super::sealer(index),
            });
        }
        let mut totals = Totals::default();
        totals.begin_window(vec![0; sources]);
        Ok(Self {
            epoll,
            sinks,
            inbox: Inbox::default(),
            totals,
            reports: None,
        })
    }

    /// Lets them report their reception to this address from now on.
    pub(crate) fn report_to(&mut self, server: SocketAddr) {
        self.reports = Some((server, clock::now()));
    }

    /// Their addresses.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.sinks.iter().map(|sink| sink.address).collect()
    }

    /// Counts of all receivers together.
    pub(crate) fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Counts of each receiver.
    pub(crate) fn meters(&self) -> impl Iterator<Item = &Meter> {
        self.sinks.iter().map(|sink| &sink.meter)
    }

    /// Reads for at most this long, and while `wanted` returns true; publishers send due packets in
    /// the meantime.
    pub(crate) fn read_for(
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
            self.report(clock::now());
        }
        Ok(())
    }

    /// Sends the reports that are due, as often as clients look for them.
    fn report(&mut self, now: Instant) {
        let Some((server, at)) = &mut self.reports else { return };
        if now < *at {
            return;
        }
        *at = now + TICK;
        for sink in &mut self.sinks {
            let (socket, sealer) = (&sink.socket, &mut sink.sealer);
            sink.reporter.report_reception(now, &mut sink.inbound, |report| {
                if let Some(sealed) = seal_rtcp(sealer, PROFILE, report) {
                    // Nobody reads it.
                    let _ = socket.send_to(sealed, *server);
                }
            });
        }
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
        let (totals, reports) = (&mut self.totals, self.reports.is_some());
        self.inbox
            .read(socket, |datagram| match opener.open_rtp(datagram.bytes, HEADER_LEN) {
                Ok(opened) => {
                    if reports {
                        inbound.count_arrival(datagram.arrived_ns);
                    }
                    inbound.handle(now, datagram.arrived_ns, &datagram.bytes[..opened.len], meter, totals);
                }
                Err(_) => totals.damaged += 1,
            })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use wire::rtcp::RtcpPacket;

    use super::*;
    use crate::media::{AUDIO_PAYLOAD_LEN, Negotiated, Outbound, Place, write_audio};

    #[test]
    fn arrivals_are_reported_to_the_servers_address() {
        let local = IpAddr::from([127, 0, 0, 1]);
        let server = UdpSocket::bind((local, 0)).unwrap();
        server.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let mut sinks = Sinks::open(local, [[0].as_slice()].into_iter()).unwrap();
        sinks.report_to(server.local_addr().unwrap());
        let negotiated = Negotiated {
            payload_type: AUDIO,
            ..Negotiated::default()
        };
        let (mut stream, mut sealer) = (Outbound::new(0, "", negotiated), super::super::sealer(0));
        for _ in 0..10 {
            let mut packet = [0; 200];
            let place = Place {
                payload_len: AUDIO_PAYLOAD_LEN,
                ..Place::default()
            };
            let written = stream.write(&mut packet, &mut 0, place, write_audio);
            let len = sealer.seal_rtp(&mut packet, written.len, written.header_len, written.index);
            server.send_to(&packet[..len], sinks.addresses()[0]).unwrap();
        }
        sinks.read_for(Duration::from_millis(400), None, || true).unwrap();
        let mut opener = super::super::opener(0);
        let mut arrived = 0;
        while arrived < 10 {
            let mut report = [0; 1500];
            let len = server.recv(&mut report).expect("reports");
            let len = opener.open_rtcp(&mut report[..len]).unwrap();
            for packet in RtcpPacket::compound(&report[..len]).flatten() {
                if let RtcpPacket::TransportFeedback(feedback) = packet {
                    arrived += feedback.packets().filter(|(_, arrival)| arrival.is_some()).count();
                }
            }
        }
        assert_eq!(arrived, 10);
    }
}
