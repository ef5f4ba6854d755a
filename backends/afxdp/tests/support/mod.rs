//! A small call over a cable: one camera, and those who watch it.
#![allow(dead_code, reason = "every user has its own part")]
#![allow(clippy::disallowed_methods, reason = "tests start the clock")]

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Instant;

use backend_afxdp::{AfxdpConfig, AfxdpError, AfxdpPlane};
use backend_udp::UdpConfig;
use costs::call;
pub(crate) use costs::call::{clock, packet};
use dataplane::{DataPlane, Protection, Update};
use veth::Pair;

/// Sockets at the near end.
pub(crate) fn udp(pair: &Pair, workers: usize) -> UdpConfig {
    UdpConfig {
        addresses: [IpAddr::from(pair.near.v4), pair.near.v6.into()]
            .map(|address| SocketAddr::new(address, 0))
            .to_vec(),
        workers,
        ..UdpConfig::default()
    }
}

/// Rings and sockets at the near end.
pub(crate) fn rings(pair: &Pair, workers: usize) -> Result<AfxdpPlane, AfxdpError> {
    rings_beside(pair, udp(pair, workers))
}

/// Rings at the near end, beside these sockets.
pub(crate) fn rings_beside(pair: &Pair, udp: UdpConfig) -> Result<AfxdpPlane, AfxdpError> {
    let config = AfxdpConfig {
        udp,
        interfaces: vec![pair.near.interface.to_owned()],
    };
    pair.near.run(|| AfxdpPlane::start(config, clock(), Arc::new(|| {})))
}

/// A socket at the far end.
pub(crate) fn far_socket(pair: &Pair, address: IpAddr) -> UdpSocket {
    pair.far
        .run(|| UdpSocket::bind((address, 0)).expect("the far end has ports"))
}

/// The camera's leg and its stream.
pub(crate) fn publish(plane: &mut dyn DataPlane, near: SocketAddr, camera: SocketAddr) {
    for update in call::publish(near, camera, Protection::Clear) {
        write(plane, update);
    }
}

/// Leg and replica of receiver `number`, from 1 on.
pub(crate) fn watch(
    plane: &mut dyn DataPlane,
    number: u32,
    near: SocketAddr,
    receiver: SocketAddr,
    protection: Protection,
) {
    for update in call::watch(number, near, receiver, protection) {
        write(plane, update);
    }
}

fn write(plane: &mut dyn DataPlane, update: Update) {
    plane.write(Instant::now(), update).expect("there is room");
}
