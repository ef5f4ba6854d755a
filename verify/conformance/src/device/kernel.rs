//! Relays in the kernel before the model: the program runs on frames that are never sent, and
//! packets that it passes go to the base data plane.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Instant;

use backend_ebpf::{EbpfError, RelayConfig, RelayOffload, Statistics, Tried};
use dataplane::{Accept, Capabilities, Counter, Counters, DataPlane, Event, Inject, Path, Relay, Update, WriteError};
use layered::{Entry, RelayLayer};
use veth::frame::Frame;
use veth::{Pair, Side};
use wire::{PacketKind, RtpPacket, Ssrc};

use super::free::once_free;
use super::{Datagram, Device, Family, ModelDevice};
use crate::step::relay_of;

/// The longest frame the kernel runs a program on, less its headers; longer ones would be in
/// fragments anyway.
const PAYLOAD_MAX: usize = 3_000;

/// [`RelayOffload`] in front of the model. Lives on a thread inside of the namespace it was made
/// for.
pub struct KernelDevice {
    plane: RelayLayer<Base, RelayOffload>,
    interface: u32,
    /// Relays and their parties have IPv6 addresses here, unknown to the harness.
    is_v6: bool,
    sent: Vec<Datagram>,
    passed: BTreeMap<SocketAddr, LastPacket>,
}

/// The last packet that a relay passed on. The kernel's times are not the harness's, so that they
/// do not tell whether a packet in the kernel or one behind it was later.
struct LastPacket {
    at: Instant,
    /// Of the last RTP packet.
    ssrc: Option<Ssrc>,
}

/// The model as a data plane.
struct Base(ModelDevice);

impl KernelDevice {
    /// On the near end of a cable, inside of its namespace. All parties are at the far end.
    ///
    /// Panics if it fails: a process that may make a cable may make this too.
    pub fn new(pair: &Pair, family: Family, origin: Instant) -> Self {
        let config = RelayConfig {
            interfaces: vec![pair.near.interface.to_owned()],
            relays_max: 256,
            ..RelayConfig::default()
        };
        let is_taken = |error: &EbpfError| matches!(error, EbpfError::Taken(_));
        let offload = once_free(is_taken, || RelayOffload::start(&config, now()));
        let offload = offload.expect("the program can be had here");
        KernelDevice {
            plane: RelayLayer::new(Base(ModelDevice::new(origin)), vec![offload]),
            interface: nix::net::if_::if_nametoindex(pair.near.interface).expect("it is there"),
            is_v6: family == Family::V6,
            sent: Vec::new(),
            passed: BTreeMap::new(),
        }
    }

    fn has_passed(&mut self, relay: SocketAddr, at: Instant, bytes: &[u8]) {
        let ssrc = match wire::classify(bytes) {
            PacketKind::Rtp => RtpPacket::parse_protected(bytes).ok().map(|packet| packet.ssrc()),
            _ => self.passed.get(&relay).and_then(|passed| passed.ssrc),
        };
        self.passed.insert(relay, LastPacket { at, ssrc });
    }

    /// Counters of the program, to be read when the device is gone.
    pub fn statistics(&self) -> Statistics {
        self.plane.offloads()[0].statistics()
    }

    /// Routes every address to the far end of a cable.
    pub fn prepare(side: &Side) {
        for (family, gateway) in [("-4", "10.77.0.2"), ("-6", "fd77::2")] {
            let neighbour =
                format!("{family} neighbour replace {gateway} lladdr 02:00:00:00:00:09 dev near0 nud permanent");
            side.ip(&neighbour).expect("it is ours");
            side.ip(&format!("{family} route replace default via {gateway}"))
                .expect("it is ours");
        }
    }

    fn real(&self, address: SocketAddr) -> SocketAddr {
        match address.ip() {
            IpAddr::V4(ip) if self.is_v6 => {
                let [a, b, c, d] = ip.octets();
                let ip = Ipv6Addr::new(
                    0xfd78,
                    0,
                    0,
                    0,
                    0,
                    0,
                    u16::from_be_bytes([a, b]),
                    u16::from_be_bytes([c, d]),
                );
                SocketAddr::new(ip.into(), address.port())
            }
            _ => address,
        }
    }

    fn virtual_address(&self, address: SocketAddr) -> SocketAddr {
        match address.ip() {
            IpAddr::V6(ip) if ip.segments()[0] == 0xfd78 => {
                let [.., a, b, c, d] = ip.octets();
                SocketAddr::new(Ipv4Addr::new(a, b, c, d).into(), address.port())
            }
            _ => address,
        }
    }

    /// The path of a relay; that of a leg stays unchanged.
    fn real_path(&self, path: Path) -> Path {
        match relay_of(path.local) {
            Some(_) => Path {
                local: self.real(path.local),
                remote: self.real(path.remote),
            },
            None => path,
        }
    }

    fn virtual_path(&self, path: Path) -> Path {
        Path {
            local: self.virtual_address(path.local),
            remote: self.virtual_address(path.remote),
        }
    }

