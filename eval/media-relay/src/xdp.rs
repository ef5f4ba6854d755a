//! The two programs in XDP that measurements need: one that relays with the least work there is,
//! and one that does nothing.

use std::io;

use aya::programs::Xdp;
use aya::programs::xdp::XdpMode;
use aya::{Ebpf, include_bytes_aligned};

/// `program/bare.bpf.c`, compiled.
static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/bare.bpf.o"));

/// A program on an interface. It leaves the interface when this is dropped or the process dies.
pub struct Attached {
    _loaded: Ebpf,
}

/// The program on an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Writes new headers and sends, without a table and without a question: the least that a relay
    /// in XDP could cost.
    Bounce,
    /// Lets everything pass. A veth takes what XDP sends from its other end only where XDP is at
    /// this end too.
    Pass,
}

impl Attached {
    /// Puts a program on an interface.
    pub fn to(interface: &str, program: Program) -> io::Result<Self> {
        let mut loaded = Ebpf::load(OBJECT).map_err(io::Error::other)?;
        let name = match program {
            Program::Bounce => "bounce",
            Program::Pass => "pass",
        };
        let program = loaded.program_mut(name).expect("the object has it");
        let program: &mut Xdp = program.try_into().expect("it is of this kind");
        program.load().map_err(io::Error::other)?;
        program.attach(interface, XdpMode::Driver).map_err(io::Error::other)?;
        Ok(Self { _loaded: loaded })
    }

    /// Leaves it there as long as this process lives: until it is told to end.
    pub fn stay(self) -> ! {
        loop {
            std::thread::park();
        }
    }
}
