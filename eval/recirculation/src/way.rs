//! The SFUs that are measured.

use std::any::Any;
use std::error::Error;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use backend_ebpf::{Fanout, FanoutConfig, RoomsPath};
use backend_udp::{UdpConfig, UdpPlane};
use dataplane::{Clock, DataPlane, ReplicaOffload};
use harness::{clock, software};
use wire::NtpTime;

use crate::entries::{Copied, Replication};
use crate::naive::{Groups, Naive};
use crate::scene::{self, Scene};
use crate::switch::{self, Switch};

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    /// Our P4 program on BMv2, by its multicast engine.
    Multicast,
    /// The same, by clone and recirculation, as the thesis does.
    Recirculation,
    /// The same, by a tree of passes.
    Tree,
    /// The loop of the thesis' Python, in Rust.
    Naive,
    /// Weir's sockets.
    Userspace,
    /// Weir's room in the kernel, at TC.
    Kernel,
}

impl Way {
    /// All of them.
    pub(crate) const ALL: [Way; 6] = [
        Way::Multicast,
        Way::Recirculation,
        Way::Tree,
        Way::Naive,
        Way::Userspace,
        Way::Kernel,
    ];

    /// In tables and drawings.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Way::Multicast => "BMv2 multicast",
            Way::Recirculation => "BMv2 recirculation",
            Way::Tree => "BMv2 tree",
            Way::Naive => "naive Rust",
            Way::Userspace => "Weir UDP",
            Way::Kernel => "Weir TC",
        }
    }

    /// The form of our P4 program, if it is that.
    pub(crate) const fn replication(self) -> Option<Replication> {
        match self {
            Way::Multicast => Some(Replication::Multicast),
            Way::Recirculation => Some(Replication::Recirculation),
            Way::Tree => Some(Replication::Tree),
            Way::Naive | Way::Userspace | Way::Kernel => None,
        }
    }

    /// Starts it for so many viewers; a switch is this program, with its output in `log`. It ends
    /// when the returned value is dropped.
    pub(crate) fn start(
        self,
        scene: &Scene,
        viewers: u32,
        program: Option<&Path>,
        log: PathBuf,
    ) -> Result<Box<dyn Any>, Box<dyn Error + Send + Sync>> {
        match self.replication() {
            Some(replication) => {
                let program = program.ok_or("there is no switch")?;
                let copied = copied(scene, viewers, replication);
                Ok(Box::new(Switch::start(&scene.pair.near, program, &copied, log)?))
            }
            None if self == Way::Kernel => Ok(Box::new(room(scene, viewers)?)),
            None if self == Way::Naive => Ok(Box::new(naive(scene, viewers)?)),
            None => Ok(Box::new(sockets(scene, viewers)?)),
        }
    }
}

/// The switch's program, if it is installed.
pub(crate) fn switch_program() -> Option<PathBuf> {
    software::installed(switch::PROGRAM, switch::VARIABLE)
}

fn copied(scene: &Scene, viewers: u32, replication: Replication) -> Copied {
    Copied {
        replication,
        from: scene.sender(),
        sfu: scene.near(),
        macs: [scene::NEAR_MAC, scene::FAR_MAC],
        ssrc: scene::SSRC,
        payload_type: scene::PAYLOAD_TYPE,
        first: 1,
        viewers: (0..viewers)
            .map(|number| (scene::viewer(number), scene::COPY_SSRC + number))
            .collect(),
    }
}

fn room(scene: &Scene, viewers: u32) -> Result<Fanout, Box<dyn Error + Send + Sync>> {
    let config = FanoutConfig {
        interfaces: vec![scene.pair.near.interface.to_owned()],
        goes_up: false,
        path: RoomsPath::Tc,
        ..FanoutConfig::default()
    };
    scene.pair.near.run(|| {
        let mut fanout = Fanout::start(&config, clock::now())?;
        for update in scene.room(viewers) {
            fanout.offer(clock::now(), &update)?;
        }
        Ok(fanout)
    })
}

fn naive(scene: &Scene, viewers: u32) -> Result<Naive, Box<dyn Error + Send + Sync>> {
    let socket = scene.pair.near.run(|| UdpSocket::bind(scene.near()))?;
    let viewers = (0..viewers).map(scene::viewer).collect();
    Ok(Naive::start(socket, Groups::from([(scene.sender(), viewers)]))?)
}

fn sockets(scene: &Scene, viewers: u32) -> Result<UdpPlane, Box<dyn Error + Send + Sync>> {
    let config = UdpConfig {
        addresses: vec![scene.near()],
        workers: 1,
        ..UdpConfig::default()
    };
    let start = Clock {
        origin: clock::now(),
        ntp: NtpTime(3_900_000_000 << 32),
    };
    let mut plane = scene
        .pair
        .near
        .run(|| UdpPlane::start(config, start, Arc::new(|| {})))?;
    for update in scene.room(viewers) {
        plane
            .write(clock::now(), update)
            .map_err(|error| format!("{error:?}"))?;
    }
    while !plane.is_applied() {
        sleep(Duration::from_millis(1));
    }
    Ok(plane)
}
