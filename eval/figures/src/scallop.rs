//! Scallop's figures 18 to 20, its headline numbers, and the same beside Weir's own servers.

use drawing::curves::{Curve, Drawing, Panel, Scale};

use planning::report::{grouped, lines};
use planning::{
    Adaptation, Alone, Design, Device, DeviceFile, Envelope, Kind, Machine, Meeting, PARTICIPANTS_SWEPT, Quality,
    Rates, Resource, Rewriter, Server, alone, capacity_as, envelope, ratios,
};

/// Sizes for which the paper's ratios are compared.
const LARGE: std::ops::RangeInclusive<u64> = 10..=100;
/// Sizes below them that need trees.
const SMALL: std::ops::RangeInclusive<u64> = 3..=9;

/// The files of the figures and of a switch's worth: names and contents.
pub fn files(worth: &[Worth]) -> Vec<(&'static str, String)> {
    let (device, server) = (Device::tofino2(), Server::mediasoup());
    let envelopes: Vec<_> = PARTICIPANTS_SWEPT
        .filter_map(|participants| envelope(&device, &server, participants))
        .collect();
    let of = |quality| -> Vec<_> {
        let each = |participants| (participants, alone(&device, &server, participants, quality));
        PARTICIPANTS_SWEPT.map(each).collect()
    };
    let [high, low] = [Quality::High, Quality::Low].map(of);
    vec![
        ("figures18-19.csv", ranges(&envelopes)),
        ("figures18-19.svg", figures18_19(&envelopes)),
        ("figure20.csv", parts(&high)),
        ("figure20.svg", figure20([&high, &low])),
        ("headline.csv", lines(&headline())),
        ("worth.csv", lines(&Worth::csv(worth))),
    ]
}

fn ranges(envelopes: &[Envelope]) -> String {
    let header = "participants,device_least,device_most,server_least,server_most,ratio_least,ratio_most";
    let row = |it: &Envelope| {
        let counts = [it.participants, it.device.0, it.device.1, it.server.0, it.server.1].map(|it| it.to_string());
        let ratios = [it.ratio.0, it.ratio.1].map(|ratio| format!("{ratio:.3}"));
        counts.into_iter().chain(ratios).collect()
    };
    table(header, envelopes.iter().map(row))
}

fn parts(alone: &[(u64, Alone)]) -> String {
    let header = "participants,nra,ra_r,ra_sr,s_lm,s_lr,bandwidth,server";
    let row = |(participants, it): &(u64, Alone)| {
        let parts = [
            it.nra,
            it.ra_r,
            it.ra_sr,
            it.s_lm,
            it.s_lr,
            it.bandwidth,
            Some(it.server),
        ];
        let parts = parts.map(|part| part.map_or(String::new(), |part| part.to_string()));
        [participants.to_string()].into_iter().chain(parts).collect()
    };
    table(header, alone.iter().map(row))
}

fn table(header: &str, rows: impl Iterator<Item = Vec<String>>) -> String {
    let header = header.split(',').map(str::to_owned).collect();
    let rows: Vec<_> = [header].into_iter().chain(rows).collect();
    lines(&rows)
}

fn curve<T>(name: &str, all: &[T], point: impl Fn(&T) -> Option<(u64, f64)>) -> Curve {
    let points = all.iter().filter_map(point);
    Curve {
        name: name.to_owned(),
        points: points.map(|(across, up)| (across as f64, up)).collect(),
    }
}

fn panel(up: &str, curves: Vec<Curve>) -> Panel {
    Panel {
        across: "participants of a meeting".to_owned(),
        up: up.to_owned(),
        scale: Scale::BothLogarithmic,
        curves,
    }
}

fn figures18_19(envelopes: &[Envelope]) -> String {
    let of = |name, value: fn(&Envelope) -> f64| curve(name, envelopes, move |it| Some((it.participants, value(it))));
    let meetings = vec![
        of("Tofino2, most", |it| it.device.1 as f64),
        of("Tofino2, least", |it| it.device.0 as f64),
        of("server, most", |it| it.server.1 as f64),
        of("server, least", |it| it.server.0 as f64),
    ];
    let ratios = vec![
        of("highest ratio", |it| it.ratio.1),
        of("lowest ratio", |it| it.ratio.0),
    ];
    let drawing = Drawing {
        title: "Figures 18 and 19: all configurations".to_owned(),
        panels: vec![panel("meetings", meetings), panel("ratio of one configuration", ratios)],
    };
    drawing.svg()
}

