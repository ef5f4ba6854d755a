//! `weir plan`: meetings on switches and servers, and clusters.

mod cluster;

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use planning::limits::FILE_BYTES_MAX;
use planning::{Adaptation, Answer, DeviceFile, MIXES, Machine, Mix, Plan, Row, SHIPPED, report};

use crate::cli;

/// Standard output in place of a file.
const STDOUT: &str = "-";

/// The media nodes of a cluster, unless others are named.
const CLUSTER_DEVICE: &str = "weir-udp";

/// Plans, or does the one other thing that is asked for.
pub(crate) fn run(arguments: cli::Plan) -> Result<(), Box<dyn Error>> {
    if arguments.list {
        return say(&list());
    }
    if let Some(name) = &arguments.show {
        let mut all = SHIPPED.iter().chain(&MIXES);
        let found = all.find(|(other, _)| other == name);
        let (_, text) = found.ok_or_else(|| format!("{name} is not shipped: `weir plan --list` has all names"))?;
        return say(text);
    }
    if arguments.cluster.cluster {
        return cluster(&arguments);
    }
    let mix = mix(&arguments)?;
    let devices = devices(&arguments)?;
    let plans: Vec<_> = devices.iter().map(|device| Plan::new(device, &mix)).collect();
    let files = [
        (&arguments.csv, report::csv(&plans)),
        (&arguments.json, serde_json::to_string_pretty(&plans)? + "\n"),
        (&arguments.plot, report::drawing(&mix, &devices, &plans)),
    ];
    let mut is_said = false;
    for (path, text) in &files {
        match path {
            Some(path) if path == Path::new(STDOUT) => {
                say(text)?;
                is_said = true;
            }
            Some(path) => write(path, text)?,
            None => {}
        }
    }
    if is_said {
        Ok(())
    } else {
        say(&report::table(&mix, &plans))
    }
}

/// Plans a cluster of one kind of server.
fn cluster(arguments: &cli::Plan) -> Result<(), Box<dyn Error>> {
    let sheet = cluster::sheet(arguments, &devices(arguments)?)?;
    let Some(path) = &arguments.json else {
        return say(&sheet.text());
    };
    let json = serde_json::to_string_pretty(&sheet)? + "\n";
    if path == Path::new(STDOUT) {
        return say(&json);
    }
    write(path, &json)?;
    say(&sheet.text())
}

/// The meetings that are asked for.
fn mix(arguments: &cli::Plan) -> Result<Mix, Box<dyn Error>> {
    if let Some(name) = &arguments.mix {
        return match Mix::shipped(name) {
            Some(mix) => Ok(mix),
            None => Ok(Mix::parse(name, &read(Path::new(name), "a mix")?)?),
        };
    }
    let adaptation = match arguments.adaptation.as_str() {
        "none" => Adaptation::None,
        "receivers" => Adaptation::Receivers,
        "pairs" => Adaptation::Pairs,
        other => return Err(format!("--adaptation is none, receivers or pairs, not {other}").into()),
    };
    let answer = |is_no: bool| is_no.then_some(Answer::No);
    let row = Row {
        count: arguments.rooms,
        participants: arguments.participants,
        senders: arguments.senders.unwrap_or(arguments.participants),
        quality: arguments.quality.clone(),
        encrypted: answer(arguments.clear),
        adaptation: Some(adaptation),
        audio: answer(arguments.no_audio),
    };
    Ok(Mix::of("question", &row)?)
}

/// The devices that are asked for, with the settings of the command line.
fn devices(arguments: &cli::Plan) -> Result<Vec<DeviceFile>, Box<dyn Error>> {
    let named = |name: &String| match DeviceFile::shipped(name) {
        Some(file) => Ok(file),
        None => {
            let stem = Path::new(name)
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let text = read(Path::new(name), "a device")?;
            DeviceFile::parse(&stem, &text).map_err(Box::<dyn Error>::from)
        }
    };
    let mut files = match arguments.devices.as_slice() {
        [] if arguments.cluster.cluster => vec![named(&CLUSTER_DEVICE.to_owned())?],
        [] => DeviceFile::all_shipped(),
        names => names.iter().map(named).collect::<Result<_, _>>()?,
    };
    for file in &mut files {
        if let Machine::Server(server) = &mut file.machine {
            server.cores = arguments.cores.unwrap_or(server.cores);
            server.bandwidth = arguments.bandwidth.or(server.bandwidth);
            if let (Some(total), Some(memory)) = (arguments.memory, &mut server.memory) {
                memory.total = total;
            }
        }
        if let Some(fault) = file.fault() {
            return Err(format!("{}: {fault}", file.name).into());
        }
    }
    Ok(files)
}

/// Reads a file that is not larger than it may be.
fn read(path: &Path, what: &str) -> Result<String, Box<dyn Error>> {
    let name = path.display();
    let unreadable = |error: io::Error| {
        format!("cannot read {name} as {what}: {error} (`weir plan --list` has the names of shipped ones)")
    };
    let file = File::open(path).map_err(unreadable)?;
    let mut text = String::new();
    let mut some = file.take(FILE_BYTES_MAX + 1);
    some.read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("{name} is larger than {FILE_BYTES_MAX} bytes: add up equal meetings").into());
    }
    Ok(text)
}

fn write(path: &Path, text: &str) -> Result<(), Box<dyn Error>> {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()).into())
}

/// The names of shipped files, with their first lines.
fn list() -> String {
    let line = |(name, text): &(&str, &str)| {
        let first = text.lines().next().unwrap_or_default();
        format!("  {name:<14} {}\n", first.trim_start_matches("# "))
    };
    let all = |files: &[(&str, &str)]| files.iter().map(line).collect::<String>();
    format!("devices\n{}mixes\n{}", all(&SHIPPED), all(&MIXES))
}

/// Writes to standard output; a reader that has gone is no error.
fn say(text: &str) -> Result<(), Box<dyn Error>> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
