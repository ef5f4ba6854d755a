//! Copies made in the driver: the interfaces that can do it, and the path of packets to them.
//!
//! A broadcast makes as many copies as a device map has slots. So each interface has a map with one
//! slot, one with two, and so on, up to the most receivers that any stream has had.

use std::time::{Duration, Instant};

use aya::maps::xdp::DevMap;
use aya::maps::{HashOfMaps, Map, MapData, PerCpuArray};
use aya::programs::xdp::XdpMode;
use aya::programs::{ProgramError, ProgramFd, TestRunAttrs, TestRunOptions, Xdp};
use aya::{Ebpf, TestRun};
use bpf_retry::unless_interrupted;
use nix::net::if_::if_nametoindex;

use crate::layout::fanout::{FAN_TRIED, FANOUT_COPIES, Fan, ROOMS_INTERFACES};
use crate::maps::take;
use crate::{EbpfError, RelayOffload, Step, attach};

/// `BPF_MAP_TYPE_DEVMAP`, and the sizes of its keys and values.
const DEVMAP: (u32, u32, u32) = (14, 4, 8);

/// The interval between checks that ordered copies are sent, and the number of failed checks in a
/// row that are tolerated.
const WATCH_EVERY: Duration = Duration::from_secs(1);
const STUCK_MAX: u32 = 2;

/// The programs: one examines arriving packets, one rewrites copies for their receivers, and two
/// test whether copies can be sent.
const PROGRAMS: [&str; 4] = ["fan_out_in_driver", "leave_driver", "try_driver", "end_of_try"];

/// The shortest frame of Ethernet.
const FRAME: usize = 60;

/// The driver's program, where all interfaces can broadcast.
pub(super) struct Broadcast {
    fans: HashOfMaps<MapData, Fan, DevMap<MapData>>,
    /// The program that rewrites a copy for its receiver.
    leave: ProgramFd,
    interfaces: Vec<u32>,
    /// How many slots the largest map of each interface has.
    copies: u32,
    mark: u32,
}

impl Broadcast {
    /// Attaches the program where packets arrive: after the relays' program there, or else by
    /// itself. `mark` is the mark it was loaded with.
    ///
    /// Errors: the reason why copies cannot be made in the driver; then none are.
    pub(super) fn start(
        loaded: &mut Ebpf,
        names: &[String],
        counts: &PerCpuArray<MapData, u64>,
        mark: u32,
        relays: Option<&mut RelayOffload>,
    ) -> Result<Self, EbpfError> {
        if names.is_empty() || names.len() > ROOMS_INTERFACES as usize {
            return Err(EbpfError::Interfaces);
        }
        let number = |name: &String| if_nametoindex(name.as_str()).map_err(|_| EbpfError::NoInterface(name.clone()));
        let interfaces: Vec<u32> = names.iter().map(number).collect::<Result<_, _>>()?;
        let started = Self::start_on(loaded, names, interfaces, counts, mark, relays);
        if started.is_err() {
            // Detaches the programs that are attached already.
            for name in PROGRAMS {
                let _ = program(loaded, name)?.unload();
            }
        }
        started
    }

    fn start_on(
        loaded: &mut Ebpf,
        names: &[String],
        interfaces: Vec<u32>,
        counts: &PerCpuArray<MapData, u64>,
        mark: u32,
        relays: Option<&mut RelayOffload>,
    ) -> Result<Self, EbpfError> {
        for name in PROGRAMS {
            let program = program(loaded, name)?;
            unless_interrupted(|| program.load()).map_err(failed)?;
        }
        let leave = clone_of(loaded, "leave_driver")?;
        match relays {
            Some(relays) => relays.lead_on(&clone_of(loaded, "fan_out_in_driver")?)?,
            None => put_on(program(loaded, "fan_out_in_driver")?, names, &interfaces)?,
        }
        let mut trial = take(loaded, "tried")?;
        for (name, interface) in names.iter().zip(&interfaces) {
            if !lets_go(loaded, &mut trial, counts, *interface)? {
                return Err(EbpfError::SendsNone(name.clone()));
            }
        }
        Ok(Broadcast {
            fans: take(loaded, "fans")?,
            leave,
            interfaces,
            copies: 0,
            mark,
        })
    }

    /// The mark of a stream with this many receivers that the driver copies; `None` where there is
    /// no room for that.
    pub(super) fn mark(&mut self, receivers: usize) -> Option<u32> {
        let wanted = u32::try_from(receivers)
            .ok()
            .filter(|copies| *copies <= FANOUT_COPIES)?;
        while self.copies < wanted {
            for interface in self.interfaces.clone() {
                self.add_fan(interface, self.copies + 1)?;
            }
            self.copies += 1;
        }
        Some(self.mark)
    }