    fn real_relay(&self, relay: &mut Relay) {
        match &mut relay.accept {
            Accept::Nobody | Accept::Learn { within: None, .. } => {}
            Accept::Only(address) => *address = self.real(*address),
            Accept::Learn { within: Some(ip), .. } => *ip = self.real(SocketAddr::new(*ip, 0)).ip(),
        }
        for hop in [&mut relay.rtp, &mut relay.rtcp].into_iter().flatten() {
            hop.path = Path {
                local: self.real(hop.path.local),
                remote: self.real(hop.path.remote),
            };
        }
    }

    /// The kernel's verdict on a datagram; `None` if it passes to the base data plane.
    fn run(&mut self, path: Path, bytes: &[u8]) -> Option<Vec<Datagram>> {
        if bytes.len() > PAYLOAD_MAX || path.local.is_ipv4() != path.remote.is_ipv4() {
            return None;
        }
        let frame = Frame::new(path.remote, path.local, bytes).bytes();
        let interface = self.interface;
        let (tried, out) = self.plane.offloads_mut()[0]
            .try_frame(interface, &frame)
            .expect("the kernel runs it");
        match tried {
            Tried::Dropped => Some(Vec::new()),
            Tried::Passed => {
                assert_eq!(out, frame, "a frame that passes is unchanged");
                None
            }
            Tried::Sent | Tried::Redirected => {
                let sent = Frame::read(&out).expect("it is a frame still");
                assert_eq!(sent.bytes(), out, "every checksum and length is right");
                let path = Path {
                    local: sent.source,
                    remote: sent.destination,
                };
                Some(vec![Datagram {
                    path,
                    bytes: sent.payload,
                }])
            }
        }
    }

    fn collect_from_base(&mut self) {
        let sent = self.plane.base_mut().0.sent();
        self.sent.extend(sent);
    }

    fn relayed(&mut self) -> u64 {
        self.plane.counters()[Counter::Relayed]
    }
}

impl Device for KernelDevice {
    fn name(&self) -> String {
        format!("relays in the kernel, over IPv{}", if self.is_v6 { 6 } else { 4 })
    }

    fn write(&mut self, now: Instant, mut update: Update) -> Result<(), WriteError> {
        match &mut update {
            Update::SetRelay(at, relay) => {
                *at = self.real(*at);
                self.real_relay(relay);
                let known = Entry::Relay(*at);
                if self.plane.places().entries().iter().all(|(entry, _)| *entry != known) {
                    self.passed.remove(at);
                }
            }
            Update::RemoveRelay(at) => *at = self.real(*at),
            _ => {}
        }
        let written = self.plane.write(now, update);
        self.collect_from_base();
        written
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        match what {
            Inject::ReportRelay { at } => {
                let at = self.real(at);
                self.plane.inject(now, Inject::ReportRelay { at });
            }
            Inject::Receive { at, path, bytes } => {
                let path = self.real_path(path);
                let before = self.relayed();
                self.plane.inject(now, Inject::Receive { at, path, bytes });
                if self.relayed() > before {
                    self.has_passed(path.local, now, bytes);
                }
            }
            Inject::Datagram { path, bytes } => {
                let path = self.real_path(path);
                self.plane.inject(now, Inject::Datagram { path, bytes });
            }
            _ => self.plane.inject(now, what),
        }
        self.collect_from_base();
    }

    fn packet(&mut self, now: Instant, path: Path, bytes: &[u8]) {
        let path = self.real_path(path);
        let before = self.relayed();
        match self.run(path, bytes) {
            Some(sent) => self.sent.extend(sent),
            None => {
                self.plane.base_mut().0.packet(now, path, bytes);
                self.collect_from_base();
            }
        }
        if self.relayed() > before {
            self.has_passed(path.local, now, bytes);
        }
    }

    fn sent(&mut self) -> Vec<Datagram> {
        let sent = std::mem::take(&mut self.sent).into_iter();
        sent.map(|datagram| Datagram {
            path: self.virtual_path(datagram.path),
            bytes: datagram.bytes,
        })
        .collect()
    }

    fn poll(&mut self) -> Option<Event> {
        let mut event = self.plane.poll()?;
        match &mut event {
            Event::Punt { path, .. } => *path = self.virtual_path(*path),
            Event::RelaySource { at, from } => (*at, *from) = (self.virtual_address(*at), self.virtual_address(*from)),
            Event::RelayTraffic { at, last, traffic } => {
                let passed = self.passed.get(at);
                *last = last.and(passed.map(|passed| passed.at));
                traffic.ssrc = traffic.ssrc.and(passed.and_then(|passed| passed.ssrc));
                *at = self.virtual_address(*at);
            }
            _ => {}
        }
        Some(event)
    }

    fn counters(&mut self) -> Counters {
        self.plane.counters()
    }

    fn egress_protection(&self) -> bool {
        false
    }
}

impl DataPlane for Base {
    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
    }

    fn write(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        self.0.write(now, update)
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        self.0.inject(now, what);
    }

    fn poll(&mut self) -> Option<Event> {
        self.0.poll()
    }

    fn counters(&mut self) -> Counters {
        self.0.counters()
    }
}

#[allow(clippy::disallowed_methods, reason = "the kernel lives in real time")]
fn now() -> Instant {
    Instant::now()
}
