//! The parts of the program that calls of SIP proxies need.

use southbound::relay::RelayNotice;
use tokio::sync::mpsc;
use wire::sdp::Fingerprint;

use crate::media::media_thread::CommandSender;
use crate::metrics::Metrics;

/// The parts that the relay needs, beside the settings.
pub(crate) struct Dependencies {
    /// Hashes of our certificate for descriptions, by each function.
    pub fingerprints: Vec<Fingerprint>,
    /// The clock.
    pub clock: sip::WallClock,
    /// All the randomness there is.
    pub seed: [u8; 32],
    /// Orders for the media node.
    pub commands: CommandSender,
    /// Its notices.
    pub relay_notices: mpsc::Receiver<RelayNotice>,
    /// The measurements.
    pub metrics: Metrics,
}
