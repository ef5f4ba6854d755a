//! One worker's cache of next hops.

use std::collections::HashMap;
use std::io::Write;
use std::os::unix::net::UnixStream;

use dataplane::Path;
use rtrb::{Consumer, Producer};

use super::{Answer, Query};
use crate::frame::Header;

/// The most paths one worker asks about; all others go by socket.
const PATHS_MAX: usize = 65_536;

/// The number of legs' and relays' places that are remembered by their number, so that their paths
/// need no look-up. A power of two.
const RECENT: usize = 4_096;

/// A worker's headers, by path.
pub(crate) struct NextHops {
    places: HashMap<Path, u32>,
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// The last place of a leg's or a relay's path, by its number modulo the size. The place may
    /// have been given to another path; the path in it tells.
    recent: Box<[u32; RECENT]>,
    asks: Producer<Query>,
    told: Consumer<Answer>,
    resolver: UnixStream,
}

struct Entry {
    path: Path,
    /// `None` until there is an answer, or if the answer is to send by socket.
    header: Option<Header>,
    /// Since the last request to tidy.
    used: bool,
}

impl NextHops {
    pub(super) fn new(asks: Producer<Query>, told: Consumer<Answer>, resolver: UnixStream) -> Self {
        NextHops {
            places: HashMap::new(),
            entries: Vec::new(),
            free: Vec::new(),
            recent: Box::new([0; RECENT]),
            asks,
            told,
            resolver,
        }
    }

    /// The headers of datagrams on this path, if a ring leads there. `of` is a number of the
    /// sender's, the same for everything that it sends there.
    pub(crate) fn header(&mut self, of: usize, path: &Path) -> Option<&Header> {
        let recent = &mut self.recent[of % RECENT];
        let is_there = self
            .entries
            .get(*recent as usize)
            .is_some_and(|entry| entry.path == *path);
        if !is_there {
            match self.places.get(path) {
                Some(place) => *recent = *place,
                None => {
                    self.ask(path);
                    return None;
                }
            }
        }
        let entry = &mut self.entries[*recent as usize];
        entry.used = true;
        entry.header.as_ref()
    }

    /// A question that finds no room is asked again with the next datagram.
    fn ask(&mut self, path: &Path) {
        if self.places.len() >= PATHS_MAX || !tell(&mut self.asks, &mut self.resolver, Query::About(*path)) {
            return;
        }
        let entry = Entry {
            path: *path,
            header: None,
            used: true,
        };
        let place = match self.free.pop() {
            Some(place) => {
                self.entries[place as usize] = entry;
                place
            }
            None => {
                self.entries.push(entry);
                (self.entries.len() - 1) as u32
            }
        };
        self.places.insert(*path, place);
    }

    /// Takes the resolver's answers.
    pub(crate) fn listen(&mut self) {
        while let Ok(told) = self.told.pop() {
            match told {
                Answer::Path(path, hop) => {
                    // An answer may cross with our having forgotten the question.
                    if let Some(place) = self.places.get(&path) {
                        self.entries[*place as usize].header = hop.and_then(|hop| Header::new(&path, &hop));
                    }
                }
                Answer::Tidy => self.tidy(),
            }
        }
    }

    /// Removes entries that were not used for a while. An entry whose removal cannot be told to the
    /// resolver now is removed the next time.
    fn tidy(&mut self) {
        let (entries, free) = (&mut self.entries, &mut self.free);
        let (asks, resolver) = (&mut self.asks, &mut self.resolver);
        self.places.retain(|path, place| {
            let entry = &mut entries[*place as usize];
            let is_kept = std::mem::take(&mut entry.used) || !tell(asks, resolver, Query::NoMore(*path));
            if !is_kept {
                entry.header = None;
                free.push(*place);
            }
            is_kept
        });
    }
}

/// Sends a query to the resolver; false when there is no room.
fn tell(asks: &mut Producer<Query>, resolver: &mut UnixStream, ask: Query) -> bool {
    let told = asks.push(ask).is_ok();
    // When the pipe is full, the resolver is awake already.
    let _ = resolver.write(&[0]);
    told
}
