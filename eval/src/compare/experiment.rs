//! The experiments.

use serde::{Deserialize, Serialize};

/// A named set of measurements.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// The question that it answers.
    title: &'static str,
    /// How.
    pub method: Method,
    /// Whether the drawing is of the distribution of latencies, and not of costs.
    pub is_distribution: bool,
    /// Whether no processor sleeps during it, so that waking one costs next to nothing. Otherwise
    /// they sleep as deeply as the machine allows.
    pub is_awake: bool,
}

/// How an experiment is done.
#[derive(Clone, Copy, Debug)]
pub enum Method {
    /// All servers by turns, round after round, under the same load.
    Rounds(&'static [Case]),
    /// Each server on a processor of its own under more and more clients, until it no longer serves
    /// them.
    Search(&'static [Climb]),
    /// The servers of LiveKit's protocol by turns, each under the generator and under LiveKit's own
    /// load tester.
    LoadTest(&'static [Pair]),
}

/// A load that both clients make.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The load as the generator makes it.
    pub case: Case,
    /// The arguments of `lk perf load-test`.
    pub tester: &'static str,
}

/// One load.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name in tables.
    pub name: &'static str,
    /// The generator's arguments.
    pub load: &'static str,
    /// Whether other servers carry it too; else only the subject, beside the floor.
    pub beside_others: bool,
}

/// A load that grows.
#[derive(Clone, Copy, Debug)]
pub struct Climb {
    /// Its name in tables.
    pub name: &'static str,
    /// The generator's arguments, without the scenario.
    pub load: &'static str,
    /// The unit that it grows by.
    pub by: Unit,
    /// How many to begin with.
    pub first: u32,
    /// The limit that must hold.
    pub limit: Limit,
}

/// The unit that a load grows by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Unit {
    /// Receivers of one publisher.
    Receivers,
    /// Rooms of five, in which everybody publishes.
    Rooms,
    /// Rooms of so many participants, one of whom publishes.
    Conferences(u32),
}

impl Unit {
    /// The scenario with this number.
    pub fn scenario(self, count: u32) -> String {
        match self {
            Self::Receivers => format!("1x{count}"),
            Self::Rooms => format!("{count}*5x5"),
            Self::Conferences(users) => format!("{count}*1x{}", users - 1),
        }
    }

    /// More than this the generator does not make.
    pub fn most(self) -> u32 {
        match self {
            Self::Receivers => 3_900,
            Self::Rooms => 780,
            Self::Conferences(users) => 3_900 / users,
        }
    }

    /// Participants of the scenario with this number.
    pub fn participants(self, count: u32) -> u32 {
        match self {
            Self::Receivers => count + 1,
            Self::Rooms => 5 * count,
            Self::Conferences(users) => users * count,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Receivers => "receivers",
            Self::Rooms => "rooms",
            Self::Conferences(_) => "conferences",
        }
    }
}

/// When a server no longer serves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Limit {
    /// One packet in a hundred, over all receivers, takes longer than this, in microseconds, or any
    /// is lost.
    Latency(f64),
    /// One packet in a hundred has not reached the last of its receivers after this, or any is
    /// lost.
    ToLast(f64),
    /// The first room has fewer frames a second than this, or more jitter than this in
    /// milliseconds.
    FirstRoom(f64, f64),
}

/// LiveKit loses packets here beyond about 15,000 replicas a second on two cores: compared loads
/// stay below.
const VIDEO: &[Case] = &[
    both("1x50", "--bitrate 2M 1x50"),
    both("4*5x5", "--bitrate 1600K 4*5x5"),
    both("6x6", "--bitrate 2M 6x6"),
];

const AUDIO: &[Case] = &[both("audio 10 to 30", "--bitrate 0 10x30")];

const FLOOR: &[Case] = &[
    alone("1x50", "--bitrate 2M 1x50"),
    alone("1x200", "--bitrate 2M 1x200"),
    alone("10x10", "--bitrate 2M 10x10"),
    alone("20*5x5", "--bitrate 2M 20*5x5"),
    alone("audio 10 to 30", "--bitrate 0 10x30"),
    alone("audio 10 to 300", "--bitrate 0 10x300"),
];

const PACED: &[Case] = &[
    both("1x50", "--bitrate 2M --paced 1x50"),
    both("4*5x5", "--bitrate 1600K --paced 4*5x5"),
    both("6x6", "--bitrate 2M --paced 6x6"),
];

/// Rooms spread their frames over time; one publisher's frames are all due at once, and the last of
/// many receivers waits for the others.
const CAPACITY: &[Climb] = &[
    Climb {
        name: "rooms of 5, 2 Mbit/s",
        load: "--bitrate 2M",
        by: Unit::Rooms,
        first: 4,
        limit: Limit::Latency(5_000.0),
    },
    Climb {
        name: "one to many, 2 Mbit/s",
        load: "--bitrate 2M",
        by: Unit::Receivers,
        first: 50,
        limit: Limit::Latency(5_000.0),
    },
];

/// Frames of 1080p at 24 a second: at the paper's rate two packets each.
const HD: &[Climb] = &[
    Climb {
        name: "48 packets/s",
        load: "--bitrate 338K --fps 24 --key-interval 3600",
        by: Unit::Receivers,
        first: 100,
        limit: Limit::ToLast(20_500.0),
    },
    Climb {
        name: "3 Mbit/s",
        load: "--bitrate 3M --fps 24 --key-interval 3600",
        by: Unit::Receivers,
        first: 25,
        limit: Limit::ToLast(20_500.0),
    },
];

