//! The other end of a veth.

use aya::programs::Xdp;
use aya::{Ebpf, EbpfLoader, include_bytes_aligned};
use bpf_retry::unless_interrupted;
use nix::net::if_::if_nametoindex;

use crate::{EbpfError, Step, attach};

static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/pass.bpf.o"));

/// A program that passes everything, on an interface until this is dropped.
///
/// A veth accepts frames from XDP programs at its other end only while it has a program itself.
/// Other devices do not need this.
pub struct Pass {
    _loaded: Ebpf,
}

impl Pass {
    /// Puts it on an interface.
    pub fn start(interface: &str) -> Result<Self, EbpfError> {
        let failed = |error| EbpfError::inside(Step::Load, error);
        let number = if_nametoindex(interface).map_err(|_| EbpfError::NoInterface(interface.to_owned()))?;
        let mut loaded = EbpfLoader::new()
            .load(OBJECT)
            .map_err(|error| EbpfError::inside(Step::Load, error))?;
        let program = loaded.program_mut("pass").expect("the object has it");
        let program: &mut Xdp = program.try_into().map_err(failed)?;
        unless_interrupted(|| program.load()).map_err(failed)?;
        let put = |program: &mut Xdp| match attach::in_driver(program, number) {
            Err(error) if attach::is_unsupported(&error) => attach::generic(program, number),
            put => put,
        };
        attach::attach(program, interface, None, put)?;
        Ok(Pass { _loaded: loaded })
    }
}
