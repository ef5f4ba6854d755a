use std::ops::RangeInclusive;

use crate::capacity::{Capacity, capacity_for};
use crate::design::{Demand, Design};
use crate::device::{Device, Resource, Rewriter};
use crate::kind::{Adaptation, Kind};
use crate::quality::{Quality, Rates};
use crate::server::Server;

/// Sizes of meetings in Scallop's figures 18 to 20.
pub const PARTICIPANTS_SWEPT: RangeInclusive<u64> = 1..=100;

const REWRITERS: [Option<Rewriter>; 3] = [None, Some(Rewriter::SLm), Some(Rewriter::SLr)];
const DESIGNS: [Design; 3] = [Design::Nra, Design::RaR, Design::RaSr];

/// One configuration of a meeting, on a device and on a server.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// Participants of the meeting.
    pub participants: u64,
    /// Those who send.
    pub senders: u64,
    /// The quality that every receiver gets.
    pub quality: Quality,
    /// The replication design.
    pub design: Design,
    /// The rewriter; none for two participants and for NRA in a program without adaptation.
    pub rewriter: Option<Rewriter>,
    /// The meetings of the device.
    pub device: Capacity,
    /// The meetings of the server.
    pub server: u64,
}

impl Point {
    /// The device's meetings by the server's; `None` if the server carries none.
    pub fn ratio(&self) -> Option<f64> {
        (self.server > 0).then(|| self.device.meetings as f64 / self.server as f64)
    }
}

/// Every configuration of a meeting with this many participants: senders 1 to N, quality, design
/// and rewriter.
///
/// All receivers get one quality. The qualities between give rates between. Loss does not change
/// the counts and is not swept. A design is imposed, whether the meeting needs it or not.
///
/// Source: Scallop section 8.4.
pub fn sweep<'a>(device: &'a Device, server: &'a Server, participants: u64) -> impl Iterator<Item = Point> + 'a {
    let shapes = (1..=participants).flat_map(|senders| Quality::ALL.map(|quality| (senders, quality)));
    let programs = programs(participants);
    shapes.flat_map(move |(senders, quality)| {
        programs.clone().into_iter().map(move |(design, rewriter)| {
            let bandwidth = uniform(participants, senders, quality).bits();
            let device = Device {
                rewriter,
                ..device.clone()
            };
            let demand = Demand::new(&device, design, participants, senders, bandwidth);
            let server = server.meetings(&uniform(participants, senders, quality));
            let device = capacity_for(&device, &demand);
            Point {
                participants,
                senders,
                quality,
                design,
                rewriter,
                device,
                server,
            }
        })
    })
}

/// The designs for meetings of this size, with the rewriters that each may have.
fn programs(participants: u64) -> Vec<(Design, Option<Rewriter>)> {
    if participants <= 2 {
        return vec![(Design::TwoParty, None)];
    }
    let all = DESIGNS
        .into_iter()
        .flat_map(|design| REWRITERS.map(|rewriter| (design, rewriter)));
    all.filter(|(design, rewriter)| *design == Design::Nra || rewriter.is_some())
        .collect()
}

/// A meeting in which all receivers get one quality, as a server sees it.
fn uniform(participants: u64, senders: u64, quality: Quality) -> Kind {
    let quality = if participants == 1 { Quality::Low } else { quality };
    Kind {
        participants,
        senders,
        video: Rates::SCALLOP.of(quality),
        has_audio: false,
        is_encrypted: false,
        adaptation: Adaptation::None,
    }
}

/// The lowest and the highest ratio of the device's meetings by each server's, over all
/// configurations of meetings of these sizes. `None` for a server that carries none.
pub fn ratios(device: &Device, servers: &[Server], sizes: RangeInclusive<u64>) -> Vec<Option<(f64, f64)>> {
    let mut all = vec![None; servers.len()];
    let Some(first) = servers.first() else { return all };
    for point in sizes.flat_map(|participants| sweep(device, first, participants)) {
        let kind = uniform(point.participants, point.senders, point.quality);
        for (range, server) in all.iter_mut().zip(servers) {
            let carried = server.meetings(&kind);
            if carried > 0 {
                let ratio = point.device.meetings as f64 / carried as f64;
                let (least, most) = range.unwrap_or((ratio, ratio));
                *range = Some((ratio.min(least), ratio.max(most)));
            }
        }
    }
    all
}

/// The extremes over all configurations of one size: figures 18 and 19.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Envelope {
    /// Participants of each meeting.
    pub participants: u64,
    /// The least and the most meetings on the device.
    pub device: (u64, u64),
    /// The least and the most meetings on the server.
    pub server: (u64, u64),
    /// The lowest and the highest ratio of one configuration.
    pub ratio: (f64, f64),
}

/// The extremes over all configurations of meetings with this many participants; `None` for none.
pub fn envelope(device: &Device, server: &Server, participants: u64) -> Option<Envelope> {
    let each = sweep(device, server, participants).filter_map(|point| {
        let ratio = point.ratio()?;
        let (device, server) = (point.device.meetings, point.server);
        Some(Envelope {
            participants,
            device: (device, device),
            server: (server, server),
            ratio: (ratio, ratio),
        })
    });
    each.reduce(|a, b| Envelope {
        participants,
        device: (a.device.0.min(b.device.0), a.device.1.max(b.device.1)),
        server: (a.server.0.min(b.server.0), a.server.1.max(b.server.1)),
        ratio: (a.ratio.0.min(b.ratio.0), a.ratio.1.max(b.ratio.1)),
    })
}

/// Meetings that each part of the device would allow if it alone were the bottleneck: figure 20.
/// Trees and sequence memory are `None` for two participants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alone {
    /// Trees, all meetings being NRA.
    pub nra: Option<u64>,
    /// Trees, all meetings being RA-R.
    pub ra_r: Option<u64>,
    /// Trees, all meetings being RA-SR.
    pub ra_sr: Option<u64>,
    /// Sequence memory with S-LM.
    pub s_lm: Option<u64>,
    /// Sequence memory with S-LR.
    pub s_lr: Option<u64>,
    /// Bandwidth.
    pub bandwidth: Option<u64>,
    /// The server's meetings, for comparison.
    pub server: u64,
}

/// Figure 20 for one size: all participants send, and all get one quality.
pub fn alone(device: &Device, server: &Server, participants: u64, quality: Quality) -> Alone {
    let kind = uniform(participants, participants, quality);
    let bandwidth = kind.bits();
    let by = |design, rewriter, resource| {
        let design = if participants <= 2 { Design::TwoParty } else { design };
        let device = Device {
            rewriter: Some(rewriter),
            ..device.clone()
        };
        let demand = Demand::new(&device, design, participants, participants, bandwidth);
        capacity_for(&device, &demand).alone(resource)
    };
    Alone {
        nra: by(Design::Nra, Rewriter::SLm, Resource::Trees),
        ra_r: by(Design::RaR, Rewriter::SLm, Resource::Trees),
        ra_sr: by(Design::RaSr, Rewriter::SLm, Resource::Trees),
        s_lm: by(Design::RaSr, Rewriter::SLm, Resource::SequenceCells),
        s_lr: by(Design::RaSr, Rewriter::SLr, Resource::SequenceCells),
        bandwidth: by(Design::Nra, Rewriter::SLm, Resource::Bandwidth),
        server: server.meetings(&kind),
    }
}
