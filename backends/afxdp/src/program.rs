//! The XDP program in the kernel: loading, attaching, and the tables of the packets it takes.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::RawFd;

use aya::maps::{HashMap, MapData, XskMap};
use aya::programs::xdp::XdpMode;
use aya::programs::{ProgramError, Xdp};
use aya::{Ebpf, EbpfError, EbpfLoader, include_bytes_aligned};
use bpf_retry::{reason, unless_interrupted};

use crate::{AfxdpError, Step};

/// `program/weir.bpf.c`, compiled.
static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/weir.bpf.o"));

/// The place in the kernel where the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramMode {
    /// In the driver, before the packet has become the stack's.
    Native,
    /// In the stack, for drivers that know no XDP: it works, and saves little.
    Generic,
}

/// The program on one interface. It is detached when this is dropped or the process dies.
pub(crate) struct Program {
    /// Keeps it there.
    _loaded: Ebpf,
    sockets: XskMap<MapData>,
    addresses: HashMap<MapData, [u8; 16], u8>,
    relays: Option<TakenRelays>,
    mode: ProgramMode,
}

/// The relays whose RTP a program takes.
pub(crate) struct TakenRelays(HashMap<MapData, [u8; 20], u8>);

impl TakenRelays {
    /// Takes RTP for this relay. Link-local addresses are left to sockets, because they are unique
    /// only together with a zone.
    pub(crate) fn open(&mut self, at: SocketAddr) {
        let has_zone = matches!(at, SocketAddr::V6(at) if at.ip().is_unicast_link_local());
        if !has_zone && !at.ip().is_unspecified() {
            // If the table is full, the stack receives the packets.
            let _ = self.0.insert(key(at), 1, 0);
        }
    }

    /// Takes it no more.
    pub(crate) fn close(&mut self, at: SocketAddr) {
        let _ = self.0.remove(&key(at));
    }
}

/// `struct relay` of the program.
fn key(at: SocketAddr) -> [u8; 20] {
    let mut key = [0; 20];
    key[..16].copy_from_slice(&mapped(at.ip()).octets());
    key[16..18].copy_from_slice(&at.port().to_be_bytes());
    key
}

/// An address as the program has it.
pub(crate) fn mapped(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

impl Program {
    /// Puts it on an interface, in the driver if that can.
    pub(crate) fn attach(name: &str, interface: u32, port: u16) -> Result<Self, AfxdpError> {
        let failed = |error: EbpfError| AfxdpError::of(Step::Load, name, reason(error));
        let mut loaded = EbpfLoader::new()
            .override_global("media_port", &port, true)
            .load(OBJECT)
            .map_err(failed)?;
        let program = load(&mut loaded).map_err(|error| AfxdpError::of(Step::Load, name, reason(error)))?;
        let mode = attach(program, interface).map_err(|error| AfxdpError::of(Step::Attach, name, reason(error)))?;
        let sockets = loaded.take_map("sockets").expect("the program has it");
        let addresses = loaded.take_map("addresses").expect("the program has it");
        let relays = loaded.take_map("relays").expect("the program has it");
        Ok(Program {
            _loaded: loaded,
            sockets: sockets.try_into().expect("it is of this kind"),
            addresses: addresses.try_into().expect("it is of this kind"),
            relays: Some(TakenRelays(relays.try_into().expect("it is of this kind"))),
            mode,
        })
    }

    /// The table of the relays it takes, which the first caller gets.
    pub(crate) fn take_relays(&mut self) -> Option<TakenRelays> {
        self.relays.take()
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
        // If the table is full, the stack receives the packets.
        let _ = self.addresses.insert(address.octets(), 1, 0);
    }

    /// Takes it no more.
    pub(crate) fn ignore(&mut self, address: &Ipv6Addr) {
        let _ = self.addresses.remove(&address.octets());
    }
}

fn load(loaded: &mut Ebpf) -> Result<&mut Xdp, ProgramError> {
    let program = loaded.program_mut("take_rtp").expect("the object has it");
    let program: &mut Xdp = program.try_into().expect("it is of this kind");
    unless_interrupted(|| program.load())?;
    Ok(program)
}

fn attach(program: &mut Xdp, interface: u32) -> Result<ProgramMode, ProgramError> {
    let mut attach_in = |mode| unless_interrupted(|| program.attach_to_if_index(interface, mode));
    match attach_in(XdpMode::Driver) {
        Ok(_) => Ok(ProgramMode::Native),
        Err(_) => attach_in(XdpMode::Skb).map(|_| ProgramMode::Generic),
    }
}
