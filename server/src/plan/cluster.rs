//! `weir plan --cluster`.

use std::error::Error;

use planning::cluster::{Broadcast, ClusterLimits, Encodings, Meetings, Sheet};
use planning::{DeviceFile, Machine};

use crate::cli;

/// The limits of the parts that this program is made of.
const LIMITS: ClusterLimits = ClusterLimits {
    participants: controller::limits::PARTICIPANTS_MAX as u64,
    rooms: controller::limits::ROOMS_MAX as u64,
    nodes: controller::limits::NODES_MAX as u64,
    transports: agent::limits::TRANSPORTS_MAX as u64,
    trunks: agent::limits::DIRECT_TRANSPORTS_MAX as u64,
};

/// The sheet that is asked for.
pub(super) fn sheet(arguments: &cli::Plan, devices: &[DeviceFile]) -> Result<Sheet, Box<dyn Error>> {
    let [device] = devices else {
        return Err("a cluster is planned of one kind of server: name one --device".into());
    };
    let Machine::Server(server) = &device.machine else {
        return Err(format!("{} is no server: media nodes are", device.name).into());
    };
    let asked = &arguments.cluster;
    let encodings = Encodings::parse(&asked.encodings, !arguments.no_audio)?;
    let sheet = match asked.viewers {
        Some(viewers) => Broadcast {
            viewers,
            encodings,
            regions: asked.regions,
            fan_out: asked.fan_out,
            seconds: asked.join_seconds,
        }
        .sheet(server, &LIMITS, &device.source),
        None => Meetings {
            rooms: arguments.rooms,
            participants: arguments.participants,
            encodings,
            regions: asked.regions,
            seconds: asked.join_seconds,
        }
        .sheet(server, &LIMITS, &device.source),
    };
    Ok(sheet?)
}
