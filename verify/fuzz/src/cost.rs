//! The cost of an input: time that grows linearly.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

use crate::hostile::Family;
use crate::targets::Target;

/// How many times as long the second input of a family is.
const GROWTH: u32 = 8;
/// The greatest ratio of the longer input's time to the shorter's: linear work takes [`GROWTH`]
/// times as long, quadratic work 64 times.
const TIMES_MAX: u32 = 3 * GROWTH;
/// Time that does not matter.
const SLACK: Duration = Duration::from_millis(4);
/// The shorter input, in bytes.
const SHORT: usize = 8 << 10;

/// Runs a target on a short and on a long input of a hostile family. Returns a description if its
/// work grows faster than the input.
pub fn excess(target: &Target, (name, family): Family) -> Option<String> {
    let [short, long] = [SHORT, SHORT * GROWTH as usize].map(|len| best_time(target, &family(len)));
    let is_linear = long <= (short * TIMES_MAX).max(SLACK * TIMES_MAX / GROWTH);
    (!is_linear).then(|| {
        let target = target.name;
        format!("{target}, {name}: {short:?} for {SHORT} bytes, {long:?} for {GROWTH} times as many")
    })
}

/// Processor time of this thread, the least of three runs: others on the machine can only add to
/// it.
fn best_time(target: &Target, input: &[u8]) -> Duration {
    let times = (0..3).map(|_| {
        let before = thread_time();
        (target.run)(input);
        thread_time() - before
    });
    times.min().expect("it ran")
}

fn thread_time() -> Duration {
    let clock = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    clock.expect("every thread has a clock").into()
}
