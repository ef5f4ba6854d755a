//! The two XDP programs of the measurements: one that relays with the least possible work, and one
//! that does nothing.

use std::io;

use aya::programs::Xdp;
use aya::programs::xdp::XdpMode;
use aya::{Ebpf, include_bytes_aligned};

/// `program/bare.bpf.c`, compiled.
static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/bare.bpf.o"));

/// A program on an interface. It is removed when this is dropped or the process ends.
pub struct Attached {
    _loaded: Ebpf,
}

/// The program on an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Writes new headers and sends, without a table and without a question: the least that a relay
    /// in XDP could cost.
    Bounce,
    /// Passes everything. A veth accepts packets sent by XDP at its other end only if there is XDP
    /// at this end too.
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

    /// Leaves it there until the process is ended.
    pub fn stay(self) -> ! {
        loop {
            std::thread::park();
        }
    }
}
