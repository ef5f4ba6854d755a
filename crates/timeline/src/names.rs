//! The names of tracks in a ring, in places of fixed size.
//!
//! Shape of a name: 0 generation, 1 kind, 2 source, 3 length of the id, 4 length of the peer, 8..12
//! number of its last use, 12..44 id of the track, 44..128 identity of the peer. Longer texts are
//! cut at the end of a character.

use operator::TimelineTrack;

use crate::code::Code;
use crate::limits::{NAME_LEN, NAMES};

const ID: usize = 12;
const PEER: usize = 44;

/// The most bytes of a track's id and of a peer's identity.
const ID_MAX: usize = PEER - ID;
const PEER_MAX: usize = NAME_LEN - PEER;

/// A name, as long as no other one has taken its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NameId {
    /// Its place among the names.
    pub(crate) index: u8,
    /// How many names the place had before, without multiples of 256. No record outlives so many.
    pub(crate) generation: u8,
}

/// Finds the place of a name, or gives it one. Returns whether another name lost its place for it.
pub(crate) fn take(names: &mut [u8], track: &TimelineTrack, now: u32) -> (NameId, bool) {
    let (id, peer) = (cut(&track.id, ID_MAX), cut(&track.peer, PEER_MAX));
    let mut oldest = (0, 0);
    let mut place = None;
    for (index, name) in names.chunks_exact(NAME_LEN).enumerate() {
        let is_same = || text(name, ID, name[3]) == id.as_bytes() && text(name, PEER, name[4]) == peer.as_bytes();
        // Places are taken in their order, and never free again.
        if !is_used(name) || is_same() {
            place = Some((index, is_used(name)));
            break;
        }
        let age = now.wrapping_sub(used(name));
        if age >= oldest.1 {
            oldest = (index, age);
        }
    }
    let (index, is_known) = place.unwrap_or((oldest.0, false));
    let name = &mut names[index * NAME_LEN..][..NAME_LEN];
    let replaces = !is_known && is_used(name);
    if !is_known {
        name[0] = name[0].wrapping_add(1);
        (name[3], name[4]) = (id.len() as u8, peer.len() as u8);
        name[ID..][..id.len()].copy_from_slice(id.as_bytes());
        name[PEER..][..peer.len()].copy_from_slice(peer.as_bytes());
    }
    (name[1], name[2]) = (track.kind.code() + 1, track.source.code());
    name[8..ID].copy_from_slice(&now.to_le_bytes());
    let id = NameId {
        index: index as u8,
        generation: name[0],
    };
    (id, replaces)
}

/// The track of a name; `None` if another one has its place.
pub(crate) fn read(names: &[u8], id: NameId) -> Option<TimelineTrack> {
    let name = names.chunks_exact(NAME_LEN).nth(usize::from(id.index))?;
    (is_used(name) && name[0] == id.generation).then_some(())?;
    let string = |at, len| String::from_utf8_lossy(text(name, at, len)).into_owned();
    Some(TimelineTrack {
        id: string(ID, name[3]),
        peer: string(PEER, name[4]),
        kind: Code::from_code(name[1] - 1)?,
        source: Code::from_code(name[2])?,
    })
}

// A name without a use has no kind.
fn is_used(name: &[u8]) -> bool {
    name[1] != 0
}

fn used(name: &[u8]) -> u32 {
    u32::from_le_bytes([name[8], name[9], name[10], name[11]])
}

fn text(name: &[u8], at: usize, len: u8) -> &[u8] {
    &name[at..][..usize::from(len)]
}

fn cut(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

const _: () = assert!(NAMES < u8::MAX as usize);
