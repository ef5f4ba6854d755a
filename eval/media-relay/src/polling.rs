//! A thread of the kernel's own for each end of a relay's cable.
//!
//! By default a packet is handled at the expense of the process that happens to run, so that the
//! cost of relaying in XDP is a small difference of two large figures. The time of a thread is
//! counted separately.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use harness::{SERVER_INTERFACE, kernel_threads};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

/// The processor that is the relay's.
const PROCESSOR: usize = 0;

/// Both ends have threads while this lives.
pub(crate) struct Polling {
    namespace: String,
    phones: String,
}

impl Polling {
    /// Gives both ends threads, on the relay's processor: of the interface that the relay has in
    /// its namespace, which has to have a program in XDP by now, and of the phones' in this one.
    ///
    /// Errors: the operating system's; `Unsupported` where it has no such threads.
    pub(crate) fn begin(namespace: &str, phones: &str) -> io::Result<Self> {
        let polling = Self {
            namespace: namespace.to_owned(),
            phones: phones.to_owned(),
        };
        polling.set(true)?;
        let threads = [threads_at_relay(), threads_of(phones)];
        if threads.iter().any(Vec::is_empty) {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "interfaces have no threads of their own here",
            ));
        }
        let mut processor = CpuSet::new();
        processor.set(PROCESSOR)?;
        for thread in threads.concat() {
            sched_setaffinity(Pid::from_raw(thread as i32), &processor)?;
        }
        Ok(polling)
    }

    fn set(&self, threaded: bool) -> io::Result<()> {
        let there = ["ip", "netns", "exec", &self.namespace, "tee"];
        switch(&there, SERVER_INTERFACE, threaded)?;
        switch(&["tee"], &self.phones, threaded)
    }
}

impl Drop for Polling {
    fn drop(&mut self) {
        // The interfaces go before long, and their threads with them.
        let _ = self.set(false);
    }
}

/// The threads of interfaces that relays have, of which all but one's are idle.
pub(crate) fn threads_at_relay() -> Vec<u32> {
    threads_of(SERVER_INTERFACE)
}

fn threads_of(interface: &str) -> Vec<u32> {
    kernel_threads(&format!("napi/{interface}-"))
}

/// Writes into the interface's switch, by words that write into a file.
fn switch(words: &[&str], interface: &str, threaded: bool) -> io::Result<()> {
    let mut child = Command::new(words[0])
        .args(&words[1..])
        .arg(format!("/sys/class/net/{interface}/threaded"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(if threaded { b"1" } else { b"0" })?;
    drop(input);
    match child.wait()?.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("{interface} takes no thread"))),
    }
}
