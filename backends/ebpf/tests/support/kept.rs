//! State that outlives a process, and the processes for testing it.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use veth::Pair;

static ALONE: Mutex<()> = Mutex::new(());

/// Does something on a thread of the near end that has a BPF file system of its own.
pub(crate) fn with_pins(pair: &Pair, what: impl FnOnce(&Path) + Send) {
    // One test at a time: a process that is being started has all files of this one for a moment,
    // locks of other tests' folders too.
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = env::temp_dir().join(format!("weir-pins-{}-{:?}", std::process::id(), thread::current().id()));
    std::fs::create_dir_all(&folder).unwrap();
    pair.near.run(|| {
        unshare(CloneFlags::CLONE_NEWNS).expect("this takes no more privilege than namespaces");
        let none: Option<&str> = None;
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).unwrap();
        mount(Some("bpf"), &folder, Some("bpf"), MsFlags::empty(), none).unwrap();
        what(&folder.join("weir"));
    });
    std::fs::remove_dir_all(folder).unwrap();
}

/// Sends a packet every millisecond while something else is done, and has each listener listen. How
/// many were sent, and what each heard.
pub(crate) fn while_sending<T: Send, const N: usize>(
    send: impl Fn(u32) + Send,
    listeners: [impl FnOnce() -> Vec<T> + Send; N],
    meanwhile: impl FnOnce(),
) -> (u32, [Vec<T>; N]) {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let is_over = &is_over;
        let sending = scope.spawn(move || {
            let start = Instant::now();
            let mut number = 0;
            while !is_over.load(Ordering::Relaxed) {
                send(number);
                number += 1;
                let next = start + Duration::from_millis(number.into());
                thread::sleep(next.saturating_duration_since(Instant::now()));
            }
            number
        });
        let listening = listeners.map(|listen| scope.spawn(listen));
        meanwhile();
        is_over.store(true, Ordering::Relaxed);
        (sending.join().unwrap(), listening.map(|heard| heard.join().unwrap()))
    })
}

/// A process that offers entries, and says what it found and how it stands: an ignored test of the
/// same program.
pub(crate) struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Process {
    pub(crate) fn start(test: &str, pins: &Path) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", test, "--ignored", "--nocapture"]);
        command.env("PINS", pins).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        Process {
            input: child.stdin.take().unwrap(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    /// The next line of its output.
    pub(crate) fn says(&mut self) -> String {
        let mut line = String::new();
        while !line.starts_with("> ") {
            line.clear();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "it ended");
        }
        line[2..].trim().to_owned()
    }

    pub(crate) fn tell(&mut self, words: &str) -> String {
        writeln!(self.input, "{words}").unwrap();
        self.says()
    }

    pub(crate) fn kill(mut self) {
        // SIGKILL: nothing of it runs any more.
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
