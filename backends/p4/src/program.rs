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

/// A program as the compiler made it.
struct Compiled {
    /// For BMv2.
    json: &'static str,
    /// The description in text form.
    p4info: &'static str,
}

/// The compiled programs. They are half a megabyte each, so a static has each of them once.
static MULTICAST: Compiled = Compiled {
    json: include_str!("../program/compiled/multicast.json"),
    p4info: include_str!("../program/compiled/multicast.p4info.txtpb"),
};
static RECIRCULATION: Compiled = Compiled {
    json: include_str!("../program/compiled/recirculation.json"),
    p4info: include_str!("../program/compiled/recirculation.p4info.txtpb"),
};
static TREE: Compiled = Compiled {
    json: include_str!("../program/compiled/tree.json"),
    p4info: include_str!("../program/compiled/tree.p4info.txtpb"),
};

impl Program {
    /// The program of this way to replicate.
    ///
    /// Errors: its description cannot be read.
    pub(crate) fn of(replication: Replication) -> Result<Self, ProgramError> {
        let compiled = match replication {
            Replication::Multicast => &MULTICAST,
            Replication::Recirculation => &RECIRCULATION,
            Replication::Tree => &TREE,
        };
        let (device_config, text) = (compiled.json.as_bytes(), compiled.p4info);
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