/// The video of the people in the first of many meetings (Scallop, figures 3 and 4). Clients that
/// join as fast as a server admits them take its one processor away from media, and are refused
/// before media suffer. Scallop adds one person in ten seconds.
const ROOMS: &[Climb] = &[Climb {
    name: "rooms of 5, 2 Mbit/s",
    load: "--bitrate 2M --join-rate 40",
    by: Unit::Rooms,
    first: 2,
    limit: Limit::FirstRoom(28.5, 20.0),
}];

/// More than LiveKit forwards without loss on two cores here; faster machines carry it.
const HEAVY: &[Case] = &[both("1x200", "--bitrate 2M 1x200"), both("10x10", "--bitrate 2M 10x10")];

/// A call, as Scallop's figure 15 has it.
const TWO_PARTY: &[Case] = &[both("2x2", "--bitrate 2M --audio 2x2")];

/// eXpressSFU, figures 1 and 10 to 12: one sender in each conference, 24 frames a second.
const CONFERENCES: &[Climb] = &[
    conference("1080p of 15", "--bitrate 3M --fps 24 --key-interval 3600", 15),
    conference("1080p of 50", "--bitrate 3M --fps 24 --key-interval 3600", 50),
    conference("1080p of 100", "--bitrate 3M --fps 24 --key-interval 3600", 100),
    conference("720p of 15", "--bitrate 1500K --fps 24 --key-interval 3600", 15),
    conference("720p of 50", "--bitrate 1500K --fps 24 --key-interval 3600", 50),
    conference("720p of 100", "--bitrate 1500K --fps 24 --key-interval 3600", 100),
];

/// `--layout 4x4` has each tester subscribe to 16 participants. The default is 6.
const LOAD_TEST: &[Pair] = &[
    Pair {
        case: both("1x50", "--bitrate 2M 1x50"),
        tester: "--video-publishers 1 --subscribers 50 --video-codec vp8 --no-simulcast",
    },
    Pair {
        case: both("1x50 of 3 layers", "--bitrate 2M 1x50"),
        tester: "--video-publishers 1 --subscribers 50 --video-codec vp8",
    },
    Pair {
        case: both("audio 10 to 30", "--bitrate 0 10x30"),
        tester: "--audio-publishers 10 --subscribers 30 --layout 4x4",
    },
];

const fn conference(name: &'static str, load: &'static str, users: u32) -> Climb {
    Climb {
        name,
        load,
        by: Unit::Conferences(users),
        first: 1,
        limit: Limit::ToLast(20_500.0),
    }
}

const fn both(name: &'static str, load: &'static str) -> Case {
    Case {
        name,
        load,
        beside_others: true,
    }
}

const fn alone(name: &'static str, load: &'static str) -> Case {
    Case {
        name,
        load,
        beside_others: false,
    }
}

const fn experiment(name: &'static str, title: &'static str, method: Method) -> Experiment {
    Experiment {
        name,
        title,
        method,
        is_distribution: false,
        is_awake: false,
    }
}

/// The same with no processor asleep.
const fn awake(name: &'static str, experiment: Experiment) -> Experiment {
    Experiment {
        name,
        is_awake: true,
        ..experiment
    }
}

const AT_ONCE: Experiment = experiment("video", "Video, each frame sent at once", Method::Rounds(VIDEO));
const SOUND: Experiment = experiment(
    "audio",
    "Audio, 50 packets a second from each of ten",
    Method::Rounds(AUDIO),
);
const SPREAD: Experiment = experiment("paced", "Video, paced as libwebrtc paces it", Method::Rounds(PACED));

/// All experiments.
pub const EXPERIMENTS: &[Experiment] = &[
    AT_ONCE,
    awake("video-awake", AT_ONCE),
    SOUND,
    awake("audio-awake", SOUND),
    experiment("floor", "Beside the floor", Method::Rounds(FLOOR)),
    SPREAD,
    awake("paced-awake", SPREAD),
    experiment(
        "heavy",
        "Video, as much as another server may not carry",
        Method::Rounds(HEAVY),
    ),
    Experiment {
        is_distribution: true,
        ..experiment("two-party", "A call of two", Method::Rounds(TWO_PARTY))
    },
    experiment(
        "conferences",
        "Conferences of one sender on one core",
        Method::Search(CONFERENCES),
    ),
    experiment("capacity", "Replicas a second on one core", Method::Search(CAPACITY)),
    experiment("hd", "Receivers of one 1080p sender on one core", Method::Search(HD)),
    experiment(
        "rooms",
        "The first room while rooms are added on one core",
        Method::Search(ROOMS),
    ),
    experiment(
        "load-test",
        "LiveKit's load tester as the client",
        Method::LoadTest(LOAD_TEST),
    ),
];

impl Experiment {
    /// The one with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        EXPERIMENTS.iter().find(|experiment| experiment.name == name)
    }

    /// The question and its condition, for the page.
    pub fn title(&self) -> String {
        let condition = if self.is_awake { ", no processor asleep" } else { "" };
        format!("{}{condition}", self.title)
    }

    /// The names of its loads.
    pub fn loads(&self) -> Vec<&'static str> {
        match self.method {
            Method::Rounds(cases) => cases.iter().map(|case| case.name).collect(),
            Method::Search(climbs) => climbs.iter().map(|climb| climb.name).collect(),
            Method::LoadTest(pairs) => pairs.iter().map(|pair| pair.case.name).collect(),
        }
    }
}
