//! Plans as text.

use std::fmt::Write as _;

use drawing::curves::{Curve, Drawing, Panel, Scale};

use crate::file::DeviceFile;
use crate::kind::{Adaptation, Kind};
use crate::mix::Mix;
use crate::plan::Plan;

/// Sizes of meetings in the drawing of a plan.
const SIZES: [u64; 16] = [2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 40, 50, 70, 100];

/// A headroom from which on a table leaves a resource out.
const HARDLY_USED: f64 = 99.5;

/// Devices in the drawing of a plan, at most.
const DEVICES_DRAWN: f64 = 1_000.0;

/// A table for a terminal.
pub fn table(mix: &Mix, plans: &[Plan]) -> String {
    let mut rows = vec![["device", "meetings", "devices", "binding", "headroom"].map(str::to_owned)];
    rows.extend(plans.iter().map(|plan| {
        let devices = plan.devices.map_or("-".to_owned(), grouped);
        [
            plan.device.clone(),
            grouped(plan.meetings),
            devices,
            plan.binding.to_owned(),
            headroom(plan),
        ]
    }));
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3].map(width);
    let mut text = format!("{}\n\n", describe(mix));
    for [device, meetings, devices, binding, headroom] in &rows {
        let [a, b, c, d] = widths;
        let line = format!("{device:a$}  {meetings:>b$}  {devices:>c$}  {binding:d$}  {headroom}");
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text.push_str("\nmeetings: that one device carries, in these proportions; devices: for all of them;\n");
    text.push_str("headroom: the share of each resource that is left on so many devices.\n");
    for plan in plans {
        let _ = writeln!(text, "{}: {}", plan.device, plan.source.trim());
        if let Some(note) = &plan.note {
            let _ = writeln!(text, "{}: {note}", plan.device);
        }
    }
    text
}

/// The share that is left of each resource, the least first, but for those that are hardly used.
fn headroom(plan: &Plan) -> String {
    let used = plan.resources.iter().filter(|used| used.used > 0);
    let mut shares: Vec<_> = used
        .filter_map(|used| Some((used.resource, used.headroom_percent?)))
        .collect();
    shares.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let shown = shares.iter().enumerate();
    let shown = shown.filter(|(at, (_, share))| *at == 0 || *share < HARDLY_USED);
    let shown: Vec<_> = shown
        .map(|(_, (name, share))| format!("{name} {}", percent(*share)))
        .collect();
    if shown.is_empty() {
        "-".to_owned()
    } else {
        shown.join(", ")
    }
}

/// A share. Nearly all and nearly nothing are told from all and nothing.
fn percent(share: f64) -> String {
    match share {
        0.0..1.0 | 99.0.. => format!("{share:.1} %"),
        _ => format!("{share:.0} %"),
    }
}

/// The meetings of a mix, in words.
fn describe(mix: &Mix) -> String {
    let kind = |(count, kind): &(u64, Kind)| {
        let encrypted = if kind.is_encrypted { "encrypted" } else { "in clear" };
        let audio = if kind.has_audio { " and audio" } else { "" };
        let video = kind.video / 1_000;
        let adapted = match kind.adaptation {
            Adaptation::None => ", without adaptation",
            Adaptation::Receivers => ", adapted by receivers",
            Adaptation::Pairs => ", adapted by pairs",
        };
        format!(
            "{} of {}, {} of whom send {} kbit/s{audio}, {encrypted}{adapted}",
            grouped(*count),
            kind.participants,
            kind.senders,
            grouped(video)
        )
    };
    let shown: Vec<_> = mix.kinds.iter().take(12).map(kind).collect();
    let more = mix.kinds.len() - shown.len();
    let more = if more > 0 {
        format!("\n  and {more} more kinds")
    } else {
        String::new()
    };
    format!(
        "{}: {} meetings\n  {}{more}",
        mix.name,
        grouped(mix.meetings()),
        shown.join("\n  ")
    )
}

/// A number with a comma for each thousand.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A row for each device and resource. An empty cell is no bound.
pub fn csv(plans: &[Plan]) -> String {
    let cell = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
    let header = "device,wanted,meetings,binding,devices,resource,unit,supply,used,alone,headroom_percent";
    let mut rows = vec![header.split(',').map(str::to_owned).collect::<Vec<_>>()];
    for plan in plans {
        rows.extend(plan.resources.iter().map(|used| {
            vec![
                plan.device.clone(),
                plan.wanted.to_string(),
                plan.meetings.to_string(),
                plan.binding.to_owned(),
                cell(plan.devices),
                used.resource.to_owned(),
                used.unit.to_owned(),
                cell(used.supply),
                used.used.to_string(),
                cell(used.alone),
                used.headroom_percent
                    .map_or(String::new(), |share| format!("{share:.3}")),
            ]
        }));
    }
    lines(&rows)
}

/// Rows of equal numbers of cells as comma-separated values (RFC 4180 section 2).
pub fn lines(rows: &[Vec<String>]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.write_record(row).expect("rows have equal numbers of cells");
    }
    let bytes = writer.into_inner().expect("memory takes it");
    String::from_utf8(bytes).expect("cells are text")
}

/// A drawing: the meetings of one device by their size, and the devices for a number of meetings.
///
/// The first panel is of the most frequent kind of the mix.
pub fn drawing(mix: &Mix, devices: &[DeviceFile], plans: &[Plan]) -> String {
    let frequent = mix.kinds.iter().max_by_key(|(count, _)| *count).map(|(_, kind)| *kind);
    let by_size = |device: &DeviceFile| {
        let meetings = |participants: u64| {
            let kind = Kind {
                participants,
                senders: frequent?.senders.min(participants),
                ..frequent?
            };
            let mix = Mix {
                name: String::new(),
                kinds: vec![(1, kind)],
            };
            let meetings = Plan::new(device, &mix).meetings;
            (meetings > 0).then_some((participants as f64, meetings as f64))
        };
        SIZES.into_iter().filter_map(meetings).collect()
    };
    let by_number = |plan: &Plan| {
        let most = plan.meetings as f64 * DEVICES_DRAWN;
        let numbers = (0..=60).map(|step| 10_f64.powf(f64::from(step) / 10.0));
        let numbers = numbers.take_while(|number| *number <= most);
        numbers
            .map(|number| (number, (number / plan.meetings as f64).ceil()))
            .collect()
    };
    let curve = |name: &str, points: Vec<(f64, f64)>| Curve {
        name: name.to_owned(),
        points,
    };
    let named = devices.iter().map(|device| curve(&device.name, by_size(device)));
    let numbered = plans.iter().map(|plan| curve(&plan.device, by_number(plan)));
    let drawn = |curves: &mut dyn Iterator<Item = Curve>| curves.filter(|it| !it.points.is_empty()).collect();
    let panel = |across: &str, up: &str, curves| Panel {
        across: across.to_owned(),
        up: up.to_owned(),
        scale: Scale::BothLogarithmic,
        curves,
    };
    let kind = frequent.map_or(0, |kind| kind.senders);
    let drawing = Drawing {
        title: format!("{}: {} meetings", mix.name, grouped(mix.meetings())),
        panels: vec![
            panel(
                &format!("participants, at most {kind} of whom send"),
                "meetings on one device",
                drawn(&mut named.into_iter()),
            ),
            panel("meetings of the mix", "devices", drawn(&mut numbered.into_iter())),
        ],
    };
    drawing.svg()
}
