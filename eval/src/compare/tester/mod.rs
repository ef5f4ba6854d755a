//! LiveKit's load tester as the client of one measurement.

mod process;
mod sample;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::report::Report;
use process::Tester;
use sample::Sample;

/// Time that the load tester stays after the window. Shape: seconds.
const AFTER: u64 = 2;
/// Datagrams a second of each track that show that media flow. Speech is 50, and reports arrive
/// without media.
const MEDIA_MIN: u64 = 10;

/// A measurement of a server under `lk perf load-test`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoadTest {
    /// Its name among the runs.
    pub name: String,
    /// The path of `lk`.
    pub program: PathBuf,
    /// The server's API key and its secret.
    pub credentials: [String; 2],
    /// The arguments of `lk perf load-test` that shape the load.
    pub arguments: Vec<String>,
    /// Seconds between the last join and the window.
    pub settle: u64,
    /// The measured window in seconds.
    pub seconds: u64,
}

impl LoadTest {
    /// Lets clients join the server at `address`, which is this process, and measures while media
    /// flow. Output goes to `folder`.
    ///
    /// Errors: the load tester fails or is too slow, or its clients lack tracks or media.
    pub(crate) fn perform(&self, address: SocketAddr, server: u32, folder: &Path) -> io::Result<Report> {
        let mut tester = Tester::start(self, address, folder)?;
        tester.wait_until_connected()?;
        thread::sleep(Duration::from_secs(self.settle));
        let pids = [server, tester.pid()];
        let first = Sample::take(pids);
        thread::sleep(Duration::from_secs(self.seconds));
        let last = Sample::take(pids);
        let total = tester.finish()?;
        if total.subscribed < total.expected {
            let (subscribed, expected) = (total.subscribed, total.expected);
            return Err(io::Error::other(format!(
                "{subscribed} of {expected} tracks were subscribed to"
            )));
        }
        let report = Report {
            target: self.name.clone(),
            scenario: self.arguments.join(" "),
            negotiated: format!("lk, {} tracks", total.expected),
            subscriptions: total.subscribed,
            lost: total.lost,
            ..last.report_since(&first, pids)
        };
        if report.replicas_received < MEDIA_MIN * self.seconds * total.expected {
            return Err(io::Error::other(
                "lk's clients received no media; was lk built without the files of Git LFS?",
            ));
        }
        Ok(report)
    }

    /// How long the load tester stays after everybody has joined.
    fn duration(&self) -> Duration {
        Duration::from_secs(self.settle + self.seconds + AFTER)
    }
}