fn figure20(alone: [&[(u64, Alone)]; 2]) -> String {
    let [high, low] = alone.map(|alone| {
        let of = |name, value: fn(&Alone) -> Option<u64>| {
            curve(name, alone, move |(size, it)| Some((*size, value(it)? as f64)))
        };
        vec![
            of("NRA", |it| it.nra),
            of("RA-R", |it| it.ra_r),
            of("RA-SR", |it| it.ra_sr),
            of("S-LM", |it| it.s_lm),
            of("S-LR", |it| it.s_lr),
            of("bandwidth", |it| it.bandwidth),
            of("server", |it| Some(it.server)),
        ]
    });
    let drawing = Drawing {
        title: "Figure 20: meetings that one part alone allows".to_owned(),
        panels: vec![panel("all send 3 Mbit/s", high), panel("all send 1 Mbit/s", low)],
    };
    drawing.svg()
}

/// A meeting of ten who all send 3 Mbit/s.
const TEN: Kind = Kind {
    participants: 10,
    senders: 10,
    video: Rates::SCALLOP.0[2],
    has_audio: false,
    is_encrypted: false,
    adaptation: Adaptation::None,
};

/// The paper's headline numbers: quantity, the paper's value, ours, and the constants of ours.
pub fn headline() -> Vec<Vec<String>> {
    let ten = Meeting::uniform(10, 10, Quality::High);
    let alone = |device: &Device, design, resource| capacity_as(device, &ten, design).alone(resource).unwrap_or(0);
    let (decimal, binary) = (Device::tofino2(), Device::tofino2_binary());
    let s_lr = Device {
        rewriter: Some(Rewriter::SLr),
        ..Device::tofino2()
    };
    let server = Server::mediasoup();
    let faster = Server {
        rate_per_core: Some(2_400_000_000),
        ..Server::mediasoup()
    };
    let narrower = Device {
        bandwidth: decimal.bandwidth / 100 * 95,
        ..Device::tofino2()
    };
    let trees = |design| {
        let [first, second] = [&decimal, &binary].map(|device| grouped(alone(device, design, Resource::Trees)));
        format!("{first}; {second}")
    };
    let range = |device: &Device, server: &Server| {
        let range = ratios(device, std::slice::from_ref(server), LARGE)
            .first()
            .copied()
            .flatten();
        range.map_or(String::new(), |(least, most)| format!("{least:.1} to {most:.1}"))
    };
    let rows = [
        ["quantity", "paper", "ours", "constants"].map(str::to_owned),
        [
            "meetings, NRA".into(),
            "128K".into(),
            trees(Design::Nra),
            "64,000 trees; 65,536".into(),
        ],
        [
            "meetings, RA-R".into(),
            "42.7K".into(),
            trees(Design::RaR),
            "64,000 trees; 65,536".into(),
        ],
        [
            "meetings of ten, RA-SR".into(),
            "4.3K".into(),
            trees(Design::RaSr),
            "64,000 trees; 65,536".into(),
        ],
        [
            "streams, S-LM".into(),
            "2.3M".into(),
            grouped(decimal.sequence_cells()),
            "16 stages of 143,500".into(),
        ],
        [
            "streams, S-LR".into(),
            "430.5K".into(),
            grouped(s_lr.sequence_cells()),
            "3 stages of 143,500".into(),
        ],
        [
            "meetings of ten on the server".into(),
            "192".into(),
            grouped(server.meetings(&TEN)),
            "32 cores of 1,800 Mbit/s".into(),
        ],
        [
            "meetings of ten on the server".into(),
            "-".into(),
            grouped(faster.meetings(&TEN)),
            "32 cores of 2,400 Mbit/s (published code)".into(),
        ],
        [
            "ratio, 10 to 100 participants".into(),
            "7 to 422".into(),
            range(&decimal, &server),
            "1,800 Mbit/s a core".into(),
        ],
        [
            "ratio, 10 to 100 participants".into(),
            "7 to 422".into(),
            range(&narrower, &server),
            "1,800 Mbit/s a core; 12.16 Tbit/s (95 %)".into(),
        ],
        [
            "ratio, 10 to 100 participants".into(),
            "7 to 422".into(),
            range(&decimal, &faster),
            "2,400 Mbit/s a core".into(),
        ],
        [
            "ratio, 3 to 9 participants".into(),
            "-".into(),
            small(&decimal, &server),
            "1,800 Mbit/s a core".into(),
        ],
    ];
    rows.into_iter().map(Vec::from).collect()
}

