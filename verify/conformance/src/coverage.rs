//! The steps that random histories draw for each plane, counted by verb.
//!
//! A test counts where the variable [`FOLDER`] names a folder: each process adds lines to a file of
//! its own there. `verify/conformance/coverage` runs the tests, adds up the lines, and
//! writes the table of the README.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

use dataplane::WriteError;
use wire::PacketKind;

use crate::Step;
use crate::text::{Names, print_step};

/// The variable that names the folder for the counts.
pub const FOLDER: &str = "WEIR_COVERAGE";

/// A data plane, whatever brings packets to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Plane {
    /// The model alone, held to the invariants.
    Model,
    /// `backend-udp`, with sockets or without.
    Userspace,
    /// `backend-afxdp`, at the end of a cable.
    Rings,
    /// `backend-ebpf`, with what is behind it.
    Kernel,
    /// `backend-p4`, with what is behind it.
    Switch,
}

impl Plane {
    /// Every plane, in the order of the table's columns.
    pub const ALL: [Plane; 5] = [
        Plane::Model,
        Plane::Userspace,
        Plane::Rings,
        Plane::Kernel,
        Plane::Switch,
    ];

    /// The head of its column in the table.
    pub fn name(self) -> &'static str {
        match self {
            Plane::Model => "model",
            Plane::Userspace => "userspace",
            Plane::Rings => "rings",
            Plane::Kernel => "kernel",
            Plane::Switch => "switch",
        }
    }
}

/// A verb of the language of steps, with or without an attribute.
pub struct Verb {
    /// The head of its row in the table.
    pub name: &'static str,
    /// The beginning of its lines.
    begins: &'static str,
    /// A part of lines with the attribute.
    has: &'static str,
}

const fn verb(name: &'static str, begins: &'static str, has: &'static str) -> Verb {
    Verb { name, begins, has }
}

/// Every verb. A `receive` is a `send` that the agent gives back.
pub const VERBS: &[Verb] = &[
    verb("wait", "wait ", ""),
    verb("send rtp", "send rtp", ""),
    verb("send rtcp", "send rtcp", ""),
    verb("send, other", "send other", ""),
    verb("receive", "receive", ""),
    verb("leg", "leg ", ""),
    verb("leg, with keys", "leg ", " srtp "),
    verb("leg, pending", "leg ", " pending "),
    verb("leg, shared", "leg ", " shared "),
    verb("remove leg", "remove leg ", ""),
    verb("pace", "pace ", ""),
    verb("stream", "stream ", ""),
    verb("remove stream", "remove stream ", ""),
    verb("replica", "replica ", ""),
    verb("replica, below the highest layer", "replica ", " target S"),
    verb("replica, with a fallback size", "replica ", " fallback S"),
    verb("replica, numbered by frames", "replica ", " rewriting s-l"),
    verb("replica, with playout delay", "replica ", "ms target"),
    verb("replica, paused", "replica ", " paused"),
    verb("remove replica", "remove replica ", ""),
    verb("feedback", "feedback ", ""),
    verb("copied", "copied ", ""),
    verb("relay", "relay ", ""),
    verb("relay, that learns", "relay ", " window "),
    verb("relay, with keys", "relay ", "/0x"),
    verb("relay, with services", "relay ", "+"),
    verb("remove relay", "remove relay ", ""),
    verb("resend", "resend ", ""),
    verb("release", "release ", ""),
    verb("resume", "resume ", ""),
    verb("fill", "fill ", ""),
    verb("probe", "probe ", ""),
    verb("report", "report ", ""),
    verb("report-relay", "report-relay ", ""),
    verb("inject rtcp", "inject rtcp ", ""),
    verb("inject datagram", "inject datagram ", ""),
];

/// The line of a step, as far as a verb is told by it.
fn line(step: &Step, names: &Names) -> String {
    match step {
        Step::Send(send) => match wire::classify(&send.bytes) {
            PacketKind::Rtp => "send rtp".into(),
            PacketKind::Rtcp => "send rtcp".into(),
            _ => "send other".into(),
        },
        Step::Receive(_) => "receive".into(),
        step => print_step(step, names),
    }
}

