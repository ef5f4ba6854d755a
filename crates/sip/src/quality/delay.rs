//! The delay impairment of a rating: the whole of ITU-T G.107 clause 7.4 with the defaults of its
//! table 2.
//!
//! The straight lines that are often used in its place are right to 300 ms, and far too strict
//! beyond.

use std::f64::consts::E;
use std::time::Duration;

/// Talker echo loudness rating, TELR, in dB.
const TALKER_ECHO: f64 = 65.0;
/// Weighted echo path loss, WEPL, in dB.
const ECHO_PATH_LOSS: f64 = 110.0;
/// Receive loudness rating, RLR, in dB.
const RECEIVE: f64 = 2.0;
/// All noise of circuit, rooms and floor, No, in dBm0p.
const NOISE: f64 = -61.18;
/// The signal over that, Ro.
const SIGNAL: f64 = 94.77;
/// The least delay that is noticed, mT, in milliseconds. How sensitive users are to more, sT, is 1.
const NOTICED: f64 = 100.0;

/// The delay impairment factor Id, less its value without delay, which is part of 93.2.
///
/// Shape: `delay` is one way, Ta and T; the round trip Tr is twice that.
pub(super) fn impairment(delay: Duration) -> f64 {
    let delay = delay.as_secs_f64() * 1000.0;
    talker_echo(delay) + listener_echo(2.0 * delay) - listener_echo(0.0) + too_long(delay)
}

/// Idte.
fn talker_echo(delay: f64) -> f64 {
    let loudness = TALKER_ECHO - 40.0 * ((1.0 + delay / 10.0) / (1.0 + delay / 150.0)).log10()
        + 6.0 * E.powf(-0.3 * delay * delay);
    let signal = -1.5 * (NOISE - RECEIVE);
    let half = (signal - (80.0 + 2.5 * (loudness - 14.0))) / 2.0;
    ((half * half + 100.0).sqrt() + half - 1.0) * (1.0 - E.powf(-delay))
}

/// Idle.
fn listener_echo(round_trip: f64) -> f64 {
    let rating = 10.5 * (ECHO_PATH_LOSS + 7.0) * (round_trip + 1.0).powf(-0.25);
    let half = (SIGNAL - rating) / 2.0;
    half + (half * half + 169.0).sqrt()
}

/// Idd: parties talk at the same time because of delay alone, without echo.
fn too_long(delay: f64) -> f64 {
    if delay <= NOTICED {
        return 0.0;
    }
    let x = (delay / NOTICED).log2();
    let root = |x: f64| (1.0 + x.powi(6)).powf(1.0 / 6.0);
    25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0)
}
