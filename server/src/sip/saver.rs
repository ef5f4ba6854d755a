//! The thread that writes calls to their file, so that nobody waits for a disk.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use sip::Change;
use tracing::{error, warn};

use super::journal::Journal;

/// Writes batches of changes, one after the other. Dropped, it has written all of them.
pub struct Saver {
    batches: Option<SyncSender<Vec<Change>>>,
    busy: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Saver {
    /// Starts it on the file in this folder, and tells what an earlier process has left there. The first batch replaces that.
    ///
    /// Errors: the file cannot be had.
    pub fn start(folder: &Path) -> Result<(Self, Vec<String>), Box<dyn Error>> {
        let failed = |error: io::Error| match error.kind() {
            ErrorKind::WouldBlock => format!("sip: {} is in use by another process", folder.display()),
            _ => format!("sip: calls cannot be kept in {}: {error}", folder.display()),
        };
        let (journal, records) = Journal::open(folder).map_err(failed)?;
        let records = records.unwrap_or_else(|damage| {
            error!(?damage, folder = %folder.display(), "the file of calls is damaged or another version's: none of them goes on");
            Vec::new()
        });
        let (batches, given) = sync_channel(1);
        let busy = Arc::new(AtomicBool::new(false));
        let of_thread = busy.clone();
        let thread = thread::Builder::new()
            .name("sip-saver".to_owned())
            .spawn(move || write(journal, &given, &of_thread))?;
        let saver = Saver {
            batches: Some(batches),
            busy,
            thread: Some(thread),
        };
        Ok((saver, records))
    }

    /// Whether the last batch is written, so that nobody waits for it.
    pub fn is_ready(&self) -> bool {
        !self.busy.load(Ordering::Acquire)
    }

    /// Hands a batch over; waits while the last one is being written.
    pub fn save(&self, changes: Vec<Change>) {
        self.busy.store(true, Ordering::Release);
        if let Some(batches) = &self.batches {
            // It ends when this is dropped, and not before.
            let _ = batches.send(changes);
        }
    }
}

impl Drop for Saver {
    fn drop(&mut self) {
        self.batches = None;
        let thread = self.thread.take();
        // It is ours, and panics only over a bug that it has told of.
        let _ = thread.map(JoinHandle::join);
    }
}

fn write(mut journal: Journal, given: &Receiver<Vec<Change>>, busy: &AtomicBool) {
    let (mut is_first, mut failed) = (true, false);
    while let Ok(changes) = given.recv() {
        let written = match std::mem::take(&mut is_first) {
            _ if failed => Ok(()),
            true => journal.replace(&changes),
            false => journal.append(&changes),
        };
        if let Err(error) = written {
            failed = true;
            let removed = journal.remove().map_err(|error| error.to_string());
            warn!(%error, ?removed, "calls of SIP proxies cannot be kept any more: they end with this process");
        }
        busy.store(false, Ordering::Release);
    }
}
