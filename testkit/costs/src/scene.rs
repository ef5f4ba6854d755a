use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::{env, fs, process};

use veth::{Pair, Side};

use crate::Failed;

/// The compiled program of the far end.
static DROP: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/drop.bpf.o"));

/// A port at the near end for copies in the kernel, which need no socket.
const PORT: u16 = 7_000;

/// The first receiver's port.
const FIRST_PORT: u16 = 20_000;

/// The way between a data plane and its clients.
pub enum Scene {
    /// A cable. Its far end drops all UDP as it arrives.
    Cable(Box<Pair>),
    /// The loopback. The kernel delivers packets to sockets that nobody reads.
    Loopback,
}

impl Scene {
    /// A cable between two namespaces, with so many queues at each end.
    ///
    /// Errors: no root, or no `ip` or `ethtool`.
    pub fn cable(queues: usize) -> Result<Self, Failed> {
        let pair = Pair::new(queues).map_err(|error| error.to_string())?;
        for (side, own, other, theirs) in [
            (&pair.near, "02:00:00:00:00:01", &pair.far, "02:00:00:00:00:02"),
            (&pair.far, "02:00:00:00:00:02", &pair.near, "02:00:00:00:00:01"),
        ] {
            ip(side, &format!("link set {} address {own}", side.interface))?;
            let known = format!(
                "neighbour replace {} lladdr {theirs} dev {} nud permanent",
                other.v4, side.interface
            );
            ip(side, &known)?;
        }
        // As from a network: checksums are complete when packets arrive.
        let command = pair.far.command("ethtool", "-K far0 tx off");
        command.map_err(|error| error.to_string())?;
        drop_at(&pair.far)?;
        Ok(Self::Cable(Box::new(pair)))
    }

    /// The end of the data plane, at any port.
    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::new(self.near_address().into(), 0)
    }

    /// The same at a fixed port.
    pub(crate) fn fixed(&self) -> SocketAddr {
        SocketAddr::new(self.near_address().into(), PORT)
    }

    fn near_address(&self) -> Ipv4Addr {
        match self {
            Self::Cable(pair) => pair.near.v4,
            Self::Loopback => Ipv4Addr::LOCALHOST,
        }
    }

    fn far_address(&self) -> Ipv4Addr {
        match self {
            Self::Cable(pair) => pair.far.v4,
            Self::Loopback => Ipv4Addr::LOCALHOST,
        }
    }

    /// The interface of the data plane.
    pub(crate) fn interface(&self) -> Result<&'static str, Failed> {
        match self {
            Self::Cable(pair) => Ok(pair.near.interface),
            Self::Loopback => Err("this way needs an interface of its own, and root to make one".into()),
        }
    }

    /// Does something at the end of the data plane.
    pub(crate) fn near<T: Send>(&self, what: impl FnOnce() -> T + Send) -> T {
        match self {
            Self::Cable(pair) => pair.near.run(what),
            Self::Loopback => what(),
        }
    }

    /// A socket of a client.
    pub(crate) fn client(&self) -> UdpSocket {
        let address = self.far_address();
        let bind = || UdpSocket::bind((address, 0));
        let socket = match self {
            Self::Cable(pair) => pair.far.run(bind),
            Self::Loopback => bind(),
        };
        socket.expect("the address is there, and has ports")
    }

    /// The addresses of receivers, and sockets that have to be kept for them.
    pub(crate) fn receivers(&self, count: u32) -> (Vec<SocketAddr>, Vec<UdpSocket>) {
        match self {
            Self::Cable(pair) => {
                let address = |number: u32| SocketAddr::new(pair.far.v4.into(), FIRST_PORT + number as u16);
                ((0..count).map(address).collect(), Vec::new())
            }
            Self::Loopback => {
                let sockets: Vec<_> = (0..count).map(|_| self.client()).collect();
                let addresses = sockets.iter().map(|socket| socket.local_addr().expect("it is bound"));
                (addresses.collect(), sockets)
            }
        }
    }
}

fn ip(side: &Side, words: &str) -> Result<(), Failed> {
    side.ip(words).map_err(|error| error.to_string().into())
}

/// Attaches the program that drops UDP.
fn drop_at(side: &Side) -> Result<(), Failed> {
    let object: PathBuf = env::temp_dir().join(format!("weir-drop-{}.bpf.o", process::id()));
    // A file that is there already is not ours to write.
    let mut file = fs::File::create_new(&object)?;
    file.write_all(DROP)?;
    let attached = ip(
        side,
        &format!("link set {} xdpdrv obj {} sec xdp", side.interface, object.display()),
    );
    fs::remove_file(&object)?;
    attached
}