fn small(device: &Device, server: &Server) -> String {
    let range = ratios(device, std::slice::from_ref(server), SMALL)
        .first()
        .copied()
        .flatten();
    range.map_or(String::new(), |(least, most)| format!("{least:.1} to {most:.1}"))
}

/// A Tofino2 beside one server.
#[derive(Clone, Debug, PartialEq)]
pub struct Worth {
    /// The server, and whether it encrypts.
    pub server: String,
    /// Whether only its cores bind, and not its network.
    pub is_unlimited: bool,
    /// Its meetings of ten participants who all send 3 Mbit/s.
    pub tens: u64,
    /// Those of a Tofino2 with S-LM by them, and with S-LR.
    pub ratio_of_tens: (f64, f64),
    /// The lowest and the highest ratio for 3 to 9 participants.
    pub small: (f64, f64),
    /// The same for 10 to 100.
    pub large: (f64, f64),
}

/// A Tofino2, which forwards without encryption, beside the shipped servers.
pub fn worth() -> Vec<Worth> {
    let device = Device::tofino2();
    let mut servers = Vec::new();
    for file in DeviceFile::all_shipped() {
        let Machine::Server(server) = file.machine else {
            continue;
        };
        let unlimited = |server: &Server| Server {
            bandwidth: None,
            memory: None,
            ..server.clone()
        };
        let mut add = |name: String, server: Server| {
            servers.push((name.clone(), true, unlimited(&server)));
            if server.bandwidth.is_some() {
                servers.push((name, false, server));
            }
        };
        match server.srtp {
            None => add(file.name, server),
            Some(_) => {
                add(format!("{}, in clear", file.name), server.clone());
                // Encrypted rooms are not copied in the kernel.
                if file.name != "weir-ebpf" {
                    add(format!("{}, SRTP", file.name), server.encrypting());
                }
            }
        }
    }
    let all: Vec<_> = servers.iter().map(|(_, _, server)| server.clone()).collect();
    let [small, large] = [SMALL, LARGE].map(|sizes| ratios(&device, &all, sizes));
    let tens = |rewriter| {
        let device = Device {
            rewriter: Some(rewriter),
            ..Device::tofino2()
        };
        let meeting = Meeting::uniform(10, 10, Quality::High);
        capacity_as(&device, &meeting, Design::Nra).meetings as f64
    };
    let of_device = (tens(Rewriter::SLm), tens(Rewriter::SLr));
    let rows = servers.into_iter().zip(small.into_iter().zip(large));
    rows.map(|((server, is_unlimited, it), (small, large))| {
        let tens = it.meetings(&TEN);
        let by = |meetings: f64| meetings / tens.max(1) as f64;
        Worth {
            server,
            is_unlimited,
            tens,
            ratio_of_tens: (by(of_device.0), by(of_device.1)),
            small: small.unwrap_or_default(),
            large: large.unwrap_or_default(),
        }
    })
    .collect()
}

impl Worth {
    /// A table in Markdown.
    pub fn markdown(all: &[Self]) -> String {
        let header = "| server of 32 cores | network | meetings of ten | Tofino2 by it: S-LM, S-LR | 3 to 9 participants | 10 to 100 |";
        let mut text = format!("{header}\n|---|---|--:|---|---|---|\n");
        for it in all {
            let range = |(least, most): (f64, f64)| format!("{least:.2} to {most:.0}");
            let network = if it.is_unlimited { "not counted" } else { "100 Gbit/s" };
            text += &format!(
                "| {} | {network} | {} | {:.1}, {:.1} | {} | {} |\n",
                it.server,
                grouped(it.tens),
                it.ratio_of_tens.0,
                it.ratio_of_tens.1,
                range(it.small),
                range(it.large)
            );
        }
        text
    }

    fn csv(all: &[Self]) -> Vec<Vec<String>> {
        let header =
            "server,network,meetings_of_ten,ratio_s_lm,ratio_s_lr,small_least,small_most,large_least,large_most";
        let mut rows = vec![header.split(',').map(str::to_owned).collect::<Vec<_>>()];
        for it in all {
            let network = if it.is_unlimited { "not counted" } else { "100 Gbit/s" };
            let ratios = [
                it.ratio_of_tens.0,
                it.ratio_of_tens.1,
                it.small.0,
                it.small.1,
                it.large.0,
                it.large.1,
            ];
            let names = [it.server.clone(), network.to_owned(), it.tens.to_string()];
            let ratios = ratios.map(|ratio| format!("{ratio:.3}"));
            rows.push(names.into_iter().chain(ratios).collect());
        }
        rows
    }
}
