//! A cable between two network namespaces of the test's own: programs on one side can reach only
//! the other.
//!
//! Making one needs root. A test without it reports that and ends: see [`pair_or_skip`].

#![forbid(unsafe_code)]

pub mod frame;

use std::fmt;
use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};
use skip::skipped;

/// Two ends of a cable.
pub struct Pair {
    /// The end of the device under test.
    pub near: Side,
    /// The end of its peers.
    pub far: Side,
}

/// A network namespace. It ends with its last user.
pub struct Namespace(File);

/// One end, in a namespace of its own.
pub struct Side {
    namespace: Namespace,
    /// The interface's name in it.
    pub interface: &'static str,
    /// Its addresses.
    pub v4: Ipv4Addr,
    /// Its addresses.
    pub v6: Ipv6Addr,
}

/// Why there is no pair.
#[derive(Debug)]
pub struct Unavailable(String);

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Pair {
    /// A pair whose ends have `queues` queues each.
    pub fn new(queues: usize) -> Result<Self, Unavailable> {
        let pair = Pair {
            near: Side::new("near0", 1)?,
            far: Side::new("far0", 2)?,
        };
        let far = format!("/proc/{}/fd/{}", std::process::id(), pair.far.namespace.0.as_raw_fd());
        pair.near.ip(&format!(
            "link add near0 numrxqueues {queues} numtxqueues {queues} type veth peer name far0 numrxqueues {queues} numtxqueues {queues} netns {far}"
        ))?;
        pair.near.set_up()?;
        pair.far.set_up()?;
        Ok(pair)
    }
}

/// A pair, or `None` with the reason on standard error.
pub fn pair_or_skip(queues: usize) -> Option<Pair> {
    let pair = Pair::new(queues);
    pair.inspect_err(|reason| skipped("nothing was tested", reason)).ok()
}

impl Namespace {
    /// A new namespace without interfaces.
    pub fn new() -> Result<Self, Unavailable> {
        on_a_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET).map_err(|error| Unavailable(format!("no network namespace: {error}")))?;
            File::open("/proc/thread-self/ns/net")
                .map(Namespace)
                .map_err(|error| Unavailable(format!("no namespace to be found: {error}")))
        })
    }

    /// Does something on a thread inside of the namespace. Sockets opened and threads started there
    /// stay in it.
    pub fn run<T: Send>(&self, what: impl FnOnce() -> T + Send) -> T {
        on_a_thread(|| {
            setns(&self.0, CloneFlags::CLONE_NEWNET).expect("it was ours to make, so it is ours to enter");
            what()
        })
    }

    /// Runs a program with these words inside of the namespace.
    pub fn command(&self, program: &str, words: &str) -> Result<(), Unavailable> {
        let output: io::Result<_> = self.run(|| Command::new(program).args(words.split(' ')).output());
        match output {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(Unavailable(format!(
                "{program} {words}: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            ))),
            Err(error) => Err(Unavailable(format!("{program}: {error}"))),
        }
    }
}

impl Side {
    fn new(interface: &'static str, host: u8) -> Result<Self, Unavailable> {
        Ok(Side {
            namespace: Namespace::new()?,
            interface,
            v4: Ipv4Addr::new(10, 77, 0, host),
            v6: Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, host.into()),
        })
    }

    fn set_up(&self) -> Result<(), Unavailable> {
        self.ip("link set lo up")?;
        self.ip(&format!("address add {}/24 dev {}", self.v4, self.interface))?;
        self.ip(&format!("address add {}/64 dev {} nodad", self.v6, self.interface))?;
        self.ip(&format!("link set {} up", self.interface))
    }

    /// Its address of the family `like` is of.
    pub fn address(&self, like: IpAddr) -> IpAddr {
        match like {
            IpAddr::V4(_) => self.v4.into(),
            IpAddr::V6(_) => self.v6.into(),
        }
    }

    /// Does something on a thread inside of the namespace. Sockets opened and threads started there
    /// stay in it.
    pub fn run<T: Send>(&self, what: impl FnOnce() -> T + Send) -> T {
        self.namespace.run(what)
    }

    /// Runs `ip` with these words inside of the namespace.
    pub fn ip(&self, words: &str) -> Result<(), Unavailable> {
        self.command("ip", words)
    }

    /// Runs a program with these words inside of the namespace.
    pub fn command(&self, program: &str, words: &str) -> Result<(), Unavailable> {
        self.namespace.command(program, words)
    }
}

/// A namespace belongs to a thread, so code that enters one runs on a thread that ends with it.
fn on_a_thread<T: Send>(what: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| match scope.spawn(what).join() {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
