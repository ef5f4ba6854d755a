//! Events made of a shard's notes. Allocating is done here, on the agent's thread.

use dataplane::{Arrival, Event, LegId};
use rtrb::Consumer;

use crate::shard::notes::{Departed, Note, NoteReader, Punted};

/// How many packets one event reports at most.
const BATCH_MAX: usize = 256;
/// Room for so many is made at once: the packets of a picture.
const BATCH_USUAL: usize = 16;

pub(super) fn next_event(reader: &mut NoteReader) -> Option<Event> {
    if let Ok(note) = reader.notes.pop() {
        return Some(event(note, &mut reader.notes));
    }
    let note = reader.strangers.pop().ok()?;
    Some(event(note, &mut reader.strangers))
}

fn event(note: Note, behind: &mut Consumer<Note>) -> Event {
    match note {
        Note::Punt(punted) => punt(&punted),
        Note::UnknownStream(unknown) => {
            let (leg, payload_type, (ssrc, mid, rid, repaired_rid)) = *unknown;
            Event::UnknownStream {
                leg,
                ssrc,
                payload_type,
                mid,
                rid,
                repaired_rid,
            }
        }
        Note::Arrival(leg, first) => Event::Arrivals {
            leg,
            arrivals: batch(first, behind, |note| arrival_of(note, leg)),
        },
        Note::Departed(first) => departures(&first, behind),
        Note::Selected(replica, (source, layer, awaits_key_frame)) => Event::Selected {
            replica,
            source,
            layer,
            awaits_key_frame,
        },
        Note::Released(stands) => {
            let (replica, from, transport_sequence) = *stands;
            Event::Released {
                replica,
                from,
                transport_sequence,
            }
        }
        Note::Stream(report) => Event::Stream(report.0, report.1),
        Note::Replica(report) => Event::Replica(report.0, report.1),
        Note::RelaySource(source) => Event::RelaySource {
            at: source.local,
            from: source.remote,
        },
        Note::RelayTraffic(report) => {
            let (at, traffic, last) = *report;
            Event::RelayTraffic { at, traffic, last }
        }
    }
}

fn punt(punted: &Punted) -> Event {
    Event::Punt {
        kind: punted.kind,
        at: punted.at,
        path: punted.path,
        leg: punted.leg,
        bytes: punted.bytes.clone(),
    }
}

fn arrival_of(note: &Note, of: LegId) -> Option<Arrival> {
    match note {
        Note::Arrival(leg, arrival) if *leg == of => Some(*arrival),
        _ => None,
    }
}

fn departures(first: &Departed, behind: &mut Consumer<Note>) -> Event {
    let leg = first.leg;
    let mut departures = Vec::with_capacity(BATCH_USUAL);
    departures.extend(first.each());
    while departures.len() < BATCH_MAX
        && let Ok(Note::Departed(next)) = behind.peek()
        && next.leg == leg
    {
        departures.extend(next.each());
        let _ = behind.pop();
    }
    Event::Departures { leg, departures }
}

/// Gathers the notes right behind the first as long as they are of the same kind and leg.
fn batch<T>(first: T, behind: &mut Consumer<Note>, like: impl Fn(&Note) -> Option<T>) -> Vec<T> {
    let mut batch = Vec::with_capacity(BATCH_USUAL);
    batch.push(first);
    while batch.len() < BATCH_MAX
        && let Some(next) = behind.peek().ok().and_then(&like)
    {
        batch.push(next);
        let _ = behind.pop();
    }
    batch
}
