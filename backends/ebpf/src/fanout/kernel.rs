//! The fan-out program in the kernel: loaded, attached, its tables.

use std::net::{IpAddr, SocketAddr};

use aya::maps::{Array, HashMap, Map, MapData, MapError, PerCpuArray, RingBuf};
use aya::programs::{ProgramError, SchedClassifier, TcAttachType, TestRunOptions};
use aya::{Ebpf, EbpfLoader, Pod, TestRun, include_bytes_aligned};
use nix::net::if_::if_nametoindex;

use super::merging;
use crate::error::reason;
use crate::layout::fanout::{
    FAN_COUNTS, FanoutNote, Pair, ReplicaCell, ReplicaEntry, StreamCell, StreamEntry, StreamKey, StreamPlace,
};
use crate::relay::allow_look_ups;
use crate::{EbpfError, Step};

/// `program/fanout.bpf.c`, compiled.
static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/fanout.bpf.o"));

/// What the program says of a frame that is not its: on to the stack.
pub(super) const NEXT: i32 = -1;

/// `struct __sk_buff` up to the number of the interface, which is at the end then.
const CONTEXT: usize = 44;
const CONTEXT_INTERFACE: usize = 40;

/// The program, on its interfaces. It leaves them when this is dropped or the process dies.
pub(super) struct Kernel {
    loaded: Ebpf,
    pub(super) legs: HashMap<MapData, Pair, u32>,
    pub(super) streams: HashMap<MapData, StreamKey, StreamPlace>,
    pub(super) stream_entries: Array<MapData, StreamEntry>,
    pub(super) stream_states: Array<MapData, StreamCell>,
    pub(super) replica_entries: Array<MapData, ReplicaEntry>,
    pub(super) replica_states: Array<MapData, ReplicaCell>,
    counts: PerCpuArray<MapData, u64>,
    notes: RingBuf<MapData>,
}

impl Kernel {
    /// Loads the program, and puts it where packets arrive.
    pub(super) fn start(interfaces: &[String]) -> Result<Self, EbpfError> {
        allow_look_ups().map_err(|error| EbpfError::of(Step::Forwarding, error))?;
        let mut loaded = EbpfLoader::new()
            .load(OBJECT)
            .map_err(|error| EbpfError::inside(Step::Load, error))?;
        let failed = |error: ProgramError| EbpfError::inside(Step::Load, error);
        program(&mut loaded)?.load().map_err(failed)?;
        for name in interfaces {
            if_nametoindex(name.as_str()).map_err(|_| EbpfError::NoInterface(name.clone()))?;
            let merges = merging::merges(name).map_err(|error| EbpfError::of(Step::Attach(name.clone()), error))?;
            if merges {
                return Err(EbpfError::Merges(name.clone()));
            }
            let attached = program(&mut loaded)?.attach(name, TcAttachType::Ingress);
            attached.map_err(|error| EbpfError::inside(Step::Attach(name.clone()), error))?;
        }
        Ok(Kernel {
            legs: take(&mut loaded, "legs")?,
            streams: take(&mut loaded, "streams")?,
            stream_entries: take(&mut loaded, "stream_entries")?,
            stream_states: take(&mut loaded, "stream_states")?,
            replica_entries: take(&mut loaded, "replica_entries")?,
            replica_states: take(&mut loaded, "replica_states")?,
            counts: take(&mut loaded, "counts")?,
            notes: take(&mut loaded, "notes")?,
            loaded,
        })
    }

    /// How often each thing was counted.
    pub(super) fn counts(&self) -> [u64; FAN_COUNTS as usize] {
        std::array::from_fn(|index| {
            let values = self.counts.get(&(index as u32), 0);
            values.map_or(0, |values| values.iter().sum())
        })
    }

    pub(super) fn next_note(&mut self) -> Option<FanoutNote> {
        let item = self.notes.next()?;
        let (words, _) = item.as_chunks();
        let word = |at: usize| words.get(at).copied().map_or(0, u32::from_ne_bytes);
        Some(FanoutNote {
            kind: word(0),
            replica: word(1),
            source: word(2),
            layered: word(3),
            temporal: word(4),
            zero: 0,
        })
    }

    /// Runs the program on a frame: what it says becomes of it.
    pub(super) fn try_frame(&mut self, interface: u32, frame: &[u8]) -> Result<i32, EbpfError> {
        let mut context = [0; CONTEXT];
        context[CONTEXT_INTERFACE..].copy_from_slice(&interface.to_ne_bytes());
        let mut options = TestRunOptions::new();
        options.data_in = Some(frame);
        options.ctx_in = Some(&context);
        let failed = |error| EbpfError::inside(Step::Load, error);
        let result = self.program()?.test_run(options).map_err(failed)?;
        Ok(result.return_value as i32)
    }

    /// The program itself, to be looked at.
    pub(super) fn program(&mut self) -> Result<&mut SchedClassifier, EbpfError> {
        program(&mut self.loaded)
    }
}

/// Writes a value into an array; false where the kernel does not take it.
pub(super) fn set<V: Pod>(array: &mut Array<MapData, V>, at: u32, value: V) -> bool {
    array.set(at, value, 0).is_ok()
}

/// Between whom, as the program has it.
pub(super) fn pair(local: SocketAddr, remote: SocketAddr) -> Pair {
    Pair {
        local: words(local.ip()),
        remote: words(remote.ip()),
        local_port: local.port().to_be(),
        remote_port: remote.port().to_be(),
    }
}

fn words(address: IpAddr) -> [u32; 4] {
    let octets = match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    };
    let (words, _) = octets.as_chunks();
    std::array::from_fn(|word| u32::from_ne_bytes(words[word]))
}

fn program(loaded: &mut Ebpf) -> Result<&mut SchedClassifier, EbpfError> {
    let program = loaded.program_mut("fan_out").expect("the object has it");
    program.try_into().map_err(|error| EbpfError::inside(Step::Load, error))
}

fn take<T: TryFrom<Map, Error = MapError>>(loaded: &mut Ebpf, name: &str) -> Result<T, EbpfError> {
    let map = loaded.take_map(name).expect("the object has it");
    T::try_from(map).map_err(|error| EbpfError::inside(Step::Tables, reason(error)))
}
