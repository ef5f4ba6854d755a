//! Data planes with threads.

use std::net::SocketAddr;

use backend_afxdp::AfxdpPlane;
use backend_ebpf::RelayOffload;
use backend_udp::UdpPlane;
use dataplane::DataPlane;
use layered::RelayLayer;

/// A data plane with threads.
pub(super) trait Running: DataPlane + Send {
    fn local_addr(&self) -> SocketAddr;
    fn is_applied(&self) -> bool;
}

impl Running for UdpPlane {
    fn local_addr(&self) -> SocketAddr {
        self.local_addr()
    }

    fn is_applied(&self) -> bool {
        self.is_applied()
    }
}

impl Running for AfxdpPlane {
    fn local_addr(&self) -> SocketAddr {
        self.local_addr()
    }

    fn is_applied(&self) -> bool {
        self.is_applied()
    }
}

impl Running for RelayLayer<UdpPlane, RelayOffload> {
    fn local_addr(&self) -> SocketAddr {
        self.base().local_addr()
    }

    fn is_applied(&self) -> bool {
        self.base().is_applied()
    }
}
