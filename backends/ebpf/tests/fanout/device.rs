//! The kernel's copies in front of a base without sockets, as a device under test.
//!
//! Datagrams are run through the program as frames. Copies are sent on a cable and captured at its
//! far end. The base gets the packets that the program passes on.

use std::cell::Cell;
use std::io::ErrorKind;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

use backend_ebpf::{Fanout, FanoutConfig, Pass, RoomsPath, Tried};
use backend_udp::InlinePlane;
use conformance::coverage::Plane;
use conformance::device::STARTED_AT;
use conformance::{Datagram, Device};
use dataplane::{Clock, Counter, Counters, DataPlane, Event, Inject, Path, ReplicaOffload, Update, WriteError};
use layered::ReplicaLayer;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, setsockopt, socket, sockopt};
use veth::{Pair, pair_or_skip};

use crate::frame;
use crate::numbers::Numbers;

/// How long copies may be on their way over the cable.
const PATIENCE: Duration = Duration::from_secs(2);

/// Bytes of frames that wait at a tap: all copies of a packet are made before any is looked at.
const TAPPED: usize = 4 << 20;

/// Hardware addresses of both ends of the cable.
const NEAR: [u8; 6] = [2, 0, 0, 0, 0, 1];
const FAR: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// A cable at whose far end everybody is.
pub(crate) struct Cable {
    interface: u32,
    caught: Rc<OwnedFd>,
    /// Captures the packets that reach the near end's stack.
    goes_up: Rc<OwnedFd>,
    /// Packets that were taken in the kernel, and copies that left from there, over all devices.
    pub taken: Rc<Cell<u64>>,
    pub copied: Rc<Cell<u64>>,
    /// Those of them that were the packet itself, and those that the driver made.
    pub as_itself: Rc<Cell<u64>>,
    pub by_driver: Rc<Cell<u64>>,
    /// Replicas that came from the base.
    pub came: Rc<Cell<u64>>,
    /// Copies are made in the driver, and the far end takes them.
    driver: Option<Pass>,
}

/// Makes a cable of a pair of interfaces.
pub(crate) type NewCable = fn(&Pair) -> Cable;

/// Does something inside of a namespace whose interface has such a cable.
pub(crate) fn on_cable(new: NewCable, what: impl FnOnce(&Cable) + Send) {
    let Some(pair) = pair_or_skip(1) else { return };
    pair.near.run(|| what(&new(&pair)));
}

impl Cable {
    /// To be called in the near end's namespace.
    pub(crate) fn new(pair: &Pair) -> Self {
        let mac = |address: [u8; 6]| address.map(|byte| format!("{byte:02x}")).join(":");
        let (near, far) = (&pair.near, &pair.far);
        let run = |side: &veth::Side, words: String| side.ip(&words).unwrap_or_else(|error| panic!("{error}"));
        run(near, format!("link set near0 address {}", mac(NEAR)));
        run(far, format!("link set far0 address {}", mac(FAR)));
        for via in [far.v4.to_string(), far.v6.to_string()] {
            run(
                near,
                format!("neighbour replace {via} lladdr {} dev near0 nud permanent", mac(FAR)),
            );
            let family = if via.contains(':') { "-6" } else { "-4" };
            run(near, format!("{family} route add default via {via}"));
        }
        for side in [near, far] {
            run(side, format!("link set {} mtu 1600", side.interface));
        }
        Cable {
            interface: nix::net::if_::if_nametoindex(near.interface).expect("it was made"),
            caught: Rc::new(far.run(tap)),
            goes_up: Rc::new(tap()),
            taken: Rc::default(),
            copied: Rc::default(),
            as_itself: Rc::default(),
            by_driver: Rc::default(),
            came: Rc::default(),
            driver: None,
        }
    }

    /// The same, for devices that copy in the driver.
    pub(crate) fn of_drivers(pair: &Pair) -> Self {
        let pass = pair.far.run(|| Pass::start(pair.far.interface));
        Cable {
            driver: Some(pass.unwrap_or_else(|error| panic!("{error}"))),
            ..Self::new(pair)
        }
    }

