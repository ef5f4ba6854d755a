//! Drives the model and a device side by side through one history, and looks for the first
//! difference.

use std::fmt;
use std::time::Instant;

use crate::coverage::Coverage;
use crate::device::ModelDevice;
use crate::invariants::Invariants;
use crate::keystream::KeystreamCheck;
use crate::subject::Subject;
use crate::{Device, Observation, Step};

/// The first step at which a device differs from the model or breaks an invariant.
#[derive(Clone, Debug)]
pub struct Difference {
    /// At which step of the history.
    pub step: usize,
    /// The difference.
    pub what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at step {}: {}", self.step + 1, self.what)
    }
}

/// Makes a fresh device whose clock shows an instant.
pub type NewDevice<'a> = &'a dyn Fn(Instant) -> Box<dyn Device>;

/// Applies all `steps` to the model and to a new device, and compares the results after every step.
///
/// Errors: the first difference.
pub fn compare(steps: &[Step], new_device: NewDevice<'_>, start: Instant) -> Result<(), Difference> {
    let mut invariants = Invariants::default();
    let mut keystream = KeystreamCheck::default();
    side_by_side(steps, new_device, start, |step, got| {
        invariants.observe(step, got).and_then(|()| keystream.observe(got))
    })
}

/// The same as [`compare`], without invariants: for histories that do not meet their preconditions.
///
/// Errors: the first difference.
pub fn agree(steps: &[Step], new_device: NewDevice<'_>, start: Instant) -> Result<(), Difference> {
    side_by_side(steps, new_device, start, |_, _| Ok(()))
}

/// Compares after every step, and passes the device's results to `observe` when they equal the
/// model's.
fn side_by_side(
    steps: &[Step],
    new_device: NewDevice<'_>,
    start: Instant,
    mut observe: impl FnMut(&Step, &Observation) -> Result<(), String>,
) -> Result<(), Difference> {
    let mut model = Subject::new(Box::new(ModelDevice::new(start)), start);
    let mut device = Subject::new(new_device(start), start);
    let mut coverage = Coverage::new(device.device.plane());
    for (at, step) in steps.iter().enumerate() {
        let (expected, got) = (model.step(step), device.step(step));
        coverage.note(step, &got.written);
        let wrong = match expected.difference(&got) {
            Some(difference) => Err(difference),
            None => observe(step, &got),
        };
        wrong.map_err(|what| Difference { step: at, what })?;
    }
    coverage.finish();
    Ok(())
}

/// As [`check`], for a history of a clean network: what receivers get must be decodable, too.
///
/// Errors: the first promise that was broken.
pub fn check_clean(steps: &[Step], new_device: NewDevice<'_>, start: Instant) -> Result<(), Difference> {
    check_with(Invariants::of_clean_network(), steps, new_device, start)
}

/// As [`compare`], against the invariants alone: for the model itself.
///
/// Errors: the first promise that was broken.
pub fn check(steps: &[Step], new_device: NewDevice<'_>, start: Instant) -> Result<(), Difference> {
    check_with(Invariants::default(), steps, new_device, start)
}

fn check_with(
    mut invariants: Invariants,
    steps: &[Step],
    new_device: NewDevice<'_>,
    start: Instant,
) -> Result<(), Difference> {
    let mut device = Subject::new(new_device(start), start);
    let mut keystream = KeystreamCheck::default();
    let mut coverage = Coverage::new(device.device.plane());
    for (at, step) in steps.iter().enumerate() {
        let got = device.step(step);
        coverage.note(step, &got.written);
        let kept = invariants.observe(step, &got).and_then(|()| keystream.observe(&got));
        kept.map_err(|what| Difference { step: at, what })?;
    }
    coverage.finish();
    Ok(())
}
