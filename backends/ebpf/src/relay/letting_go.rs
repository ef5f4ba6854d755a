//! The test whether interfaces send the packets of programs in drivers.
//!
//! Some do not: a veth accepts frames from such programs only while its other end polls for them.
//! The packets are lost silently then. So each interface is tested when the program is attached,
//! and from time to time afterwards.

use std::time::{Duration, Instant};

use aya::Ebpf;
use aya::TestRun;
use aya::maps::xdp::DevMap;
use aya::maps::{Array, MapData};
use aya::programs::{ProgramError, ProgramFd, TestRunAttrs, TestRunOptions, Xdp};
use bpf_retry::unless_interrupted;
use nix::net::if_::if_nametoindex;

use super::Attachment;
use crate::attach::Path;
use crate::{EbpfError, Step};

const TRY_EVERY: Duration = Duration::from_secs(1);

const TRY: &str = "try_driver";
const END: &str = "end_of_try";

/// The shortest frame of Ethernet.
const FRAME: usize = 60;

/// Cost of the trials.
pub(super) struct Trial {
    slot: DevMap<MapData>,
    let_go: Array<MapData, u32>,
    next: Option<Instant>,
}

impl Trial {
    pub(super) fn new(slot: DevMap<MapData>, let_go: Array<MapData, u32>) -> Self {
        Trial {
            slot,
            let_go,
            next: None,
        }
    }

    /// Whether it is time to try again.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        let is_due = self.next.is_none_or(|next| next <= now);
        if is_due {
            self.next = Some(now + TRY_EVERY);
        }
        is_due
    }

    /// Tests all interfaces whose drivers run the program.
    ///
    /// Errors: the first that sends nothing.
    pub(super) fn on_all(&mut self, loaded: &mut Ebpf, found: &[Attachment]) -> Result<(), EbpfError> {
        for found in found.iter().filter(|found| found.path == Path::Driver) {
            // A kernel that cannot run the test gives no result.
            if let Ok(false) = self.on(loaded, &found.interface) {
                return Err(EbpfError::SendsNone(found.interface.clone()));
            }
        }
        Ok(())
    }

    /// Sends a frame without a receiver, which is dropped where it would be sent; returns whether
    /// it reached that point.
    fn on(&mut self, loaded: &mut Ebpf, name: &str) -> Result<bool, EbpfError> {
        let number = if_nametoindex(name).map_err(|_| EbpfError::NoInterface(name.to_owned()))?;
        let end = ready(loaded, END)?;
        ready(loaded, TRY)?;
        let failed = |error| EbpfError::inside(Step::Tables, error);
        self.slot
            .set(0, number, Some(&end), 0)
            .map_err(|error| EbpfError::inside(Step::Tables, error))?;
        let before = self.let_go.get(&0, 0).map_err(failed)?;
        let frame = [0; FRAME];
        let mut options = TestRunOptions::new();
        options.data_in = Some(&frame);
        options.attrs = TestRunAttrs::new().xdp_live_frames(1);
        program(loaded, TRY)?.test_run(options).map_err(unloadable)?;
        Ok(self.let_go.get(&0, 0).map_err(failed)? != before)
    }
}

/// A program, loaded if it was not yet.
fn ready(loaded: &mut Ebpf, name: &str) -> Result<ProgramFd, EbpfError> {
    let program = program(loaded, name)?;
    if program.fd().is_err() {
        unless_interrupted(|| program.load()).map_err(unloadable)?;
    }
    let fd = program.fd().map_err(unloadable)?;
    fd.try_clone().map_err(|error| EbpfError::of(Step::Load, error))
}

fn program<'a>(loaded: &'a mut Ebpf, name: &str) -> Result<&'a mut Xdp, EbpfError> {
    let program = loaded.program_mut(name).expect("the object has it");
    program.try_into().map_err(unloadable)
}

fn unloadable(error: ProgramError) -> EbpfError {
    EbpfError::inside(Step::Load, error)
}
