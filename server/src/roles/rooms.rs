//! The controller of rooms with its front ends, and the sender of webhooks.

use std::error::Error;
use std::net::IpAddr;

use controller::Controller;
use southbound::ControllerId;
use timeline::Recorder;
use tokio::task::JoinHandle;

use super::{Process, reach, seed};
use crate::clients::connection_slots;
use crate::config::Config;
use crate::controller_task::{self, Nodes};
use crate::frontends;
use crate::settings::{api_keys, pinned};
use crate::webhooks::{self, Webhooks};

/// A controller that runs.
pub(crate) struct Rooms {
    /// Questions and settings.
    pub controller: controller_task::Handle,
    /// The protocols by which it is reached.
    pub front_ends: frontends::Handles,
    /// The sender of webhooks.
    pub webhooks: Webhooks,
    /// The tasks that it cannot be without, by their names.
    pub tasks: [(&'static str, JoinHandle<()>); 2],
}

/// Starts a controller of this id that commands nodes. Clients find Weir's own TURN server at
/// `node_ips`.
///
/// Errors: the operating system gives no randomness.
pub(crate) fn start(
    config: &Config,
    id: ControllerId,
    nodes: Nodes,
    node_ips: &[IpAddr],
    process: &Process,
) -> Result<Rooms, Box<dyn Error>> {
    let Process { clocks, metrics } = process;
    let controller = Controller::new(of_controller(config, id, node_ips), clocks.wall, seed()?);
    let (webhooks, webhooks_task) = webhooks::start(metrics.clone());
    let settings = frontends::Settings {
        pings: config.signalling.pings(),
        sessions: connection_slots::Limits::from(&config.limits).sessions(),
        keys: api_keys(config),
        wall: clocks.wall,
        seed: u64::from_ne_bytes(seed()?),
        room_events: webhooks.events(),
    };
    let (front_ends, handles) = frontends::all(settings, metrics.clone());
    webhooks.report_to(handles.webhooks.clone());
    let recorder = Recorder::new(config.recorder.into());
    let (controller, task) = controller_task::start(controller, front_ends, nodes, recorder, metrics.clone());
    Ok(Rooms {
        controller,
        front_ends: handles,
        webhooks,
        tasks: [("controller", task), ("webhooks", webhooks_task)],
    })
}

/// The id of a controller that starts, which no other one has.
///
/// Errors: the operating system gives no randomness.
pub(crate) fn new_id() -> Result<ControllerId, Box<dyn Error>> {
    Ok(ControllerId::new(u32::from_ne_bytes(seed()?)))
}

fn of_controller(config: &Config, id: ControllerId, node_ips: &[IpAddr]) -> controller::Config {
    let defaults = controller::Config::new(api_keys(config));
    let turn = config.turn.as_ref();
    controller::Config {
        controller: id,
        auto_create: config.room.auto_create,
        empty_timeout: config.room.empty_timeout(),
        departure_timeout: config.room.departure_timeout(),
        participants_max: config.room.max_participants.unwrap_or(defaults.participants_max),
        remote_unmute: config.room.enable_remote_unmute,
        quotas: (&config.quotas).into(),
        visible: config.room.visible.into(),
        voices: config.audio.voices(),
        observations: Recorder::new(config.recorder.into()).is_on(),
        pinned: pinned(config),
        turn: turn.map(|turn| reach::turn_for_clients(turn, config.tls.as_ref(), node_ips)),
        ..defaults
    }
}
