//! The back ends that run as devices, and their configurations.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use backend_afxdp::{AfxdpConfig, AfxdpError, AfxdpPlane, Statistics};
use backend_ebpf::{EbpfError, RelayConfig, RelayOffload};
use backend_udp::{UdpConfig, UdpPlane};
use dataplane::Clock;
use layered::RelayLayer;
use veth::Pair;

use super::running::Running;
use super::{Family, Ground, Seen, SocketDevice, clock};
use crate::coverage::Plane;
use crate::device::STARTED_AT;
use crate::device::free::once_free;

impl SocketDevice {
    /// [`UdpPlane`] with `workers` threads, on the loopback interface.
    ///
    /// Errors: the operating system's.
    pub fn start(family: Family, workers: usize, origin: Instant) -> io::Result<Self> {
        let address: IpAddr = match family {
            Family::V4 => Ipv4Addr::LOCALHOST.into(),
            Family::V6 => Ipv6Addr::LOCALHOST.into(),
            Family::Both => Ipv6Addr::UNSPECIFIED.into(),
        };
        let plane = UdpPlane::start(config(address, workers), clock_from(origin), Arc::new(|| {}))?;
        let (is, name) = (Plane::Userspace, "udp over sockets");
        Ok(Self::new(is, name, Box::new(plane), Ground::Loopback, family))
    }

    /// [`AfxdpPlane`] with `workers` threads, at the near end of a cable; and counts of packets on
    /// its rings.
    ///
    /// Errors: the back end's.
    pub fn start_on_rings(
        pair: Arc<Pair>,
        family: Family,
        workers: usize,
        origin: Instant,
    ) -> Result<(Self, Statistics), AfxdpError> {
        let address: IpAddr = match family {
            Family::V4 => Ipv4Addr::UNSPECIFIED.into(),
            Family::V6 => pair.near.v6.into(),
            Family::Both => Ipv6Addr::UNSPECIFIED.into(),
        };
        let config = AfxdpConfig {
            udp: config(address, workers),
            interfaces: vec![pair.near.interface.to_owned()],
        };
        let clock = clock_from(origin);
        let start = || AfxdpPlane::start(config.clone(), clock, Arc::new(|| {}));
        let is_taken = |error: &AfxdpError| matches!(error, AfxdpError::Taken(_));
        let plane = pair.near.run(|| once_free(is_taken, start))?;
        let statistics = plane.statistics();
        let device = Self::new(Plane::Rings, "afxdp", Box::new(plane), Ground::Cable(pair), family);
        Ok((device, statistics))
    }

    /// [`UdpPlane`] with `workers` threads behind relays in the kernel, at the near end of a cable;
    /// and the program's counts.
    ///
    /// Panics if it fails: a process that may make a cable may make this too.
    pub fn start_behind_kernel(
        pair: Arc<Pair>,
        family: Family,
        workers: usize,
        origin: Instant,
    ) -> (Self, backend_ebpf::Statistics) {
        let address = match family {
            Family::V4 => IpAddr::from(pair.near.v4),
            Family::V6 => pair.near.v6.into(),
            Family::Both => Ipv6Addr::UNSPECIFIED.into(),
        };
        let offload = RelayConfig {
            interfaces: vec![pair.near.interface.to_owned()],
            ..RelayConfig::default()
        };
        let plane = pair.near.run(|| {
            let base = UdpPlane::start(config(address, workers), clock_from(origin), Arc::new(|| {}));
            let is_taken = |error: &EbpfError| matches!(error, EbpfError::Taken(_));
            let offload = once_free(is_taken, || RelayOffload::start(&offload, clock()));
            RelayLayer::new(
                base.expect("there are ports"),
                vec![offload.expect("the program can be had here")],
            )
        });
        let statistics = plane.offloads()[0].statistics();
        let (is, name) = (Plane::Kernel, "udp behind the kernel");
        let device = Self::new(is, name, Box::new(plane), Ground::Cable(pair), family);
        (device, statistics)
    }

    fn new(is: Plane, name: &'static str, plane: Box<dyn Running>, ground: Ground, family: Family) -> Self {
        SocketDevice {
            is,
            name,
            plane,
            ground,
            family,
            peers: BTreeMap::new(),
            relays: BTreeMap::new(),
            services: BTreeMap::new(),
            due_tos: None,
            sent: Vec::new(),
            events: VecDeque::new(),
            seen: Seen::default(),
            injected: 0,
            was_late: false,
        }
    }
}

fn config(address: IpAddr, workers: usize) -> UdpConfig {
    UdpConfig {
        addresses: vec![SocketAddr::new(address, 0)],
        workers,
        receive_buffer: 1 << 20,
        send_buffer: 1 << 20,
        ..UdpConfig::default()
    }
}

fn clock_from(origin: Instant) -> Clock {
    Clock {
        origin,
        ntp: STARTED_AT,
    }
}
