//! The processor time of a packet and of its copies in the data planes of this machine.
//!
//! One camera sends packets in bursts to a data plane, which copies them to receivers ([`call`]).
//! A [`Scene`] is the way between them: a cable between two network namespaces whose far end drops
//! everything, or the loopback where there is no privilege for it. The time is that of the data
//! plane's worker with the kernel's part of its sends. For copies in the kernel it is that of the
//! sending thread, on whose account they are made.

#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "a measurement reads the clock")]

pub mod call;

mod curve;
mod scene;

use std::collections::HashMap;
use std::error::Error;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use backend_afxdp::{AfxdpConfig, AfxdpPlane};
use backend_ebpf::{Fanout, FanoutConfig, RoomsPath};
use backend_udp::{UdpConfig, UdpPlane};
use dataplane::{Counter, DataPlane, ReplicaOffload, Update};

use call::{Call, Camera, clock};
pub use curve::Curve;
pub use scene::Scene;

/// An error of a measurement.
pub type Failed = Box<dyn Error + Send + Sync>;

/// From one burst to the next, as libwebrtc paces.
const INTERVAL: Duration = Duration::from_millis(5);

/// Bursts in which routes are looked up, and sockets and caches warm up.
const WARM_UP: u16 = 40;

/// The longest time in which packets are sent that have arrived.
const SETTLE: Duration = Duration::from_secs(1);

/// The time of workers is that of all workers of the process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A way to copy packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Weir's workers with sockets.
    Sockets,
    /// The same with AF_XDP rings.
    Rings,
    /// Copies in the kernel, before the stack. They are never encrypted.
    Kernel,
}

/// The load of one measurement.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// The way.
    pub way: Way,
    /// Whether packets are encrypted, by AEAD_AES_128_GCM.
    pub is_encrypted: bool,
    /// Workers that are busy at the same time, each with a data plane and a call of its own. More
    /// than one only with sockets.
    pub workers: u16,
    /// Receivers of a call.
    pub receivers: u32,
    /// Packets that are sent together.
    pub burst: u16,
    /// Bursts that are measured.
    pub bursts: u16,
}

impl Load {
    /// Packets that are measured, of all calls.
    fn packets(&self) -> f64 {
        f64::from(self.burst) * f64::from(self.bursts) * f64::from(self.workers)
    }

    /// Copies of so many bursts of one call.
    fn copies(&self, bursts: u16) -> u64 {
        u64::from(self.burst) * u64::from(bursts) * u64::from(self.receivers)
    }
}

/// Nanoseconds for each packet that arrives and for each copy that is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// For a packet.
    pub packet_ns: f64,
    /// For a copy.
    pub replica_ns: f64,
}

impl Cost {
    /// The line through the times of a packet for few receivers and for many.
    pub fn through((few, few_ns): (u32, f64), (many, many_ns): (u32, f64)) -> Self {
        let replica_ns = (many_ns - few_ns) / f64::from(many - few);
        Self {
            packet_ns: (few_ns - replica_ns * f64::from(few)).max(0.0),
            replica_ns,
        }
    }
}

/// Nanoseconds for each packet, with all of its copies.
///
/// Errors: the way is not there on this machine, or copies are missing.
pub fn measure(scene: &Scene, load: Load) -> Result<f64, Failed> {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if load.way != Way::Sockets && load.workers != 1 {
        return Err("several workers are measured with sockets only".into());
    }
    match load.way {
        Way::Sockets => {
            let start = || -> Result<_, Failed> {
                let config = sockets(scene);
                let plane = scene.near(|| UdpPlane::start(config, clock(), Arc::new(|| {})))?;
                let near = plane.local_addr();
                Ok((plane, near))
            };
            let planes: Result<Vec<_>, _> = (0..load.workers).map(|_| start()).collect();
            by_workers(planes?, scene, load)
        }
        Way::Rings => {
            let config = AfxdpConfig {
                udp: sockets(scene),
                interfaces: vec![scene.interface()?.to_owned()],
            };
            let plane = scene.near(|| AfxdpPlane::start(config, clock(), Arc::new(|| {})))?;
            let near = plane.local_addr();
            by_workers(vec![(plane, near)], scene, load)
        }
        Way::Kernel => by_kernel(scene, load),
    }
}

fn sockets(scene: &Scene) -> UdpConfig {
    UdpConfig {
        addresses: vec![scene.address()],
        workers: 1,
        ..UdpConfig::default()
    }
}

/// A data plane of one worker, and its address.
type Served<P> = (P, SocketAddr);

