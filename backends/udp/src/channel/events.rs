//! Events made of a worker's reports. Allocation happens here, on the agent's thread.

use dataplane::{Arrival, Event, LegId};
use rtrb::Consumer;

use crate::channel::{Departed, Punted, Report, ReportReader};

/// How many packets one event reports at most.
const BATCH_MAX: usize = 256;
/// The initial capacity of a batch: the packets of a frame.
const BATCH_USUAL: usize = 16;

pub(crate) fn next_event(reader: &mut ReportReader) -> Option<Event> {
    if let Ok(report) = reader.reports.pop() {
        return Some(event(report, &mut reader.reports));
    }
    let report = reader.unmatched.pop().ok()?;
    Some(event(report, &mut reader.unmatched))
}

fn event(report: Report, behind: &mut Consumer<Report>) -> Event {
    match report {
        Report::Punt(punted) => punt(&punted),
        Report::UnknownStream(unknown) => {
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
        Report::Arrival(leg, first) => Event::Arrivals {
            leg,
            arrivals: batch(first, behind, |report| arrival_of(report, leg)),
        },
        Report::Departed(first) => departures(&first, behind),
        Report::Selected(replica, (source, layer, awaits_key_frame)) => Event::Selected {
            replica,
            source,
            layer,
            awaits_key_frame,
        },
        Report::Released(stands) => {
            let (replica, from, transport_sequence) = *stands;
            Event::Released {
                replica,
                from,
                transport_sequence,
            }
        }
        Report::Stream(report) => Event::Stream(report.0, report.1),
        Report::Replica(report) => Event::Replica(report.0, report.1),
        Report::RelaySource(source) => Event::RelaySource {
            at: source.local,
            from: source.remote,
        },
        Report::RelayTraffic(report) => {
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

fn arrival_of(report: &Report, of: LegId) -> Option<Arrival> {
    match report {
        Report::Arrival(leg, arrival) if *leg == of => Some(*arrival),
        _ => None,
    }
}

fn departures(first: &Departed, behind: &mut Consumer<Report>) -> Event {
    let leg = first.leg;
    let mut departures = Vec::with_capacity(BATCH_USUAL);
    departures.extend(first.each());
    while departures.len() < BATCH_MAX
        && let Ok(Report::Departed(next)) = behind.peek()
        && next.leg == leg
    {
        departures.extend(next.each());
        let _ = behind.pop();
    }
    Event::Departures { leg, departures }
}

/// Collects the reports right after the first as long as they are of the same kind and leg.
fn batch<T>(first: T, behind: &mut Consumer<Report>, like: impl Fn(&Report) -> Option<T>) -> Vec<T> {
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
