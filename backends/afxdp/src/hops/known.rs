//! What one worker knows.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::io::Write;
use std::os::unix::net::UnixStream;

use dataplane::Path;
use rtrb::{Consumer, Producer};

use super::{Ask, Told};
use crate::frame::Header;

/// The most paths one worker asks about; all others go by socket.
const PATHS_MAX: usize = 65_536;

/// A worker's headers, by path.
pub(crate) struct Hops {
    known: HashMap<Path, Known, BuildHasherDefault<PathHasher>>,
    asks: Producer<Ask>,
    told: Consumer<Told>,
    guide: UnixStream,
}

struct Known {
    /// `None` until there is an answer, or when it is: by socket.
    header: Option<Box<Header>>,
    /// Since the last time we were told to tidy.
    used: bool,
}

impl Hops {
    pub(super) fn new(asks: Producer<Ask>, told: Consumer<Told>, guide: UnixStream) -> Self {
        Hops {
            known: HashMap::default(),
            asks,
            told,
            guide,
        }
    }

    /// What stands in front of a datagram on this path, if a ring leads there.
    pub(crate) fn header(&mut self, path: &Path) -> Option<&Header> {
        if !self.known.contains_key(path) {
            self.ask(path);
            return None;
        }
        let known = self.known.get_mut(path).expect("just seen");
        known.used = true;
        known.header.as_deref()
    }

    /// A question that finds no room is asked again with the next datagram.
    fn ask(&mut self, path: &Path) {
        if self.known.len() < PATHS_MAX && self.tell_guide(Ask::About(*path)) {
            let unknown = Known {
                header: None,
                used: true,
            };
            self.known.insert(*path, unknown);
        }
    }

    fn tell_guide(&mut self, ask: Ask) -> bool {
        let told = self.asks.push(ask).is_ok();
        // When the pipe is full the guide has enough to wake up for.
        let _ = self.guide.write(&[0]);
        told
    }

    /// Takes the guide's answers.
    pub(crate) fn listen(&mut self) {
        while let Ok(told) = self.told.pop() {
            match told {
                Told::Path(path, hop) => {
                    // An answer may cross with our having forgotten the question.
                    if let Some(known) = self.known.get_mut(&path) {
                        known.header = hop.and_then(|hop| Header::new(&path, &hop)).map(Box::new);
                    }
                }
                Told::Tidy => self.tidy(),
            }
        }
    }

    /// Forgets what was not used for a while. What cannot be said to the guide now is forgotten the next time.
    fn tidy(&mut self) {
        let unused: Vec<Path> = self
            .known
            .iter_mut()
            .filter_map(|(path, known)| (!std::mem::take(&mut known.used)).then_some(*path))
            .collect();
        for path in unused {
            if !self.tell_guide(Ask::NoMore(path)) {
                return;
            }
            self.known.remove(&path);
        }
    }
}

/// A cheap hash of address pairs. Only legs' paths are kept, which are proved, so nobody can choose many that collide.
#[derive(Default)]
struct PathHasher(u64);

impl Hasher for PathHasher {
    fn write(&mut self, bytes: &[u8]) {
        for eight in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..eight.len()].copy_from_slice(eight);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u16(&mut self, number: u16) {
        self.write_u64(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}