    pub(crate) fn is_of_drivers(&self) -> bool {
        self.driver.is_some()
    }

    /// A fresh device, of which the base also gets the copied packets if they go up.
    pub(crate) fn device(&self, goes_up: bool, now: Instant) -> Box<dyn Device> {
        let in_driver = self.is_of_drivers();
        let config = FanoutConfig {
            goes_up,
            interfaces: in_driver.then(|| "near0".to_owned()).into_iter().collect(),
            path: if in_driver { RoomsPath::Xdp } else { RoomsPath::Tc },
            ..FanoutConfig::default()
        };
        let fanout = Fanout::start(&config, now).unwrap_or_else(|error| panic!("{error}"));
        let clock = Clock {
            origin: now,
            ntp: STARTED_AT,
        };
        for tap in [&self.caught, &self.goes_up] {
            while catch(tap).is_some() {}
        }
        Box::new(KernelDevice {
            plane: ReplicaLayer::new(InlinePlane::new(1, clock), fanout),
            interface: self.interface,
            caught: self.caught.clone(),
            goes_up: self.goes_up.clone(),
            in_driver,
            passes_all: goes_up,
            left: 0,
            unsent: 0,
            received: 0,
            sent: Vec::new(),
            numbers: Numbers::default(),
            forwarded: 0,
            last: None,
            taken: self.taken.clone(),
            copied: self.copied.clone(),
            as_itself: self.as_itself.clone(),
            by_driver: self.by_driver.clone(),
            came: self.came.clone(),
        })
    }
}

struct KernelDevice {
    plane: ReplicaLayer<InlinePlane, Fanout>,
    interface: u32,
    caught: Rc<OwnedFd>,
    goes_up: Rc<OwnedFd>,
    in_driver: bool,
    /// Whether the base gets all packets.
    passes_all: bool,
    /// Packets that the base leaves to the kernel, and those of which the kernel made no copy.
    left: u64,
    unsent: u64,
    received: u64,
    sent: Vec<Datagram>,
    numbers: Numbers,
    forwarded: u64,
    last: Option<Vec<u8>>,
    taken: Rc<Cell<u64>>,
    copied: Rc<Cell<u64>>,
    as_itself: Rc<Cell<u64>>,
    by_driver: Rc<Cell<u64>>,
    came: Rc<Cell<u64>>,
}

impl KernelDevice {
    /// Catches as many copies as left.
    fn catch_copies(&mut self) {
        let counters = self.plane.offload_mut().counters();
        let forwarded = counters[Counter::Forwarded] + counters[Counter::Resent];
        let deadline = Instant::now() + PATIENCE;
        // A packet that is sent as the last of its copies is the frame itself. A test run of the
        // kernel only returns it.
        let last = self.last.take();
        while self.forwarded + u64::from(last.is_some()) < forwarded {
            assert!(
                Instant::now() < deadline,
                "{} copies did not arrive",
                forwarded - self.forwarded
            );
            if let Some(copy) = catch(&self.caught).and_then(|bytes| frame::left(&bytes)) {
                self.has_left(copy);
            }
        }
        if let Some(last) = last {
            self.has_left(frame::left(&last).expect("a datagram"));
            self.as_itself.set(self.as_itself.get() + 1);
        }
    }

    fn has_left(&mut self, (to, path, bytes): ([u8; 6], Path, Vec<u8>)) {
        assert_eq!(to, FAR);
        self.sent.push(Datagram { path, bytes });
        self.forwarded += 1;
        self.copied.set(self.copied.get() + 1);
    }

