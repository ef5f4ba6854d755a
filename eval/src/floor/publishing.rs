//! Publishers' packets without a server: the same packets, sealed and handed to the kernel as
//! clients do it.

use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Instant;

use backend_udp::srtp::{Sealer, rtp_overhead};

use super::source::{SLOT, Source, Template};
use super::{Orders, PROFILE};
use crate::clock;
use crate::net;

/// The publishers of a scenario, without their server.
pub(crate) struct Publishing {
    sources: Vec<(Source, Sealer)>,
    socket: UdpSocket,
    template: Template,
    bytes: Vec<u8>,
}

impl Publishing {
    /// Publishers at the first address that send to the second, from `start` on.
    pub(crate) fn new(orders: &Orders, (local, server): (IpAddr, SocketAddr), start: Instant) -> io::Result<Self> {
        let socket = UdpSocket::bind((local, 0))?;
        socket.connect(server)?;
        socket.set_nonblocking(true)?;
        let source = |source: &(u32, u64)| (Source::new(*source, orders, start), super::sealer(source.0 as usize));
        Ok(Self {
            sources: orders.sources.iter().map(source).collect(),
            socket,
            template: Template::default(),
            bytes: Vec::new(),
        })
    }

    /// When the next frame is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.sources.iter().map(|(source, _)| source.due()).min()
    }

    /// Sends the frames that are due.
    pub(crate) fn send_due(&mut self) -> io::Result<()> {
        let now = clock::now();
        for (source, sealer) in self.sources.iter_mut().filter(|(source, _)| source.due() <= now) {
            source.write_due(&mut self.template);
            let count = self.template.packets.len();
            self.bytes.resize((count * SLOT).max(self.bytes.len()), 0);
            for (place, (slot, packet)) in self
                .bytes
                .chunks_exact_mut(SLOT)
                .zip(&self.template.packets)
                .enumerate()
            {
                slot[..packet.len].copy_from_slice(self.template.packet(place));
                sealer.seal_rtp(slot, packet.len, packet.header_len, packet.index);
            }
            let datagram = |(slot, packet): (_, &super::source::Packet)| sealed(slot, packet.len);
            let datagrams: Vec<_> = self
                .bytes
                .chunks_exact(SLOT)
                .zip(&self.template.packets)
                .map(datagram)
                .collect();
            net::send_each(&self.socket, &datagrams)?;
        }
        Ok(())
    }
}

fn sealed(slot: &[u8], len: usize) -> [IoSlice<'_>; 1] {
    [IoSlice::new(&slot[..len + rtp_overhead(PROFILE)])]
}
