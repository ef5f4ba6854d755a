//! Relays in the kernel before the model: the program runs on frames that are never sent, and
//! packets that it passes go to the base data plane.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Instant;

use backend_ebpf::{EbpfError, RelayConfig, RelayOffload, Statistics, Tried};
use dataplane::{Capabilities, Counter, Counters, DataPlane, Event, Inject, Path, Update, WriteError};
use layered::{Entry, RelayLayer};
use veth::frame::Frame;
use veth::{Pair, Side};

use super::free::once_free;
use super::relay_paths::{LastPackets, RelayPaths};
use super::{Datagram, Device, Family, ModelDevice};
use crate::coverage::Plane;

/// The longest frame the kernel runs a program on, less its headers; longer ones would be in
/// fragments anyway.
const PAYLOAD_MAX: usize = 3_000;

/// The network of relays and parties in IPv6.
const NETWORK: [u16; 6] = [0xfd78, 0, 0, 0, 0, 0];

/// The octet of services of packets that arrive.
const ARRIVING_TOS: u8 = 0x2d;

/// [`RelayOffload`] in front of the model. Lives on a thread inside of the namespace it was made
/// for.
pub struct KernelDevice {
    plane: RelayLayer<Base, RelayOffload>,
    interface: u32,
    paths: RelayPaths,
    sent: Vec<Datagram>,
    passed: LastPackets,
    /// The octet of services that each relay sends RTP with.
    tos: BTreeMap<SocketAddr, u8>,
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
            paths: RelayPaths::new(family, [NETWORK; 2]),
            sent: Vec::new(),
            passed: LastPackets::default(),
            tos: BTreeMap::new(),
        }
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

    /// The kernel's verdict on a datagram; `None` if it passes to the base data plane.
    fn run(&mut self, path: Path, bytes: &[u8]) -> Option<Vec<Datagram>> {
        if bytes.len() > PAYLOAD_MAX || path.local.is_ipv4() != path.remote.is_ipv4() {
            return None;
        }
        let mut frame = Frame::new(path.remote, path.local, bytes);
        frame.tos = ARRIVING_TOS;
        let frame = frame.bytes();
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
                assert_eq!(Some(&sent.tos), self.tos.get(&path.local), "the services of its relay");
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
        format!(
            "relays in the kernel, over IPv{}",
            if self.paths.is_v6() { 6 } else { 4 }
        )
    }

    fn plane(&self) -> Plane {
        Plane::Kernel
    }

    fn write(&mut self, now: Instant, mut update: Update) -> Result<(), WriteError> {
        self.paths.translate(&mut update);
        if let Update::SetRelay(at, relay) = &update {
            let known = Entry::Relay(*at);
            if self.plane.places().entries().iter().all(|(entry, _)| *entry != known) {
                self.passed.forget(*at);
            }
            let tos = relay.rtp.as_ref().and_then(|hop| hop.tos);
            self.tos.insert(*at, tos.unwrap_or(0));
        }
        let written = self.plane.write(now, update);
        self.collect_from_base();
        written
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        match what {
            Inject::ReportRelay { at } => {
                let at = self.paths.relay(at);
                self.plane.inject(now, Inject::ReportRelay { at });
            }
            Inject::Receive { at, path, bytes } => {
                let path = self.paths.path(path);
                let before = self.relayed();
                self.plane.inject(now, Inject::Receive { at, path, bytes });
                if self.relayed() > before {
                    self.passed.passed(path.local, now, bytes);
                }
            }
            Inject::Datagram { path, bytes } => {
                let path = self.paths.path(path);
                self.plane.inject(now, Inject::Datagram { path, bytes });
            }
            _ => self.plane.inject(now, what),
        }
        self.collect_from_base();
    }

    fn packet(&mut self, now: Instant, path: Path, bytes: &[u8]) {
        let path = self.paths.path(path);
        let before = self.relayed();
        match self.run(path, bytes) {
            Some(sent) => self.sent.extend(sent),
            None => {
                self.plane.base_mut().0.packet(now, path, bytes);
                self.collect_from_base();
            }
        }
        if self.relayed() > before {
            self.passed.passed(path.local, now, bytes);
        }
    }

    fn sent(&mut self) -> Vec<Datagram> {
        let sent = std::mem::take(&mut self.sent).into_iter();
        sent.map(|datagram| Datagram {
            path: self.paths.path_back(datagram.path),
            bytes: datagram.bytes,
        })
        .collect()
    }

    fn poll(&mut self) -> Option<Event> {
        let mut event = self.plane.poll()?;
        self.passed.translate(&self.paths, &mut event);
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
