//! A server that a measurement starts, and that ends with it.

use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::clock;

/// How long a server may take to open its port.
const START_TIMEOUT: Duration = Duration::from_secs(15);
/// How long it may take to end when asked.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// Lines of output shown of a server that ended: a panic message with its backtrace.
const LAST_WORDS: usize = 60;

/// A server's process; it is stopped when this is dropped.
pub struct RunningServer {
    child: Child,
    log: PathBuf,
}

impl RunningServer {
    /// Starts it with this command and waits until it accepts connections on `address`; its output
    /// goes to `log`.
    ///
    /// Errors: another process listens there, the command fails, or it does not listen in time.
    pub fn start(command: &[String], address: SocketAddr, log: PathBuf) -> io::Result<Self> {
        let listens = || TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok();
        if listens() {
            return Err(io::Error::other(format!(
                "another process listens on {address} already"
            )));
        }
        Self::start_until(command, log, listens)
    }

    /// Starts it with this command and waits until it is `ready`; its output goes to `log`.
    ///
    /// Errors: the command fails, or it is not ready in time.
    pub fn start_until(command: &[String], log: PathBuf, mut ready: impl FnMut() -> bool) -> io::Result<Self> {
        let mut server = Self::spawn(command, log)?;
        let began = clock::now();
        while !ready() {
            if began.elapsed() > START_TIMEOUT || server.has_ended() {
                return Err(io::Error::other(format!(
                    "the server does not listen; {}",
                    server.said(1)
                )));
            }
            thread::sleep(Duration::from_millis(100));
        }
        Ok(server)
    }

    fn spawn(command: &[String], log: PathBuf) -> io::Result<Self> {
        let (program, arguments) = command
            .split_first()
            .ok_or_else(|| io::Error::other("an empty server command"))?;
        let out = File::create(&log)?;
        let child = Command::new(Path::new(program))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            .spawn()
            .map_err(|error| io::Error::new(error.kind(), format!("{program}: {error}")))?;
        Ok(Self { child, log })
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The file with its output.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The path of its output, and the last lines of it.
    fn said(&self, lines: usize) -> String {
        let output = std::fs::read_to_string(&self.log).unwrap_or_default();
        let all: Vec<&str> = output.trim_end().lines().collect();
        let last = all[all.len().saturating_sub(lines)..].join("\n");
        format!("its output is in {} and ends with: {last}", self.log.display())
    }

    /// An error if it has ended by itself, with its status and output.
    pub fn check(&mut self) -> io::Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => Err(io::Error::other(format!(
                "it ended during the run, {status}; {}",
                self.said(LAST_WORDS)
            ))),
        }
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for RunningServer {
    /// Asks it to end, and insists.
    fn drop(&mut self) {
        // A process number fits: the kernel's are below 2^22.
        let _ = kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM);
        let began = clock::now();
        while began.elapsed() < STOP_TIMEOUT {
            if self.has_ended() {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
