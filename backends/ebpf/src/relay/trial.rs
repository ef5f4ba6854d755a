//! The program run on a frame, on no interface.

use std::time::Duration;

use aya::programs::TestRunOptions;
use aya::{Ebpf, TestRun};

use super::Tried;
use super::hook::{self, Place};
use crate::{EbpfError, Step};

/// `enum xdp_action`.
mod xdp_action {
    pub(super) const XDP_PASS: u32 = 2;
    pub(super) const XDP_TX: u32 = 3;
    pub(super) const XDP_REDIRECT: u32 = 4;
}

/// The verdicts of a program in the stack.
mod tc_action {
    pub(super) const NEXT: u32 = u32::MAX;
    pub(super) const REDIRECT: u32 = 7;
}

/// `struct __sk_buff` up to the number of the interface, in words.
const BUFFER_WORDS: usize = 11;

/// Runs a frame through the program this many times. Returns the result, the frame afterwards, and
/// the average time.
pub(super) fn run(
    loaded: &mut Ebpf,
    place: Place,
    interface: u32,
    frame: &[u8],
    times: u32,
) -> Result<(Tried, Vec<u8>, Duration), EbpfError> {
    let context = match place {
        // `struct xdp_md`: where data begins, where it ends, where metadata begins, from which
        // interface and queue, to which interface.
        Place::Driver | Place::Generic => vec![0, frame.len() as u32, 0, interface, 0, 0],
        Place::Stack => {
            let mut buffer = vec![0; BUFFER_WORDS];
            buffer[BUFFER_WORDS - 1] = interface;
            buffer
        }
    };
    let context: Vec<u8> = context.into_iter().flat_map(u32::to_ne_bytes).collect();
    let mut out = vec![0; frame.len()];
    let mut options = TestRunOptions::new();
    options.data_in = Some(frame);
    options.data_out = Some(&mut out);
    options.ctx_in = Some(&context);
    options.repeat = times;
    let failed = |error| EbpfError::inside(Step::Load, error);
    let (tried, took) = match place {
        Place::Driver | Place::Generic => {
            let result = hook::xdp(loaded)?.test_run(options).map_err(failed)?;
            let tried = match result.return_value {
                xdp_action::XDP_PASS => Tried::Passed,
                xdp_action::XDP_TX => Tried::Sent,
                xdp_action::XDP_REDIRECT => Tried::Redirected,
                _ => Tried::Dropped,
            };
            (tried, result.duration)
        }
        Place::Stack => {
            let result = hook::classifier(loaded)?.test_run(options).map_err(failed)?;
            let tried = match result.return_value {
                tc_action::NEXT => Tried::Passed,
                tc_action::REDIRECT => Tried::Sent,
                _ => Tried::Dropped,
            };
            (tried, result.duration)
        }
    };
    Ok((tried, out, took))
}
