//! Calls in a file: the state from which the next process continues them.
//!
//! The file has a line for each change, and the last line of a call counts. Once most of the file
//! is outdated it is rewritten. Writes are not synchronised: the file survives the process, even a
//! crash, but not the machine, whose calls are over then.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sip::Change;

/// The first line, which changes when the lines get another meaning.
const HEADER: &str = "weir sip calls 1\n";

const NAME: &str = "sip-calls";

/// A file smaller than this is not compacted.
const SMALL: u64 = 1 << 20;

/// A file of calls that only this process uses.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    /// The position of each call's line.
    live: HashMap<Arc<[u8]>, Range<u64>>,
    len: u64,
    /// How much of it is of the present.
    live_len: u64,
    /// The lock ends with the process, even after a crash.
    _lock: File,
}

/// Why a file cannot be gone on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    /// It is another version's, or no file of calls at all.
    Header,
    /// This line is not what was written, counted from 1.
    Line(usize),
}

impl Journal {
    /// Opens the file in this folder, and reads the calls in it. Its content is unchanged until
    /// [`replace`](Self::replace).
    ///
    /// Errors: the file system's; `WouldBlock` where another process has it.
    pub(crate) fn open(folder: &Path) -> io::Result<(Self, Result<Vec<String>, Damage>)> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let lock = File::open(folder)?;
        lock.try_lock()?;
        let path = folder.join(NAME);
        let file = private().read(true).open(&path)?;
        let mut bytes = Vec::new();
        (&file).read_to_end(&mut bytes)?;
        let journal = Journal {
            path,
            file,
            live: HashMap::new(),
            len: 0,
            live_len: 0,
            _lock: lock,
        };
        Ok((journal, read(&bytes)))
    }

    /// Writes these calls in the place of all that was there, in one step.
    pub(crate) fn replace(&mut self, changes: &[Change]) -> io::Result<()> {
        let lines = changes.iter().filter(|change| change.record.is_some());
        let lines: Vec<_> = lines.map(|change| (change.call.clone(), line(change))).collect();
        self.rewrite(lines)
    }

    /// Writes what has changed.
    pub(crate) fn append(&mut self, changes: &[Change]) -> io::Result<()> {
        let mut bytes = Vec::new();
        for change in changes {
            let start = self.len + bytes.len() as u64;
            bytes.extend(line(change).into_bytes());
            let end = self.len + bytes.len() as u64;
            let before = match change.record {
                Some(_) => self.live.insert(change.call.clone(), start..end),
                None => self.live.remove(&change.call),
            };
            self.live_len -= before.map_or(0, |range| range.end - range.start);
            self.live_len += change.record.as_ref().map_or(0, |_| end - start);
        }
        self.file.write_all(&bytes)?;
        self.len += bytes.len() as u64;
        if self.len > SMALL && self.len > 2 * self.live_len {
            self.forget_the_past()?;
        }
        Ok(())
    }

    /// Removes the file and its unfinished replacement: a file that is not kept up to date must not
    /// be used, and takes space. [`replace`](Self::replace) starts again.
    pub(crate) fn remove(&mut self) -> io::Result<()> {
        self.live.clear();
        (self.len, self.live_len) = (0, 0);
        // An open file keeps its room on the disk without a name, too.
        let emptied = self.file.set_len(0);
        let removed = [&self.path, &self.fresh()].map(fs::remove_file);
        let is_gone = |removed: &io::Result<()>| !matches!(removed, Err(error) if error.kind() != ErrorKind::NotFound);
        match removed.into_iter().find(|removed| !is_gone(removed)) {
            Some(failed) => emptied.and(failed),
            None => Ok(()),
        }
    }

    /// The path where a new file is written until it is complete.
    fn fresh(&self) -> PathBuf {
        self.path.with_extension("new")
    }

    fn forget_the_past(&mut self) -> io::Result<()> {
        let mut bytes = Vec::new();
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(0))?;
        file.read_to_end(&mut bytes)?;
        let text = |range: &Range<u64>| {
            let line = bytes.get(range.start as usize..range.end as usize);
            line.and_then(|line| String::from_utf8(line.to_vec()).ok())
        };
        let lines = self.live.iter().map(|(call, range)| Some((call.clone(), text(range)?)));
        let lines = lines.collect::<Option<Vec<_>>>();
        self.rewrite(lines.ok_or(ErrorKind::InvalidData)?)
    }

    fn rewrite(&mut self, lines: Vec<(Arc<[u8]>, String)>) -> io::Result<()> {
        let mut text = HEADER.to_owned();
        let mut live = HashMap::new();
        for (call, line) in lines {
            let start = text.len() as u64;
            text.push_str(&line);
            live.insert(call, start..text.len() as u64);
        }
        let fresh = self.fresh();
        let mut file = private().truncate(true).open(&fresh)?;
        file.write_all(text.as_bytes())?;
        fs::rename(&fresh, &self.path)?;
        (self.file, self.live) = (file, live);
        self.len = text.len() as u64;
        self.live_len = self.len - HEADER.len() as u64;
        Ok(())
    }
}

/// It contains ICE passwords and the parties of calls.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    options
}

/// A line: the checksum of the rest, the call's name, and its record.
fn line(change: &Change) -> String {
    let name: String = change.call.iter().map(|byte| format!("{byte:02x}")).collect();
    let text = format!("{name} {}", change.record.as_deref().unwrap_or_default());
    format!("{:016x} {text}\n", checksum(&text))
}

