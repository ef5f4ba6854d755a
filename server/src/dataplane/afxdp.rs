//! AF_XDP rings.

use backend_afxdp::{AfxdpConfig, AfxdpError, AfxdpPlane};
use backend_udp::UdpConfig;
use dataplane::Clock;
use serde::Deserialize;
use tracing::info;

use super::Wake;

/// Settings of AF_XDP.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    /// The interfaces on which RTP is taken.
    pub interfaces: Vec<String>,
}

/// Starts rings on the interfaces, and sockets beside them.
///
/// Errors: why there can be none.
pub(super) fn start(settings: &Settings, udp: UdpConfig, clock: Clock, wake: Wake) -> Result<AfxdpPlane, AfxdpError> {
    let interfaces = settings.interfaces.clone();
    let plane = AfxdpPlane::start(AfxdpConfig { udp, interfaces }, clock, wake)?;
    for found in plane.found() {
        info!(interface = %found, "AF_XDP");
    }
    Ok(plane)
}