    /// Has a frame arrive: whether the kernel takes it.
    fn arrive(&mut self, frame: &[u8]) -> bool {
        let offload = self.plane.offload_mut();
        if !self.in_driver {
            let (tried, out) = offload
                .try_frame(self.interface, frame)
                .expect("the program can be run");
            self.last = (tried == Tried::Redirected).then_some(out);
            return tried != Tried::Passed;
        }
        // Discards earlier packets: they were checked, or belong to no test.
        while catch(&self.goes_up).is_some() {}
        // Packets that the driver passes on have reached the stack when this returns.
        let (before, left) = (offload.counters(), offload.left_by_driver());
        offload.arrive_in_driver(self.interface, frame).expect("likewise");
        self.by_driver
            .set(self.by_driver.get() + offload.left_by_driver() - left);
        offload.counters() != before
    }

    /// A packet that was not counted is left to the base to count, and must reach the stack
    /// unchanged.
    fn catch_what_goes_up(&self, frame: &[u8]) {
        let deadline = Instant::now() + PATIENCE;
        while catch(&self.goes_up).is_none_or(|seen| seen != frame) {
            assert!(Instant::now() < deadline, "a packet did not go up as it was");
        }
    }
}

/// Sees every frame of a namespace.
fn tap() -> OwnedFd {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Packet, SockType::Raw, flags, SockProtocol::EthAll).expect("root may");
    setsockopt(&socket, sockopt::RcvBufForce, &TAPPED).expect("likewise");
    socket
}

/// A frame that was seen.
fn catch(socket: &OwnedFd) -> Option<Vec<u8>> {
    let mut bytes = vec![0; 2_000];
    match recv(socket.as_raw_fd(), &mut bytes, MsgFlags::empty()) {
        Ok(len) => {
            bytes.truncate(len);
            Some(bytes)
        }
        Err(error) => {
            assert_eq!(std::io::Error::from(error).kind(), ErrorKind::WouldBlock);
            None
        }
    }
}

impl Device for KernelDevice {
    fn name(&self) -> String {
        "copies in the kernel, in front of udp without sockets".into()
    }

    fn plane(&self) -> Plane {
        Plane::Kernel
    }

    fn write(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        let written = self.plane.write(now, update.clone());
        if written.is_ok() {
            self.numbers.apply(&update);
        }
        written
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        self.plane.inject(now, what);
    }

    fn packet(&mut self, now: Instant, path: Path, bytes: &[u8]) {
        let frame = frame::arriving(NEAR, FAR, path, bytes);
        if !self.arrive(&frame) {
            self.plane.base_mut().packet(now, 0, path, bytes);
            return;
        }
        self.taken.set(self.taken.get() + 1);
        let before = self.forwarded;
        self.catch_copies();
        let received = self.plane.offload_mut().counters()[Counter::Received];
        let goes_up = received == std::mem::replace(&mut self.received, received);
        assert!(goes_up || !self.passes_all, "all packets go up");
        if goes_up {
            self.catch_what_goes_up(&frame);
            let left = self.plane.base_mut().counters()[Counter::CopiedByOffload];
            self.plane.base_mut().packet(now, 0, path, bytes);
            let left = self.plane.base_mut().counters()[Counter::CopiedByOffload] - left;
            self.left += left;
            self.unsent += if self.forwarded == before { left } else { 0 };
        }
    }

    fn sent(&mut self) -> Vec<Datagram> {
        let by_base = self.plane.base_mut().take_sent().into_iter();
        self.sent.extend(by_base.map(|egress| Datagram {
            path: egress.path,
            bytes: egress.bytes,
        }));
        self.sent.iter().for_each(|datagram| self.numbers.sent(datagram));
        std::mem::take(&mut self.sent)
    }

    fn poll(&mut self) -> Option<Event> {
        let before = self.plane.offload().taken_over();
        let event = self.plane.poll();
        let came = self.plane.offload().taken_over() - before;
        self.came.set(self.came.get() + came);
        event
    }

    fn counters(&mut self) -> Counters {
        let mut counters = self.plane.counters();
        if self.passes_all {
            // The kernel counts copies, and the reason for each that it does not send.
            counters[Counter::CopiedByOffload] -= self.left;
            counters[Counter::NotSelected] += self.unsent;
        }
        counters
    }

    fn keeps_virtual_time(&self) -> bool {
        false
    }
}
