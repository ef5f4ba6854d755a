//! From a timeline to sentences: what was wrong with a call, since when, and why.
//!
//! Each part of the analysis reads the entries once, in their order, and appends findings.

mod connection;
mod evidence;
mod figures;
mod losses;
mod pictures;
mod publishing;

use operator::{Timeline, TimelineEntry};
use serde::{Deserialize, Serialize};

use self::evidence::Evidence;
use self::figures::{percent, rate};

/// The most findings of a verdict. Faults go before notes, and long findings before short ones.
pub const FINDINGS_MAX: usize = 100;

/// The faults of a participant's call, and what else explains it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The name of the room.
    pub room: String,
    /// The identity of the participant.
    pub participant: String,
    /// The beginning of the time that it is about. Shape: milliseconds since the Unix epoch.
    pub from_ms: u64,
    /// The end of that time.
    pub to_ms: u64,
    /// The call in one sentence.
    pub summary: String,
    /// The findings, by their beginning.
    pub findings: Vec<Finding>,
}

/// One finding of a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Its beginning. Shape: milliseconds since the Unix epoch.
    pub from_ms: u64,
    /// Its end; that of the verdict for one that lasts.
    pub to_ms: u64,
    /// Whether something was wrong, or is only worth knowing.
    pub severity: Severity,
    /// The cause in one word.
    pub cause: Cause,
    /// The identity of the other participant, if it concerns one.
    pub peer: Option<String>,
    /// A sentence without times and without a full stop. Names are in it as participants gave them.
    pub text: String,
}

/// Whether a finding is a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The call was worse for it.
    Fault,
    /// It explains the call, and is as somebody wants it.
    Info,
}

/// The cause of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The participant's downlink carries too little, or loses packets.
    Downlink,
    /// The participant's uplink loses packets.
    Uplink,
    /// The client of a publisher sends less, or nothing.
    Publisher,
    /// The receiver's client asks for less.
    Request,
    /// The round trip is long.
    Distance,
    /// Media could not connect, or was cut off.
    Transport,
    /// Media goes over TCP.
    Tcp,
    /// The DTLS handshake failed.
    Dtls,
    /// The signalling connection was gone.
    Signalling,
    /// The session ended, for some reason.
    End,
    /// The participant may do less than before.
    Permission,
    /// A track was muted by its publisher.
    Mute,
    /// Key frames did not come.
    KeyFrames,
    /// A limit of the server was reached.
    Limit,
    /// The participant moved to another media node.
    Move,
}

/// Finds the faults of a call.
///
/// `timeline` has everything that is known, so that a state of before `since_ms` counts. The
/// verdict is about `since_ms` to `now_ms`, in milliseconds since the Unix epoch.
pub fn verdict(timeline: &Timeline, since_ms: u64, now_ms: u64) -> Verdict {
    let entries = &timeline.entries;
    let first = entries.first().map_or(now_ms, |entry| entry.at_ms);
    let mut analysis = Analysis {
        entries,
        end_ms: match timeline.has_left {
            true => entries.last().map_or(now_ms, |entry| entry.at_ms),
            false => now_ms,
        },
        findings: Vec::new(),
    };
    pictures::find(&mut analysis);
    losses::find(&mut analysis);
    connection::find(&mut analysis);
    publishing::find(&mut analysis);
    let mut findings = analysis.findings;
    findings.retain(|finding| finding.to_ms >= since_ms && finding.from_ms <= now_ms);
    findings.sort_by_key(|finding| (finding.severity, u64::MAX - (finding.to_ms - finding.from_ms)));
    findings.truncate(FINDINGS_MAX);
    findings.sort_by_key(|finding| (finding.from_ms, finding.to_ms));
    let from_ms = since_ms.max(first);
    Verdict {
        room: timeline.room.clone(),
        participant: timeline.participant.clone(),
        from_ms,
        to_ms: now_ms,
        summary: summary(entries, &findings, from_ms),
        findings,
    }
}

/// The entries, and the findings so far.
struct Analysis<'a> {
    entries: &'a [TimelineEntry],
    /// The end of what lasts.
    end_ms: u64,
    findings: Vec<Finding>,
}

impl Analysis<'_> {
    fn add(&mut self, span: (u64, u64), severity: Severity, cause: Cause, peer: Option<&str>, text: String) {
        self.findings.push(Finding {
            from_ms: span.0,
            // The clock may have been set back.
            to_ms: span.1.max(span.0),
            severity,
            cause,
            peer: peer.map(str::to_owned),
            text,
        });
    }
}

fn summary(entries: &[TimelineEntry], findings: &[Finding], from_ms: u64) -> String {
    let faults = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Fault)
        .count();
    match faults {
        0 => {}
        1 => return "one fault was found".to_owned(),
        faults => return format!("{faults} faults were found"),
    }
    let known = Evidence::between(entries, from_ms, u64::MAX);
    let downlink = match known.lowest {
        Some(lowest) => format!("the downlink was estimated at {} or more", rate(lowest.target_bps)),
        None => "the downlink was not estimated".to_owned(),
    };
    format!(
        "nothing wrong was found: {downlink}, {} of its packets and {} of those of the uplink were lost",
        percent(known.downlink.ratio()),
        percent(known.uplink.ratio()),
    )
}