    fn add_fan(&mut self, interface: u32, copies: u32) -> Option<()> {
        let (kind, key, value) = DEVMAP;
        let map = aya_obj::Map::new_from_params(kind, key, value, copies, 0);
        let map = Map::DevMap(MapData::create(map, "fan", None).ok()?);
        let mut fan: DevMap<MapData> = map.try_into().ok()?;
        for slot in 0..copies {
            fan.set(slot, interface, Some(&self.leave), 0).ok()?;
        }
        self.fans.insert(Fan { interface, copies }, &fan, 0).ok()
    }
}

/// Copies that were ordered, and that were sent, so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traffic {
    pub(super) ordered: u64,
    pub(super) left: u64,
}

/// Checks from time to time that ordered copies are still sent: a driver that could send them may
/// stop to accept any.
#[derive(Debug, Default)]
pub(super) struct Watch {
    at: Option<Instant>,
    before: Traffic,
    stuck: u32,
}

impl Watch {
    /// Whether a check is due.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        let is_due = self.at.is_none_or(|at| at <= now);
        if is_due {
            self.at = Some(now + WATCH_EVERY);
        }
        is_due
    }

    pub(super) fn is_stuck(&mut self, traffic: Traffic) -> bool {
        let before = std::mem::replace(&mut self.before, traffic);
        // One packet's copies may be on their way just now; not twice.
        let is_stuck = traffic.ordered > before.ordered && traffic.left == before.left;
        self.stuck = if is_stuck { self.stuck + 1 } else { 0 };
        self.stuck >= STUCK_MAX
    }
}

/// Attaches the program to interfaces whose drivers run it natively.
fn put_on(program: &mut Xdp, names: &[String], interfaces: &[u32]) -> Result<(), EbpfError> {
    for (name, interface) in names.iter().zip(interfaces) {
        let attached = program.attach_to_if_index(*interface, XdpMode::Driver);
        attached.map_err(|error| match attach::is_unsupported(&error) {
            true => EbpfError::NotNative(name.clone()),
            false => EbpfError::inside(Step::Attach(name.clone()), error),
        })?;
    }
    Ok(())
}

/// Whether an interface accepts a frame from the driver's program. The test frame has no receiver
/// and is dropped where it would be sent.
fn lets_go(
    loaded: &mut Ebpf,
    trial: &mut DevMap<MapData>,
    counts: &PerCpuArray<MapData, u64>,
    interface: u32,
) -> Result<bool, EbpfError> {
    let tried = || counts.get(&FAN_TRIED, 0).map_or(0, |values| values.iter().sum::<u64>());
    let end = clone_of(loaded, "end_of_try")?;
    trial
        .set(0, interface, Some(&end), 0)
        .map_err(|error| EbpfError::inside(Step::Tables, error))?;
    let before = tried();
    let frame = [0; FRAME];
    let mut options = TestRunOptions::new();
    options.data_in = Some(&frame);
    options.attrs = TestRunAttrs::new().xdp_live_frames(1);
    program(loaded, "try_driver")?.test_run(options).map_err(failed)?;
    Ok(tried() > before)
}

/// Has a frame arrive at an interface, and what becomes of it happen.
pub(super) fn arrive(loaded: &mut Ebpf, interface: u32, frame: &[u8]) -> Result<(), EbpfError> {
    // `struct xdp_md`: where data begins, where it ends, where metadata begins, from which
    // interface and queue, to which interface.
    let context = [0, frame.len() as u32, 0, interface, 0, 0]
        .map(u32::to_ne_bytes)
        .concat();
    let mut options = TestRunOptions::new();
    options.data_in = Some(frame);
    options.ctx_in = Some(&context);
    options.attrs = TestRunAttrs::new().xdp_live_frames(1);
    program(loaded, "fan_out_in_driver")?
        .test_run(options)
        .map_err(failed)?;
    Ok(())
}

fn failed(error: ProgramError) -> EbpfError {
    EbpfError::inside(Step::Load, error)
}

fn program<'a>(loaded: &'a mut Ebpf, name: &str) -> Result<&'a mut Xdp, EbpfError> {
    let program = loaded.program_mut(name).expect("the object has it");
    program.try_into().map_err(failed)
}

fn clone_of(loaded: &mut Ebpf, name: &str) -> Result<ProgramFd, EbpfError> {
    let program = program(loaded, name)?.fd().map_err(failed)?;
    program.try_clone().map_err(|error| EbpfError::of(Step::Load, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_that_takes_nothing_any_more_is_noticed() {
        let mut watch = Watch::default();
        let mut look = |ordered, left| watch.is_stuck(Traffic { ordered, left });
        assert!(!look(10, 10));
        assert!(!look(20, 10), "they may be on their way");
        assert!(!look(30, 30));
        assert!(!look(40, 30));
        assert!(!look(40, 30), "nobody speaks");
        assert!(!look(50, 30));
        assert!(look(60, 30));
    }
}
