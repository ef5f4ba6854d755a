//! The process of `lk perf load-test`.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use super::LoadTest;
use crate::clock;

/// Participants that it starts in a second: the most that it allows.
const JOIN_RATE: &str = "10";
/// The line after the last join.
const CONNECTED: &str = "Finished connecting to room";
/// How long joining may take; each client tries for ten seconds at least.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);
/// How long it may take to let everybody leave.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(30);
/// Lines of output that are shown if it fails.
const LAST_LINES: usize = 5;

/// The running load tester; it is killed when this is dropped.
pub(crate) struct Tester {
    child: Child,
    lines: Receiver<String>,
    said: Vec<String>,
    errors: PathBuf,
    duration: Duration,
}

/// The last row of its summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Total {
    /// Tracks that subscribers got.
    pub subscribed: u64,
    /// Tracks that they were to get.
    pub expected: u64,
    /// Packets that they missed, from the first one to the last.
    pub lost: u64,
}

impl Tester {
    /// Starts it against the server at `address`, with `folder` as its home, so that no settings of
    /// the user's are read.
    pub(crate) fn start(test: &LoadTest, address: SocketAddr, folder: &Path) -> io::Result<Self> {
        let errors = folder.join(format!("{}.log", test.name));
        let duration = format!("{}s", test.duration().as_secs());
        let [key, secret] = &test.credentials;
        let mut child = Command::new(&test.program)
            .args([
                "perf",
                "load-test",
                "--num-per-second",
                JOIN_RATE,
                "--duration",
                &duration,
            ])
            .args(&test.arguments)
            .env("LIVEKIT_URL", format!("ws://{address}"))
            .env("LIVEKIT_API_KEY", key)
            .env("LIVEKIT_API_SECRET", secret)
            .env("HOME", folder)
            .env("NO_COLOR", "1")
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&errors)?)
            .spawn()?;
        let output = child.stdout.take().expect("it is piped");
        let (sender, lines) = channel();
        thread::spawn(move || {
            let all = BufReader::new(output).lines().map_while(Result::ok);
            // Nobody listens any more after a failure.
            all.map(|line| sender.send(line))
                .take_while(Result::is_ok)
                .for_each(drop);
        });
        Ok(Self {
            child,
            lines,
            said: Vec::new(),
            errors,
            duration: test.duration(),
        })
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until everybody has joined.
    pub(crate) fn wait_until_connected(&mut self) -> io::Result<()> {
        match self.read_until(CONNECT_TIMEOUT, |line| line.starts_with(CONNECTED)) {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.failed("lk ended before everybody had joined")),
            Err(_) => Err(self.failed("lk's clients did not join in time")),
        }
    }

    /// Waits for its end; returns the last row of its summary.
    pub(crate) fn finish(mut self) -> io::Result<Total> {
        let limit = self.duration + LEAVE_TIMEOUT;
        if self.read_until(limit, |_| false).is_err() {
            return Err(self.failed("lk did not end in time"));
        }
        total(&self.said).ok_or_else(|| self.failed("lk printed no summary"))
    }

    /// Reads lines until one is wanted; returns whether one was, or else that the output ended.
    fn read_until(&mut self, limit: Duration, wanted: impl Fn(&str) -> bool) -> Result<bool, RecvTimeoutError> {
        let began = clock::now();
        loop {
            let line = match self.lines.recv_timeout(limit.saturating_sub(began.elapsed())) {
                Ok(line) => line,
                Err(RecvTimeoutError::Disconnected) => return Ok(false),
                Err(timeout) => return Err(timeout),
            };
            let is_wanted = wanted(&line);
            self.said.push(line);
            if is_wanted {
                return Ok(true);
            }
        }
    }

    fn failed(&self, why: &str) -> io::Error {
        let errors = std::fs::read_to_string(&self.errors).unwrap_or_default();
        let lines: Vec<&str> = self.said.iter().map(String::as_str).chain(errors.lines()).collect();
        let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n");
        io::Error::other(format!("{why}; its output ends with: {last}"))
    }
}

impl Drop for Tester {
    fn drop(&mut self) {
        // It has ended by itself in all but failed runs.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The row of all subscribers together: name, tracks, bit rate, lost packets, errors.
fn total(lines: &[String]) -> Option<Total> {
    let mut rows = lines.iter().rev().map(|line| cells(line));
    let row = rows.find(|cells| cells.first() == Some(&"Total"))?;
    let (subscribed, expected) = row.get(1)?.split_once('/')?;
    let lost = row.get(3)?.split(' ').next()?;
    Some(Total {
        subscribed: subscribed.parse().ok()?,
        expected: expected.parse().ok()?,
        // A dash stands for no packets at all.
        lost: lost.parse().unwrap_or(0),
    })
}

fn cells(line: &str) -> Vec<&str> {
    line.split('│').map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str = "\
Subscriber summaries:
┌────────┬────────┬────────────────────────┬──────────────┬───────┐
│ Tester │ Tracks │ Bitrate                │ Total Pkt. Loss │ Error │
├────────┼────────┼────────────────────────┼──────────────┼───────┤
│ Sub 0  │ 1/1    │ 2.0mbps                │ 0 (0%)       │ -     │
│ Total  │ 49/50  │ 98.1mbps (2.0mbps avg) │ 12 (0.01%)   │ 1     │
└────────┴────────┴────────────────────────┴──────────────┴───────┘";

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(String::from).collect()
    }

    #[test]
    fn the_last_row_of_the_summary_is_read() {
        let expected = Total {
            subscribed: 49,
            expected: 50,
            lost: 12,
        };
        assert_eq!(total(&lines(SUMMARY)), Some(expected));
        let dash = total(&lines(&SUMMARY.replace("12 (0.01%)", " - ")));
        assert_eq!(dash.map(|it| it.lost), Some(0));
    }

    #[test]
    fn output_without_a_summary_has_no_row() {
        for text in ["", "Total", "│ Total │", "│ Total │ 50 │ 1 │ 0 │"] {
            assert_eq!(total(&lines(text)), None, "{text}");
        }
    }
}
