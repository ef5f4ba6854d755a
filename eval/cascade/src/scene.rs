//! One variant, played on real sockets.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use harness::{Machine, Processes, net};
use southbound::Command;

use crate::cable::{Cable, Crossed};
use crate::camera::{Camera, Published};
use crate::node::Node;
use crate::orders::{self, Ends};
use crate::outcome::{Outcome, Sample, Seen};
use crate::receivers::{Receivers, Window};
use crate::srtp::{KeyRing, reversed};
use crate::variant::Variant;
use crate::viewer::Seat;

/// How long a scene takes, and how much is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Pictures a second. At fewer than 30 the rate is lower by the same factor, and a picture is
    /// as large.
    pub pictures_per_second: u32,
    /// Time until trunks have found their capacity. Rooms on one node need less.
    pub warm_up: Duration,
    /// The time that is measured.
    pub window: Duration,
}

/// Time until receivers at one node have a picture.
const START: Duration = Duration::from_secs(3);
/// Time for the last repairs.
const SETTLE: Duration = Duration::from_millis(2_500);
/// Receivers that open every packet, about.
const PROBES: usize = 100;

/// Plays a variant.
///
/// Errors: those of sockets and threads.
pub fn play(variant: &Variant, settings: &Settings) -> io::Result<Outcome> {
    net::raise_socket_limit();
    let mut stage = Stage::set(variant)?;
    let (socket, keys) = stage.camera()?;
    for child in 1..variant.nodes {
        stage.join(variant, child)?;
    }
    let seats = (0..variant.receivers).map(|receiver| stage.seat(variant, receiver));
    let seats = seats.collect::<io::Result<Vec<Seat>>>()?;
    let window = Arc::new(Window::default());
    let receivers = Receivers::start(seats, window.clone())?;
    let camera = Camera::start(socket, &keys, settings.pictures_per_second)?;

    sleep(match variant.nodes {
        1 => settings.warm_up.min(START),
        _ => settings.warm_up,
    });
    camera.await_gap();
    let before = stage.sample();
    window.open();
    stage.lose(true);
    sleep(settings.window);
    camera.await_gap();
    window.close();
    let after = stage.sample();
    stage.lose(false);
    sleep(SETTLE);

    let published: Published = camera.end()?;
    let viewers = receivers.end()?;
    let seen = Seen {
        window: window.range(),
        settled: stage.crossed(),
        faults: stage.nodes.iter().flat_map(Node::faults).collect(),
        before,
        after,
    };
    if let Some(cable) = stage.cable {
        cable.end()?;
    }
    Ok(Outcome::new(variant, seen, &published, &viewers))
}

struct Stage {
    nodes: Vec<Node>,
    keys: KeyRing,
    cable: Option<Cable>,
}

impl Stage {
    /// Starts the nodes, each at an address of its own.
    fn set(variant: &Variant) -> io::Result<Self> {
        let address = |node: usize| SocketAddr::from((Ipv4Addr::new(127, 0, 1 + node as u8, 1), 0));
        let nodes = (0..variant.nodes).map(|node| Node::start(address(node)));
        Ok(Stage {
            nodes: nodes.collect::<io::Result<_>>()?,
            keys: KeyRing::default(),
            cable: None,
        })
    }

    /// A socket of somebody at this node, and the ends of their transport.
    fn peer(&mut self, node: usize) -> io::Result<(UdpSocket, Ends)> {
        let socket = net::open(Ipv4Addr::LOCALHOST.into())?;
        let address = self.nodes[node].address;
        socket.connect(address)?;
        let ends = Ends {
            node: address,
            peer: socket.local_addr()?,
            keys: self.keys.pair(),
        };
        Ok((socket, ends))
    }

    fn order(&self, node: usize, commands: impl IntoIterator<Item = Command>) {
        commands
            .into_iter()
            .for_each(|command| self.nodes[node].command(command));
    }

    fn camera(&mut self) -> io::Result<(UdpSocket, southbound::DirectKeys)> {
        let (socket, ends) = self.peer(0)?;
        let keys = reversed(&ends.keys);
        self.order(0, orders::camera(ends));
        Ok((socket, keys))
    }

    /// Opens the trunk to a node, through a cable if the variant has one.
    fn join(&mut self, variant: &Variant, child: usize) -> io::Result<()> {
        let parent = variant.parent(child).expect("the first node is no child");
        let [upper, lower] = [parent, child].map(|node| self.nodes[node].address);
        let (mut beyond_upper, mut beyond_lower) = (lower, upper);
        let keys = self.keys.pair();
        if let Some(link) = variant.link.filter(|_| child == 1) {
            let ends = [
                net::open(Ipv4Addr::LOCALHOST.into())?,
                net::open(Ipv4Addr::LOCALHOST.into())?,
            ];
            ends[0].connect(upper)?;
            ends[1].connect(lower)?;
            (beyond_upper, beyond_lower) = (ends[0].local_addr()?, ends[1].local_addr()?);
            self.cable = Some(Cable::start(ends, &keys, link)?);
        }
        let at_lower = Ends {
            node: lower,
            peer: beyond_lower,
            keys: reversed(&keys),
        };
        self.order(child, orders::take_over(at_lower));
        let at_upper = Ends {
            node: upper,
            peer: beyond_upper,
            keys,
        };
        self.order(parent, orders::pass_on(child, at_upper));
        Ok(())
    }

    fn seat(&mut self, variant: &Variant, receiver: usize) -> io::Result<Seat> {
        let (node, encoding) = variant.seat(receiver);
        let (socket, ends) = self.peer(node)?;
        let keys = reversed(&ends.keys);
        self.order(node, orders::watch(receiver, encoding, ends));
        // Whole turns of nodes and encodings, so that probes are of all kinds.
        let turn = 10 * variant.nodes;
        let apart = (variant.receivers / turn).div_ceil(PROBES.div_ceil(turn)).max(1);
        Ok(Seat {
            socket,
            keys,
            encoding,
            depth: variant.depth(node),
            is_probe: (receiver / turn).is_multiple_of(apart),
        })
    }

    fn lose(&self, loses: bool) {
        self.cable.iter().for_each(|cable| cable.lose(loses));
    }

    fn crossed(&self) -> Crossed {
        self.cable.as_ref().map(Cable::crossed).unwrap_or_default()
    }

    fn sample(&self) -> Sample {
        Sample {
            processor_times: self.nodes.iter().map(Node::processor_time).collect(),
            overflows: self.nodes.iter().map(|node| node.counts().overflows).sum(),
            crossed: self.crossed(),
            machine: Machine::sample(),
            processes: Processes::sample(),
        }
    }
}
