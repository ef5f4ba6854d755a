//! Committed files of results.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use planning::{Adaptation, Kind, limits};

/// A row by the names of its columns.
pub(crate) type Row = BTreeMap<String, String>;

/// A file below the top of the repository.
pub(crate) fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The rows of a file of results.
pub(crate) fn rows(path: &str) -> Vec<Row> {
    let text = text(path);
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .from_reader(text.as_bytes());
    reader.deserialize().map(|row| row.expect("a row of results")).collect()
}

/// A number of a row; `None` if the cell is empty.
pub(crate) fn number(row: &Row, column: &str) -> Option<f64> {
    row.get(column)?.parse().ok()
}

pub(crate) fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    match numbers.len() % 2 {
        0 => (numbers[middle - 1] + numbers[middle]) / 2.0,
        _ => numbers[middle],
    }
}

/// A step of a search on one core without adaptation.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// The search and the load.
    pub(crate) name: String,
    pub(crate) verdict: String,
    /// Meetings that go on together.
    pub(crate) meetings: f64,
    pub(crate) kind: Kind,
    pub(crate) frames: f64,
    pub(crate) replicas: f64,
    /// Cores of the whole process.
    pub(crate) cores: f64,
    pub(crate) latency_p50_us: f64,
}

/// The steps of `weir-plain` in `hd`, `conferences` and `rooms` that have a figure.
pub(crate) fn steps() -> Vec<Step> {
    let of = |search: &str| {
        let rows = rows(&format!("docs/measured/performance/{search}.csv"));
        let ours = rows.into_iter().filter(|row| row["server"] == "weir-plain");
        ours.filter_map(|row| step(search, &row)).collect::<Vec<_>>()
    };
    ["hd", "conferences", "rooms"].into_iter().flat_map(of).collect()
}

fn step(search: &str, row: &Row) -> Option<Step> {
    let replicas = number(row, "replicas_per_second_offered")?;
    let (_, people) = row["load"].rsplit_once(' ')?;
    let (meetings, people) = people.split_once('*').unwrap_or(("1", people));
    let (senders, others) = people.split_once('x')?;
    let [meetings, senders, others] = [meetings, senders, others].map(|it| it.parse::<u64>().expect("a number"));
    // `5x5` are five who all send, and `1x14` one sender to fourteen others.
    let participants = if senders == 1 { others + 1 } else { others };
    Some(Step {
        name: format!("{search} {}", row["load"]),
        verdict: row["verdict"].clone(),
        meetings: meetings as f64,
        kind: kind(participants, senders, replicas / meetings as f64),
        frames: if search == "rooms" { 30.0 } else { 24.0 },
        replicas,
        cores: replicas * number(row, "process_us_per_replica")? / 1e6,
        latency_p50_us: number(row, "latency_p50_us")?,
    })
}

/// The steps of `weir-plain` in `capacity` that have a figure.
pub(crate) fn capacity() -> Vec<Step> {
    let rows = rows("docs/measured/performance/capacity.csv");
    let ours = rows.into_iter().filter(|row| row["server"] == "weir-plain");
    let step = |row: Row| {
        let (count, replicas) = (number(&row, "count")? as u64, number(&row, "replicas_per_second")?);
        let (meetings, participants, senders) = match row["load"].starts_with("rooms of 5") {
            true => (count, 5, 5),
            false => (1, count + 1, 1),
        };
        Some(Step {
            name: format!("{} {count}", row["load"]),
            verdict: row["verdict"].clone(),
            meetings: meetings as f64,
            kind: kind(participants, senders, replicas / meetings as f64),
            frames: 30.0,
            replicas,
            cores: number(&row, "cores")?,
            latency_p50_us: number(&row, "latency_p50_us")?,
        })
    };
    ours.filter_map(step).collect()
}

/// The time of a copy on so many busy cores, beside that on one in the same round: medians.
pub(crate) fn slowdowns() -> Vec<(u64, f64)> {
    let rows = rows("docs/measured/performance/cores.csv");
    let time = |row: &Row| number(row, "copy_ns").expect("a time");
    let alone = |round: &str| {
        let mut found = rows.iter().filter(|row| row["workers"] == "1");
        found.find(|row| row["round"] == round).map(time).expect("one core")
    };
    let mut ratios: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for row in &rows {
        let cores = row["workers"].parse().expect("a number");
        let ratio = time(row) / alone(&row["round"]);
        ratios.entry(cores).or_default().push(ratio);
    }
    ratios.into_iter().map(|(cores, all)| (cores, median(all))).collect()
}

/// An encrypted meeting of video with so many replicas a second.
pub(crate) fn kind(participants: u64, senders: u64, replicas: f64) -> Kind {
    let packets = replicas / (senders * (participants - 1)) as f64;
    Kind {
        participants,
        senders,
        video: (packets * (8 * limits::VIDEO_PACKET_BYTES) as f64).round() as u64,
        has_audio: false,
        is_encrypted: true,
        adaptation: Adaptation::None,
    }
}
