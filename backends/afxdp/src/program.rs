//! The XDP program in the kernel: loaded, attached, told what to take.

use std::io;
use std::net::Ipv6Addr;
use std::os::fd::RawFd;

use aya::maps::{HashMap, MapData, XskMap};
use aya::programs::xdp::XdpMode;
use aya::programs::{ProgramError, Xdp};
use aya::{Ebpf, EbpfError, EbpfLoader, include_bytes_aligned};

use crate::{AfxdpError, Step};

/// `program/weir.bpf.c`, compiled.
static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/weir.bpf.o"));

/// Where the kernel runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramMode {
    /// In the driver, before the packet has become the stack's.
    Native,
    /// In the stack, for drivers that know no XDP: it works, and saves little.
    Generic,
}

/// The program on one interface. It leaves the interface when this is dropped or the process dies.
pub(crate) struct Program {
    /// Keeps it there.
    _loaded: Ebpf,
    sockets: XskMap<MapData>,
    addresses: HashMap<MapData, [u8; 16], u8>,
    mode: ProgramMode,
}

impl Program {
    /// Puts it on an interface, in the driver if that can.
    pub(crate) fn attach(name: &str, interface: u32, port: u16) -> Result<Self, AfxdpError> {
        let failed = |error: EbpfError| AfxdpError::of(Step::Load, name, reason(error));
        let mut loaded = EbpfLoader::new()
            .override_global("media_port", &port, true)
            .load(OBJECT)
            .map_err(failed)?;
        let mode = attach(&mut loaded, interface).map_err(|error| AfxdpError::of(Step::Attach, name, reason(error)))?;
        let sockets = loaded.take_map("sockets").expect("the program has it");
        let addresses = loaded.take_map("addresses").expect("the program has it");
        Ok(Program {
            _loaded: loaded,
            sockets: sockets.try_into().expect("it is of this kind"),
            addresses: addresses.try_into().expect("it is of this kind"),
            mode,
        })
    }

    pub(crate) fn mode(&self) -> ProgramMode {
        self.mode
    }

    /// Gives a queue's RTP to an AF_XDP socket.
    pub(crate) fn redirect(&mut self, queue: u32, socket: RawFd) -> io::Result<()> {
        self.sockets.set(queue, socket, 0).map_err(io::Error::other)
    }

    /// Takes what is for this address.
    pub(crate) fn listen(&mut self, address: &Ipv6Addr) {
        // When there are more than it has room for, the stack takes those.
        let _ = self.addresses.insert(address.octets(), 1, 0);
    }

    /// Takes it no more.
    pub(crate) fn ignore(&mut self, address: &Ipv6Addr) {
        let _ = self.addresses.remove(&address.octets());
    }
}

fn attach(loaded: &mut Ebpf, interface: u32) -> Result<ProgramMode, ProgramError> {
    let program = loaded.program_mut("take_rtp").expect("the object has it");
    let program: &mut Xdp = program.try_into().expect("it is of this kind");
    program.load()?;
    match program.attach_to_if_index(interface, XdpMode::Driver) {
        Ok(_) => Ok(ProgramMode::Native),
        Err(_) => program
            .attach_to_if_index(interface, XdpMode::Skb)
            .map(|_| ProgramMode::Generic),
    }
}

/// The operating system's error inside of a loader's, so that a missing privilege is seen as one.
fn reason(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    let mut inner: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(error) = inner {
        if let Some(code) = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error) {
            return io::Error::from_raw_os_error(code);
        }
        inner = error.source();
    }
    io::Error::other(error)
}
