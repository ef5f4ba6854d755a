//! A P4Runtime device without sockets: the checks of each write, and the state that they guard.
//!
//! The outcome of a request is that of BMv2's server. Some requests that server accepts in silence,
//! although they fail later or the specification forbids them. They are refused here: leading zeros
//! and empty values, an entry that names a group that does not exist, a group or session that an
//! earlier pipeline left behind. [`Options::is_lenient`] gives BMv2's behaviour there too.

mod arbitration;
mod config;
mod counters;
mod packets;
mod pipeline;
mod reads;
mod refusal;
mod replicas;
mod service;
mod tables;
mod values;

use std::collections::BTreeSet;
use std::time::Duration;

use p4runtime::v1;

use crate::program::Word;
use crate::replication::Replication;
use crate::statistics::Statistics;
use crate::switch::Output;
use pipeline::Pipeline;
use refusal::{Outcome, refuse};
use tonic::Code;

pub use refusal::Refusal;
pub use service::{Server, Transmit};

/// The properties of a device.
#[derive(Debug, Clone)]
pub struct Options {
    /// The number by which controllers name the device.
    pub device_id: u64,
    /// The port that is the controller: packets to it are `PacketIn`, and a `PacketOut` arrives
    /// at it.
    pub cpu_port: u16,
    /// Replicas over all groups and clone sessions.
    pub replicas_max: usize,
    /// Accept what BMv2 accepts in silence.
    pub is_lenient: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            device_id: 1,
            cpu_port: 510,
            replicas_max: 4096,
            is_lenient: false,
        }
    }
}

/// A device.
#[derive(Debug)]
pub struct Device {
    options: Options,
    replication: Replication,
    /// Groups and sessions of the present pipeline. Others were left behind by an earlier one.
    groups: BTreeSet<u32>,
    sessions: BTreeSet<u16>,
    pipeline: Option<Pipeline>,
    /// Verified and saved, to be committed.
    saved: Option<Pipeline>,
}

impl Device {
    /// A device without a pipeline.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            options,
            replication: Replication::default(),
            groups: BTreeSet::new(),
            sessions: BTreeSet::new(),
            pipeline: None,
            saved: None,
        }
    }

    /// The properties of the device.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Counts beside the program's own; zeros without a pipeline.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.pipeline
            .as_ref()
            .map(|it| it.switch.statistics())
            .unwrap_or_default()
    }

    /// The program's indirect counters that are not zero: name, index, packets, bytes.
    #[must_use]
    pub fn counts(&self) -> Vec<(String, usize, u64, u64)> {
        let Some(pipeline) = &self.pipeline else {
            return Vec::new();
        };
        let arrays = pipeline
            .switch
            .program
            .counters
            .iter()
            .zip(&pipeline.switch.state.counters);
        arrays
            .flat_map(|(form, cells)| {
                let cells = cells.iter().enumerate().filter(|(_, it)| it.packets > 0);
                cells.map(|(index, it)| (form.name.clone(), index, it.packets, it.bytes))
            })
            .collect()
    }

    /// The cells of a register array of the program.
    #[must_use]
    pub fn register(&self, name: &str) -> Option<&[Word]> {
        self.pipeline.as_ref()?.switch.register(name)
    }

    /// Clears entries, registers, counters, groups and sessions, as if the switch had been started
    /// with its pipeline.
    pub fn clear(&mut self) {
        if let Some(pipeline) = &mut self.pipeline {
            pipeline.switch.clear();
        }
        self.groups.clear();
        self.sessions.clear();
        self.replication = Replication::default();
    }

    /// Processes a packet that arrives at a port; nothing is sent without a pipeline.
    pub fn packet(&mut self, now: Duration, port: u16, bytes: &[u8]) -> Vec<Output> {
        match &mut self.pipeline {
            Some(pipeline) => pipeline.switch.packet(now, port, bytes, &self.replication),
            None => Vec::new(),
        }
    }

    /// Applies updates in order, each by itself. The results are in the order of the updates.
    pub fn write(&mut self, request: &v1::WriteRequest) -> Result<Vec<Outcome<()>>, Refusal> {
        self.check_device(request.device_id)?;
        if self.pipeline.is_none() {
            return refuse(Code::FailedPrecondition, "no forwarding pipeline is set");
        }
        if !request.role.is_empty() {
            return refuse(Code::Unimplemented, "roles");
        }
        if request.atomicity != v1::write_request::Atomicity::ContinueOnError as i32 {
            return refuse(Code::Unimplemented, "only CONTINUE_ON_ERROR is implemented");
        }
        Ok(request.updates.iter().map(|update| self.update(update)).collect())
    }

    fn update(&mut self, update: &v1::Update) -> Outcome<()> {
        use v1::entity::Entity;
        let kind = match v1::update::Type::try_from(update.r#type) {
            Ok(v1::update::Type::Unspecified) | Err(_) => {
                return refuse(Code::InvalidArgument, "the update has no type");
            }
            Ok(kind) => kind,
        };
        let entity = update.entity.as_ref().and_then(|it| it.entity.as_ref());
        match entity {
            Some(Entity::TableEntry(entry)) => self.write_entry(kind, entry),
            Some(Entity::CounterEntry(entry)) => self.write_counter(kind, entry),
            Some(Entity::DirectCounterEntry(entry)) => self.write_direct_counter(kind, entry),
            Some(Entity::PacketReplicationEngineEntry(entry)) => self.write_replicas(kind, entry),
            Some(Entity::RegisterEntry(_)) => refuse(Code::Unimplemented, "registers"),
            Some(Entity::ValueSetEntry(_)) => refuse(Code::Unimplemented, "value sets"),
            Some(Entity::DigestEntry(_)) => refuse(Code::Unimplemented, "digests"),
            Some(Entity::ExternEntry(_)) => refuse(Code::Unimplemented, "externs"),
            Some(
                Entity::ActionProfileMember(_)
                | Entity::ActionProfileGroup(_)
                | Entity::MeterEntry(_)
                | Entity::DirectMeterEntry(_),
            ) => refuse(Code::Unimplemented, "action profiles and meters"),
            None => refuse(Code::InvalidArgument, "the update has no entity"),
        }
    }

    fn check_device(&self, device: u64) -> Outcome<()> {
        if device == self.options.device_id {
            return Ok(());
        }
        refuse(Code::NotFound, format!("there is no device {device}"))
    }

    fn pipeline(&self) -> Outcome<&Pipeline> {
        match &self.pipeline {
            Some(pipeline) => Ok(pipeline),
            None => refuse(Code::FailedPrecondition, "no forwarding pipeline is set"),
        }
    }

    fn pipeline_mut(&mut self) -> Outcome<&mut Pipeline> {
        match &mut self.pipeline {
            Some(pipeline) => Ok(pipeline),
            None => refuse(Code::FailedPrecondition, "no forwarding pipeline is set"),
        }
    }
}
