//! The bare programs, and the sink at the far end.

use std::error::Error;

use aya::maps::xdp::DevMap;
use aya::maps::{Array, MapData};
use aya::programs::xdp::XdpMode;
use aya::programs::{SchedClassifier, TcAttachType, Xdp};
use aya::{Ebpf, EbpfLoader, Pod, include_bytes_aligned};
use nix::net::if_::if_nametoindex;
use veth::Side;

static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/bare.bpf.o"));

/// How many receivers there may be.
pub(crate) const RECEIVERS_MAX: u32 = 128;

/// Arrivals at one receiver, as the sink keeps them; times in nanoseconds.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrived {
    /// Packets.
    pub packets: u64,
    last: u64,
    /// How many times there were between two.
    pub deltas: u64,
    /// Their sum,
    pub sum: u64,
    /// the least,
    pub least: u64,
    /// and the greatest.
    pub greatest: u64,
}

// SAFETY: integers without holes between them; any bytes are a value.
#[allow(unsafe_code, reason = "a promise about bytes")]
unsafe impl Pod for Arrived {}

/// The far end, where everything is counted and dropped.
pub(crate) struct Sink {
    _loaded: Ebpf,
    arrivals: Array<MapData, Arrived>,
}

impl Sink {
    /// On a side's interface.
    pub(crate) fn start(side: &Side) -> Result<Self, Box<dyn Error + Send + Sync>> {
        side.run(|| {
            let mut loaded = Ebpf::load(OBJECT)?;
            attach(&mut loaded, "sink", side.interface)?;
            let arrivals = loaded.take_map("arrivals").expect("the object has it");
            Ok(Sink {
                _loaded: loaded,
                arrivals: arrivals.try_into()?,
            })
        })
    }

    /// Arrivals so far at each receiver; the last entry is for packets of none of them.
    pub(crate) fn read(&self) -> Vec<Arrived> {
        self.arrivals.iter().map(Result::unwrap_or_default).collect()
    }

    /// Forgets all of it.
    pub(crate) fn clear(&mut self) {
        for place in 0..self.arrivals.len() {
            let _ = self.arrivals.set(place, Arrived::default(), 0);
        }
    }
}

/// Puts a bare classifier on a side's interface.
pub(crate) fn classifier(side: &Side, name: &str, receivers: u32) -> Result<Ebpf, Box<dyn Error + Send + Sync>> {
    side.run(|| {
        let mut loaded = load(side, receivers)?;
        attach(&mut loaded, name, side.interface)?;
        Ok(loaded)
    })
}

/// Puts the bare broadcast on a side's interface: `receivers` slots, all of which name it.
pub(crate) fn broadcast(side: &Side, receivers: u32) -> Result<Ebpf, Box<dyn Error + Send + Sync>> {
    side.run(|| {
        let mut loaded = load(side, receivers)?;
        let index = if_nametoindex(side.interface)?;
        let out: &mut Xdp = loaded
            .program_mut("bare_xdp_out")
            .expect("the object has it")
            .try_into()?;
        out.load()?;
        let out = out.fd()?.try_clone()?;
        let mut slots: DevMap<MapData> = loaded.take_map("slots").expect("the object has it").try_into()?;
        for slot in 0..receivers {
            slots.set(slot, index, Some(&out), 0)?;
        }
        let program: &mut Xdp = loaded.program_mut("bare_xdp").expect("the object has it").try_into()?;
        program.load()?;
        program.attach_to_if_index(index, XdpMode::Driver)?;
        Ok(loaded)
    })
}

fn load(side: &Side, receivers: u32) -> Result<Ebpf, Box<dyn Error + Send + Sync>> {
    let index = if_nametoindex(side.interface)?;
    let mut loader = EbpfLoader::new();
    loader.override_global("receivers", &receivers, true);
    loader.override_global("interface", &index, true);
    Ok(loader.load(OBJECT)?)
}

fn attach(loaded: &mut Ebpf, name: &str, interface: &str) -> Result<(), Box<dyn Error + Send + Sync>> {
    let program: &mut SchedClassifier = loaded.program_mut(name).expect("the object has it").try_into()?;
    program.load()?;
    program.attach(interface, TcAttachType::Ingress)?;
    Ok(())
}