/// The newest record of every call. An incomplete last line is ignored.
fn read(bytes: &[u8]) -> Result<Vec<String>, Damage> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let lines = bytes.strip_prefix(HEADER.as_bytes()).ok_or(Damage::Header)?;
    let whole = lines.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let mut calls = HashMap::new();
    for (line, number) in lines[..whole].split_inclusive(|byte| *byte == b'\n').zip(2..) {
        let (name, record) = read_line(line).ok_or(Damage::Line(number))?;
        match record {
            "" => calls.remove(name),
            record => calls.insert(name, record),
        };
    }
    Ok(calls.into_values().map(str::to_owned).collect())
}

fn read_line(line: &[u8]) -> Option<(&str, &str)> {
    let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (sum, text) = line.split_once(' ')?;
    let sum = u64::from_str_radix(sum, 16).ok()?;
    text.split_once(' ').filter(|_| sum == checksum(text))
}

/// FNV-1a: against accidents, not against anybody.
fn checksum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
impl Journal {
    /// Lets everything that is appended find no room.
    pub(crate) fn fill_disk(&mut self) {
        self.file = File::options().write(true).open("/dev/full").expect("Linux has it");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            Folder(std::env::temp_dir().join(format!("weir-journal-{}-{name}", std::process::id())))
        }

        fn open(&self) -> (Journal, Result<Vec<String>, Damage>) {
            let (journal, mut records) = Journal::open(&self.0).unwrap();
            records.iter_mut().for_each(|records| records.sort());
            (journal, records)
        }

        fn file(&self) -> PathBuf {
            self.0.join(NAME)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn change(call: &str, record: Option<&str>) -> Change {
        Change {
            call: call.as_bytes().into(),
            record: record.map(str::to_owned),
        }
    }

    #[test]
    fn the_last_record_of_each_call_is_read() {
        let folder = Folder::new("last");
        let (mut journal, records) = folder.open();
        assert_eq!(records, Ok(vec![]));
        journal.replace(&[change("a", Some("{1}"))]).unwrap();
        let more = [
            change("b\n", Some("{2}")),
            change("a", Some("{3}")),
            change("c", Some("{4}")),
        ];
        journal.append(&more).unwrap();
        journal.append(&[change("c", None)]).unwrap();
        drop(journal);
        let (mut journal, records) = folder.open();
        assert_eq!(records, Ok(vec!["{2}".to_owned(), "{3}".to_owned()]));
        journal.replace(&[change("d", Some("{5}")), change("e", None)]).unwrap();
        drop(journal);
        assert_eq!(folder.open().1, Ok(vec!["{5}".to_owned()]));
    }

    #[test]
    fn an_unfinished_line_is_ignored_and_a_changed_one_is_damage() {
        let folder = Folder::new("damage");
        let (mut journal, _) = folder.open();
        journal
            .replace(&[change("a", Some("{1}")), change("b", Some("{2}"))])
            .unwrap();
        drop(journal);
        let whole = fs::read(folder.file()).unwrap();
        fs::write(folder.file(), &whole[..whole.len() - 2]).unwrap();
        assert_eq!(folder.open().1, Ok(vec!["{1}".to_owned()]));
        let mut changed = whole.clone();
        let at = changed.len() - 3;
        changed[at] ^= 1;
        fs::write(folder.file(), changed).unwrap();
        assert_eq!(folder.open().1, Err(Damage::Line(3)));
        fs::write(folder.file(), "something else").unwrap();
        let (mut journal, records) = folder.open();
        assert_eq!(records, Err(Damage::Header));
        journal.replace(&[]).unwrap();
        drop(journal);
        assert_eq!(folder.open().1, Ok(vec![]));
    }

    #[test]
    fn a_file_on_a_full_disk_is_removed_and_begun_anew() {
        let folder = Folder::new("full");
        let (mut journal, _) = folder.open();
        journal.replace(&[change("a", Some("{1}"))]).unwrap();
        journal.fill_disk();
        let full = journal.append(&[change("b", Some("{2}"))]).unwrap_err();
        assert_eq!(full.kind(), ErrorKind::StorageFull);
        journal.remove().unwrap();
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
        std::os::unix::fs::symlink("/dev/full", folder.file().with_extension("new")).unwrap();
        let full = journal.replace(&[change("b", Some("{2}"))]).unwrap_err();
        assert_eq!(full.kind(), ErrorKind::StorageFull);
        journal.remove().unwrap();
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
        journal.replace(&[change("b", Some("{2}"))]).unwrap();
        journal.append(&[change("c", Some("{3}"))]).unwrap();
        drop(journal);
        assert_eq!(folder.open().1, Ok(vec!["{2}".to_owned(), "{3}".to_owned()]));
    }

    #[test]
    fn the_past_is_forgotten() {
        let folder = Folder::new("past");
        let (mut journal, _) = folder.open();
        journal.replace(&[]).unwrap();
        let long = "x".repeat(1_000);
        for number in 0..10_000 {
            let call = format!("{}", number % 10);
            journal
                .append(&[change(&call, Some(&format!("{number}{long}")))])
                .unwrap();
        }
        assert!(fs::metadata(folder.file()).unwrap().len() <= SMALL + 2_000);
        drop(journal);
        let (_, records) = folder.open();
        let expected: Vec<String> = (9_990..10_000).map(|number| format!("{number}{long}")).collect();
        assert_eq!(records, Ok(expected));
    }

    #[test]
    fn the_journal_is_locked_and_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = Folder::new("own");
        let (mut journal, _) = folder.open();
        journal.replace(&[]).unwrap();
        assert_eq!(Journal::open(&folder.0).unwrap_err().kind(), ErrorKind::WouldBlock);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder.0), mode(&folder.file())), (0o700, 0o600));
    }
}