fn by_workers<P: DataPlane>(mut planes: Vec<Served<P>>, scene: &Scene, load: Load) -> Result<f64, Failed> {
    let calls = planes
        .iter()
        .map(|_| Call::new(scene, load.receivers, load.is_encrypted));
    let calls: Vec<Call> = calls.collect();
    for ((plane, near), call) in planes.iter_mut().zip(&calls) {
        for update in call.updates(*near) {
            plane
                .write(Instant::now(), update)
                .map_err(|error| format!("the data plane refuses an entry: {error:?}"))?;
        }
    }
    let mut cameras: Vec<Camera> = calls
        .iter()
        .zip(&planes)
        .map(|(call, (_, near))| call.camera(*near))
        .collect();
    send(&mut cameras, load.burst, WARM_UP)?;
    let warm = planes.iter_mut().map(|(plane, _)| settled(plane, load.copies(WARM_UP)));
    let copies_before: Vec<u64> = warm.collect();
    let times_before = worker_times();
    send(&mut cameras, load.burst, load.bursts)?;
    let expected = load.copies(load.bursts);
    let copies: u64 = planes
        .iter_mut()
        .zip(copies_before)
        .map(|((plane, _), before)| settled(plane, before + expected) - before)
        .sum();
    let time: u64 = worker_times()
        .into_iter()
        .map(|(thread, time)| time - times_before.get(&thread).copied().unwrap_or(0))
        .sum();
    let expected = expected * u64::from(load.workers);
    // A full socket drops packets.
    if copies < expected / 100 * 95 {
        return Err(format!("{copies} of {expected} copies were sent: the machine is too busy to measure").into());
    }
    Ok(time as f64 / load.packets() * expected as f64 / copies as f64)
}

/// The copies that were sent, when they are so many or no more follow.
fn settled(plane: &mut impl DataPlane, expected: u64) -> u64 {
    let start = Instant::now();
    loop {
        let copies = plane.counters()[Counter::Forwarded];
        if copies >= expected || start.elapsed() > SETTLE {
            return copies;
        }
        thread::sleep(INTERVAL);
    }
}

/// The time of sending through the kernel's copies, less that of sending alone.
fn by_kernel(scene: &Scene, load: Load) -> Result<f64, Failed> {
    let config = FanoutConfig {
        interfaces: vec![scene.interface()?.to_owned()],
        path: RoomsPath::Tc,
        ..FanoutConfig::default()
    };
    let (near, call) = (scene.fixed(), Call::new(scene, load.receivers, load.is_encrypted));
    let mut camera = [call.camera(near)];
    let mut timed = || -> Result<u64, Failed> {
        send(&mut camera, load.burst, WARM_UP)?;
        send(&mut camera, load.burst, load.bursts)
    };
    let alone = timed()?;
    let updates: Vec<Update> = call.updates(near).collect();
    let fanout = scene.near(|| -> Result<Fanout, Failed> {
        let mut fanout = Fanout::start(&config, Instant::now())?;
        for update in &updates {
            fanout
                .offer(Instant::now(), update)
                .map_err(|refused| format!("the kernel does not take an entry: {refused:?}"))?;
        }
        Ok(fanout)
    })?;
    let together = timed()?;
    drop(fanout);
    Ok(together.saturating_sub(alone) as f64 / load.packets())
}

/// Sends bursts of all cameras together, at their pace; returns the processor time of that.
fn send(cameras: &mut [Camera], burst: u16, bursts: u16) -> Result<u64, Failed> {
    let start = Instant::now();
    thread::scope(|scope| {
        let senders = cameras
            .iter_mut()
            .map(|camera| scope.spawn(move || camera.send_bursts(start, burst, bursts)));
        let senders: Vec<_> = senders.collect();
        let times = senders
            .into_iter()
            .map(|sender| sender.join().expect("no sender panics"));
        times.sum::<io::Result<u64>>().map_err(Failed::from)
    })
}

impl Camera<'_> {
    /// Sends bursts at their pace, the first at `start`; returns the thread's processor time.
    fn send_bursts(&mut self, start: Instant, burst: u16, bursts: u16) -> io::Result<u64> {
        let before = own_time();
        let mut due = start;
        for _ in 0..bursts {
            for _ in 0..burst {
                self.send()?;
            }
            due += INTERVAL;
            thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        Ok(own_time() - before)
    }
}

/// Processor time of each worker of this process so far, in nanoseconds.
fn worker_times() -> HashMap<OsString, u64> {
    let Ok(threads) = fs::read_dir("/proc/self/task") else {
        return HashMap::new();
    };
    let times = threads.filter_map(|thread| {
        let thread = thread.ok()?;
        let folder = thread.path();
        let name = fs::read_to_string(folder.join("comm")).ok()?;
        let time = run_time(&folder.join("schedstat"))?;
        name.starts_with("media-").then(|| (thread.file_name(), time))
    });
    times.collect()
}

/// Processor time of this thread so far.
fn own_time() -> u64 {
    run_time("/proc/thread-self/schedstat".as_ref()).unwrap_or(0)
}

/// None: the thread has ended.
fn run_time(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.split(' ').next()?.parse().ok()
}
