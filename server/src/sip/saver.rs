//! The thread that writes calls to their file, so that no other thread waits for a disk.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use sip::{CallController, Change};
use tracing::{error, info, warn};

use super::journal::Journal;
use crate::os::refused;

/// How long after calls could not be written all of them are written again.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// Writes batches of changes, one after the other. When dropped, it has written all of them.
///
/// While the disk is full, nothing is kept: the file is removed, because it would soon be wrong,
/// and all calls are written anew every [`RETRY_INTERVAL`] until that succeeds. Changes are not
/// collected meanwhile.
pub(crate) struct Saver {
    batches: Option<SyncSender<Batch>>,
    state: Arc<State>,
    /// Before it nothing is written again.
    retry_at: Option<Instant>,
    thread: Option<JoinHandle<()>>,
}

/// A batch to write.
enum Batch {
    /// All calls, in the place of what is there.
    All(Vec<Change>),
    /// The changes since the last batch.
    Changes(Vec<Change>),
}

/// The state that the thread reports.
#[derive(Default)]
struct State {
    /// It is writing.
    busy: AtomicBool,
    /// The file has all calls, so that changes can follow.
    whole: AtomicBool,
}

impl Saver {
    /// Starts the thread on the file in this folder, and returns the calls that an earlier process
    /// left there. The first batch replaces them.
    ///
    /// Errors: the file cannot be opened.
    pub(crate) fn start(folder: &Path) -> Result<(Self, Vec<String>), Box<dyn Error>> {
        let failed = |error: io::Error| match error.kind() {
            ErrorKind::WouldBlock => format!(
                "another process keeps its calls in {}: end that, or set another folder in `sip.state`",
                folder.display()
            ),
            _ => refused::folder(folder, "sip.state", &error),
        };
        let (journal, records) = Journal::open(folder).map_err(failed)?;
        let records = records.unwrap_or_else(|damage| {
            error!(?damage, folder = %folder.display(), "the file of calls is damaged or another version's: none of them goes on");
            Vec::new()
        });
        Ok((Self::of(journal)?, records))
    }

    fn of(journal: Journal) -> io::Result<Self> {
        let (batches, given) = sync_channel(1);
        let state = Arc::new(State::default());
        let of_thread = state.clone();
        let thread = thread::Builder::new()
            .name("sip-saver".to_owned())
            .spawn(move || write(journal, &given, &of_thread))?;
        Ok(Saver {
            batches: Some(batches),
            state,
            retry_at: None,
            thread: Some(thread),
        })
    }

    /// Passes on the changes, or all calls if the file does not have all of them. Does nothing
    /// while the last batch is being written, so that the caller does not wait for a disk.
    pub(crate) fn save(&mut self, now: Instant, relay: &mut CallController) {
        if self.state.busy.load(Ordering::Acquire) {
            return;
        }
        if self.state.whole.load(Ordering::Acquire) {
            let changes = relay.take_changes();
            if !changes.is_empty() {
                self.hand_over(Batch::Changes(changes));
            }
        } else if self.retry_at.is_some_and(|at| now < at) {
            relay.forget_changes();
        } else {
            self.retry_at = Some(now + RETRY_INTERVAL);
            self.hand_over(Batch::All(relay.take_all()));
        }
    }

    /// Hands over all calls, to be written before this is gone; waits while the last batch is being
    /// written.
    pub(crate) fn save_all(&self, relay: &mut CallController) {
        self.hand_over(Batch::All(relay.take_all()));
    }

    fn hand_over(&self, batch: Batch) {
        self.state.busy.store(true, Ordering::Release);
        if let Some(batches) = &self.batches {
            // It ends when this is dropped, and not before.
            let _ = batches.send(batch);
        }
    }
}

impl Drop for Saver {
    fn drop(&mut self) {
        self.batches = None;
        let thread = self.thread.take();
        // The thread panics only by a bug, which the panic has reported.
        let _ = thread.map(JoinHandle::join);
    }
}

fn write(mut journal: Journal, given: &Receiver<Batch>, state: &State) {
    let mut failed = false;
    while let Ok(batch) = given.recv() {
        let written = match &batch {
            Batch::All(calls) => journal.replace(calls),
            Batch::Changes(changes) => journal.append(changes),
        };
        match written {
            Ok(()) if std::mem::take(&mut failed) => info!("calls of SIP proxies are kept again"),
            Ok(()) => {}
            Err(error) => {
                let removed = journal.remove().map_err(|error| error.to_string());
                if !std::mem::replace(&mut failed, true) {
                    warn!(%error, ?removed, "calls of SIP proxies cannot be kept: until they can they end with this process");
                }
            }
        }
        state.whole.store(!failed, Ordering::Release);
        state.busy.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use sip::{Config, Interface};

    use super::*;
    use crate::os::clock::Clocks;

    fn wait(saver: &Saver) {
        while saver.state.busy.load(Ordering::Acquire) {
            thread::yield_now();
        }
    }

    #[test]
    fn calls_are_kept_again_when_a_full_disk_has_room() {
        let folder = std::env::temp_dir().join(format!("weir-saver-{}", std::process::id()));
        let file = folder.join("sip-calls");
        let interface = Interface {
            name: "a".to_owned(),
            address: [127, 0, 0, 1].into(),
            advertised: None,
            ports: 5000..=5063,
        };
        let clocks = Clocks::read();
        let mut relay =
            CallController::new(Config::new(vec![interface]), clocks.wall, [7; 32]).expect("a usable configuration");
        let mut now = clocks.wall.now;
        let (mut journal, _) = Journal::open(&folder).expect("a folder of ours");
        journal.replace(&[]).expect("room");
        journal.fill_disk();
        let mut saver = Saver::of(journal).expect("a thread");
        // As though all had been written, and then one call changed.
        saver.hand_over(Batch::Changes(vec![Change {
            call: b"a"[..].into(),
            record: Some("{}".to_owned()),
        }]));
        wait(&saver);
        assert!(!file.exists(), "a file that is not kept up to date is removed");
        std::os::unix::fs::symlink("/dev/full", file.with_extension("new")).expect("a link");
        saver.save(now, &mut relay);
        wait(&saver);
        assert!(!file.exists(), "there is no room yet");
        saver.save(now, &mut relay);
        wait(&saver);
        assert!(!file.exists(), "it is not tried again at once");
        now += RETRY_INTERVAL;
        saver.save(now, &mut relay);
        wait(&saver);
        assert!(file.exists() && saver.state.whole.load(Ordering::Acquire));
        drop(saver);
        fs::remove_dir_all(&folder).expect("a folder of ours");
    }
}
