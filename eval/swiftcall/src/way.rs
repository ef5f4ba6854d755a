//! The ways in which one packet becomes many.

use std::any::Any;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use backend_ebpf::{Fanout, FanoutConfig, RoomsPath};
use backend_udp::{UdpConfig, UdpPlane};
use dataplane::{Clock, DataPlane, ReplicaOffload};
use harness::clock;
use wire::NtpTime;

use crate::bare;
use crate::scene::{Media, Scene};

/// A way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// The clones alone: nobody could tell whose they are.
    Clones,
    /// Clones, each with its receiver's port.
    BareTc,
    /// Weir's room in the kernel.
    Tc,
    /// The same, where each copy is stamped,
    TcStamped,
    /// and where a layer is decided for each as well.
    TcLayered,
    /// Weir's room in the kernel, with packets also passed to the base data plane, which reports
    /// them.
    TcUp,
    /// A broadcast in the driver, each copy with its receiver's port.
    BareXdp,
    /// Weir's room in the driver.
    Xdp,
    /// The same, where each copy is stamped.
    XdpStamped,
    /// Weir's sockets.
    Userspace,
}

impl Way {
    /// All of them.
    pub(crate) const ALL: [Way; 10] = [
        Way::Clones,
        Way::BareTc,
        Way::Tc,
        Way::TcStamped,
        Way::TcLayered,
        Way::TcUp,
        Way::BareXdp,
        Way::Xdp,
        Way::XdpStamped,
        Way::Userspace,
    ];

    /// In tables and drawings.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Way::Clones => "clones alone",
            Way::BareTc => "bare TC",
            Way::Tc => "Weir TC",
            Way::TcStamped => "Weir TC, stamped",
            Way::TcLayered => "Weir TC, layered",
            Way::TcUp => "Weir TC, up",
            Way::BareXdp => "bare XDP",
            Way::Xdp => "Weir XDP",
            Way::XdpStamped => "Weir XDP, stamped",
            Way::Userspace => "Weir UDP",
        }
    }

    /// The media that is sent.
    pub(crate) fn media(self) -> Media {
        match self {
            Way::TcStamped | Way::XdpStamped => Media::Stamped,
            Way::TcLayered => Media::Layered,
            _ => Media::Plain,
        }
    }

    /// Sets it up for `receivers` receivers. It ends when the returned value is dropped.
    pub(crate) fn start(self, scene: &mut Scene, receivers: u32) -> Result<Box<dyn Any>, Box<dyn Error + Send + Sync>> {
        scene.media = self.media();
        let near = &scene.pair.near;
        // Packets sent by XDP arrive only at an interface with polling.
        let polls = match self {
            Way::BareXdp | Way::Xdp | Way::XdpStamped => "on",
            _ => "off",
        };
        scene
            .pair
            .far
            .command("ethtool", &format!("-K far0 gro {polls}"))
            .map_err(|error| error.to_string())?;
        Ok(match self {
            Way::Clones => Box::new(bare::classifier(near, "bare_clones", receivers)?),
            Way::BareTc => Box::new(bare::classifier(near, "bare_tc", receivers)?),
            Way::BareXdp => Box::new(bare::broadcast(near, receivers)?),
            Way::Tc | Way::TcStamped | Way::TcLayered => Box::new(room(scene, receivers, false, RoomsPath::Tc)?),
            Way::Xdp | Way::XdpStamped => Box::new(room(scene, receivers, false, RoomsPath::Xdp)?),
            Way::TcUp => {
                let plane = sockets(scene)?;
                Box::new((room(scene, receivers, true, RoomsPath::Tc)?, plane))
            }
            Way::Userspace => {
                let mut plane = sockets(scene)?;
                for update in scene.room(receivers) {
                    plane
                        .write(clock::now(), update)
                        .map_err(|error| format!("{error:?}"))?;
                }
                while !plane.is_applied() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Box::new(plane)
            }
        })
    }
}

fn room(scene: &Scene, receivers: u32, goes_up: bool, path: RoomsPath) -> Result<Fanout, Box<dyn Error + Send + Sync>> {
    let config = FanoutConfig {
        interfaces: vec![scene.pair.near.interface.to_owned()],
        goes_up,
        path,
        ..FanoutConfig::default()
    };
    scene.pair.near.run(|| {
        let mut fanout = Fanout::start(&config, clock::now())?;
        for update in scene.room(receivers) {
            fanout.offer(clock::now(), &update)?;
        }
        Ok(fanout)
    })
}

fn sockets(scene: &Scene) -> Result<UdpPlane, Box<dyn Error + Send + Sync>> {
    let config = UdpConfig {
        addresses: vec![scene.near()],
        workers: 1,
        ..UdpConfig::default()
    };
    let start = Clock {
        origin: clock::now(),
        ntp: NtpTime(3_900_000_000 << 32),
    };
    Ok(scene
        .pair
        .near
        .run(|| UdpPlane::start(config, start, Arc::new(|| {})))?)
}
