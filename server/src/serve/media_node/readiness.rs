//! `GET /readyz` of a media node: whether controllers can give it participants.

use std::fmt;

use ::cluster::MediaRecord;
use tokio::sync::watch;

use crate::cluster::membership::Standing;
use crate::cluster::southbound::node::ConnectedControllers;
use crate::http::health::{Health, Unwell};

/// The parts that a node is ready with.
pub(super) struct Readiness {
    /// Whether agent and data plane answer.
    pub health: Health,
    /// The record, which says whether the node drains.
    pub record: watch::Receiver<MediaRecord>,
    /// Whether the store has the record.
    pub standing: watch::Receiver<Standing>,
    /// The controllers that are connected.
    pub connected: ConnectedControllers,
}

/// Why no participant comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unready {
    Draining,
    /// The store was never reached, so no controller knows of the node.
    Unregistered,
    NoController,
    Unwell(Unwell),
}

impl fmt::Display for Unready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unready::Draining => f.write_str("draining"),
            Unready::Unregistered => f.write_str("the cluster's store was never reached"),
            Unready::NoController => f.write_str("no controller is connected"),
            Unready::Unwell(unwell) => unwell.fmt(f),
        }
    }
}

impl Readiness {
    /// Whether controllers can give the node participants. Those that know it do so also while the
    /// store is away.
    ///
    /// Errors: the first reason why not.
    pub(super) async fn check(&self) -> Result<(), Unready> {
        if self.record.borrow().draining {
            return Err(Unready::Draining);
        }
        self.health.check().await.map_err(Unready::Unwell)?;
        if *self.standing.borrow() == Standing::Unreached {
            return Err(Unready::Unregistered);
        }
        match self.connected.count() {
            0 => Err(Unready::NoController),
            _ => Ok(()),
        }
    }
}
