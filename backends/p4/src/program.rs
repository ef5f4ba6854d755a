//! The compiled program, one for each way of replication.

use p4runtime::config::P4Info;
use p4runtime::v1;

use crate::Replication;
use crate::schema::{ProgramError, cookie};

/// The output of the compiler for `program/`.
pub(crate) struct Program {
    /// For BMv2.
    pub device_config: &'static [u8],
    /// Its description.
    pub info: P4Info,
    /// A number that tells it from others.
    pub cookie: u64,
}

impl Program {
    /// The program of this way to replicate.
    ///
    /// Errors: its description cannot be read.
    pub(crate) fn of(replication: Replication) -> Result<Self, ProgramError> {
        let (device_config, text): (&'static [u8], &'static str) = match replication {
            Replication::Multicast => (
                include_bytes!("../program/compiled/multicast.json"),
                include_str!("../program/compiled/multicast.p4info.txtpb"),
            ),
            Replication::Recirculation => (
                include_bytes!("../program/compiled/recirculation.json"),
                include_str!("../program/compiled/recirculation.p4info.txtpb"),
            ),
            Replication::Tree => (
                include_bytes!("../program/compiled/tree.json"),
                include_str!("../program/compiled/tree.p4info.txtpb"),
            ),
        };
        let info = p4runtime::p4info(text).map_err(|error| ProgramError::Unreadable(error.to_string()))?;
        Ok(Program {
            device_config,
            info,
            cookie: cookie(device_config, text.as_bytes()),
        })
    }

    /// The configuration that installs it.
    pub(crate) fn config(&self) -> v1::ForwardingPipelineConfig {
        v1::ForwardingPipelineConfig {
            p4info: Some(self.info.clone()),
            p4_device_config: self.device_config.to_vec(),
            cookie: Some(v1::forwarding_pipeline_config::Cookie { cookie: self.cookie }),
        }
    }
}
