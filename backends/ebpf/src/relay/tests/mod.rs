//! The program on frames that nobody sends: run by the kernel, on no interface (BPF_PROG_TEST_RUN).

mod bad;
mod summed;
mod table;
mod way;

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use dataplane::{Accept, Hop, Path, Relay, RelayProtection};
use veth::frame::Frame;
use veth::{Pair, Side, pair_or_skip};

use super::{Counter, Hook, RelayConfig, RelayOffload, Tried};

/// The result for a frame.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Dropped,
    /// Untouched.
    Passed,
    /// Out where it came in, as this.
    Sent(Vec<u8>),
    /// Out elsewhere, as this.
    Redirected(Vec<u8>),
}

/// One relay and its return, on an interface whose neighbour is known.
struct Bench {
    offload: RelayOffload,
    interface: u32,
    /// Our ports: the first takes from the caller and sends on from the second.
    ours: [SocketAddr; 2],
    /// The caller and the called.
    theirs: [SocketAddr; 2],
}

const NEIGHBOUR: [u8; 6] = [2, 0, 0, 0, 0, 9];
const OURS: [u8; 6] = [2, 0, 0, 0, 0, 8];

/// Does something with a bench for each place where packets may meet the program, and each family.
fn with_benches(what: impl Fn(&mut Bench) + Sync) {
    with_configs(&["near0"], |pair, like, config| {
        what(&mut Bench::with(pair, like, config))
    });
}

fn with_configs(interfaces: &[&str], what: impl Fn(&Pair, IpAddr, &RelayConfig) + Sync) {
    let Some(pair) = pair_or_skip(1) else { return };
    for hook in [Hook::Xdp, Hook::Tc] {
        let config = RelayConfig {
            interfaces: interfaces.iter().map(|name| (*name).to_owned()).collect(),
            hook,
            ..RelayConfig::default()
        };
        for like in [IpAddr::from(pair.near.v4), pair.near.v6.into()] {
            pair.near.run(|| what(&pair, like, &config));
        }
    }
}

impl Bench {
    fn with(pair: &Pair, like: IpAddr, config: &RelayConfig) -> Self {
        let [ours, theirs] = [&pair.near, &pair.far].map(|side| two_ports(side, like));
        know(&pair.near, theirs[0].ip());
        let mut bench = Bench {
            offload: RelayOffload::start(config, Instant::now()).expect("this takes no more privilege than namespaces"),
            interface: nix::net::if_::if_nametoindex(pair.near.interface).unwrap(),
            ours,
            theirs,
        };
        bench.set(bench.ours[0], bench.relay(0));
        bench.set(bench.ours[1], bench.relay(1));
        bench
    }

    /// From one of them to the other.
    fn relay(&self, from: usize) -> Relay {
        let hop = Hop {
            path: Path {
                local: self.ours[1 - from],
                remote: self.theirs[1 - from],
            },
            egress_protection: RelayProtection::Clear,
            tos: Some(0xb8),
        };
        Relay {
            accept: Accept::Only(self.theirs[from]),
            ingress_protection: RelayProtection::Clear,
            terminated: false,
            rtp: Some(hop.clone()),
            rtcp: Some(hop),
        }
    }

    fn set(&mut self, at: SocketAddr, relay: Relay) {
        self.offload.set(Instant::now(), at, &relay).expect("it is taken");
    }

    /// A frame from the caller to our first port.
    fn frame(&self, payload: &[u8]) -> Frame {
        Frame::new(self.theirs[0], self.ours[0], payload)
    }

    /// The same frame as it should leave.
    fn relayed(&self, payload: &[u8]) -> Vec<u8> {
        let mut frame = Frame::new(self.ours[1], self.theirs[1], payload);
        frame.to = NEIGHBOUR;
        frame.from = OURS;
        frame.tos = 0xb8;
        frame.bytes()
    }

    fn run(&mut self, frame: &[u8]) -> Outcome {
        let (tried, out) = self
            .offload
            .try_frame(self.interface, frame)
            .expect("the kernel runs it");
        match tried {
            Tried::Dropped => Outcome::Dropped,
            Tried::Passed => {
                assert_eq!(out, frame, "a passed frame is unchanged");
                Outcome::Passed
            }
            Tried::Sent => Outcome::Sent(out),
            Tried::Redirected => Outcome::Redirected(out),
        }
    }

    fn count(&self, counter: Counter) -> u64 {
        self.offload.statistics().read()[counter]
    }

    /// Runs a frame that is left to the base for this reason.
    #[track_caller]
    fn passes(&mut self, frame: &[u8], reason: Option<Counter>) {
        let before = self.offload.statistics().read();
        assert_eq!(self.run(frame), Outcome::Passed);
        self.counted(before, reason);
    }

    #[track_caller]
    fn drops(&mut self, frame: &[u8], reason: Counter) {
        let before = self.offload.statistics().read();
        assert_eq!(self.run(frame), Outcome::Dropped);
        self.counted(before, Some(reason));
    }

    #[track_caller]
    fn counted(&self, mut expected: super::Counters, counter: Option<Counter>) {
        counter.into_iter().for_each(|counter| expected.count(counter));
        assert_eq!(self.offload.statistics().read(), expected);
    }
}

fn two_ports(side: &Side, like: IpAddr) -> [SocketAddr; 2] {
    [40_000, 40_002].map(|port| SocketAddr::new(side.address(like), port))
}

/// Fixes the hardware addresses a packet to `neighbour` gets.
fn know(side: &Side, neighbour: IpAddr) {
    let name = side.interface;
    side.ip(&format!("link set {name} address 02:00:00:00:00:08")).unwrap();
    side.ip(&format!(
        "neighbour replace {neighbour} lladdr 02:00:00:00:00:09 dev {name} nud permanent"
    ))
    .unwrap();
}

/// RTP without anything that would be optional.
fn rtp(len: usize) -> Vec<u8> {
    let mut packet = vec![0x80, 96, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3];
    packet.extend((12..len).map(|at| at as u8));
    packet
}