/// The steps of one history, which a device has drawn and taken.
pub struct Coverage {
    plane: Plane,
    folder: Option<PathBuf>,
    names: Names,
    /// By verb: how often it was drawn, and how often it was not refused.
    counts: BTreeMap<&'static str, (u64, u64)>,
}

impl Coverage {
    /// Of a history that begins.
    pub fn new(plane: Plane) -> Self {
        Coverage {
            plane,
            folder: std::env::var_os(FOLDER).map(PathBuf::from),
            names: Names::default(),
            counts: BTreeMap::new(),
        }
    }

    /// Counts a step, with the answer if it is a write.
    ///
    /// Panics if the step has a verb that is not among [`VERBS`].
    pub fn note(&mut self, step: &Step, written: &Result<(), WriteError>) {
        if self.folder.is_none() {
            return;
        }
        for name in verbs(step, &self.names) {
            let (drawn, taken) = self.counts.entry(name).or_default();
            *drawn += 1;
            *taken += u64::from(written.is_ok());
        }
    }

    /// Writes the counts of a history that is compared. Those of others are not.
    ///
    /// Panics if the folder cannot be written: a table without them would be wrong.
    pub fn finish(self) {
        let Some(folder) = self.folder else { return };
        let mut text = String::new();
        for (name, (drawn, taken)) in &self.counts {
            let _ = writeln!(text, "{}\t{name}\t{drawn}\t{taken}", self.plane.name());
        }
        let file = folder.join(format!("{}", std::process::id()));
        let file = OpenOptions::new().create(true).append(true).open(file);
        let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
        written.expect("the folder can be written");
    }
}

/// The names of the verbs of a step, the one without attributes first.
fn verbs(step: &Step, names: &Names) -> Vec<&'static str> {
    let line = line(step, names);
    let is_told = |verb: &&Verb| line.starts_with(verb.begins) && line.contains(verb.has);
    let found: Vec<&str> = VERBS.iter().filter(is_told).map(|verb| verb.name).collect();
    assert!(!found.is_empty(), "no verb is listed for: {line}");
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Statement, parse};

    fn of(text: &str) -> Vec<&'static str> {
        let text = format!("# A line.\nleg alice\nleg bob\n{text}\n");
        let (vector, _) = parse("line", &text).unwrap_or_else(|problem| panic!("{problem}"));
        match vector.lines.last().map(|line| &line.statement) {
            Some(Statement::Do(step)) => verbs(step, &Names::default()),
            other => panic!("{other:?} is no step"),
        }
    }

    #[test]
    fn verbs_are_told_with_their_attributes() {
        assert_eq!(
            of("leg carol pending shared 0x901"),
            ["leg", "leg, pending", "leg, shared"]
        );
        assert_eq!(of("leg carol srtp gcm128 7"), ["leg", "leg, with keys"]);
        assert_eq!(of("replica r1 to bob ssrc 0x22 first 1"), ["replica"]);
        assert_eq!(
            of("replica r1 to bob ssrc 0x22 first 1 playout 170ms target S0T1 fallback S0 rewriting s-lm paused"),
            [
                "replica",
                "replica, below the highest layer",
                "replica, with a fallback size",
                "replica, numbered by frames",
                "replica, with playout delay",
                "replica, paused"
            ]
        );
        assert_eq!(of("relay x1 only p1 rtp p2@x2"), ["relay"]);
        assert_eq!(
            of("relay x1 learn ingress gcm128/7 rtp p2@x2+b8"),
            [
                "relay",
                "relay, that learns",
                "relay, with keys",
                "relay, with services"
            ]
        );
        assert_eq!(of("send alice rtcp"), ["send rtcp"]);
        assert_eq!(of("send alice stun"), ["send, other"]);
        assert_eq!(of("report-relay x1"), ["report-relay"]);
    }
}
