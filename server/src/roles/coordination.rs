//! The part of a controller among the controllers of a cluster.

use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use cluster::ControllerRecord;
use cluster::seal::Sealer;
use southbound::ControllerId;
use stores::Store;
use tokio::task::JoinHandle;

use super::controllers::Controllers;
use super::{Process, seed};
use crate::cluster::advertised::advertised;
use crate::cluster::coordinator::{Coordinator, Settings};
use crate::cluster::location::Locator;
use crate::cluster::secrets::FollowedSecrets;
use crate::cluster::tls::{ClusterTls, FollowedFiles};
use crate::config::{Cluster, Listener};
use crate::controller_task::Nodes;

/// How often the files of the certificate are read again.
const FILES_EVERY: Duration = Duration::from_secs(2);

/// A controller's part in its cluster.
pub(crate) struct Coordination {
    /// The media nodes that it commands.
    pub nodes: Nodes,
    /// The way to the other controllers.
    pub controllers: Controllers,
    /// Follows the files of the certificate and of the keys. Does not end by itself.
    pub certificates: JoinHandle<()>,
}

/// Begins the part of a controller of this id, with the certificate and the store of its process.
/// `local_ips` are this machine's addresses.
///
/// Errors: the keys of the cluster cannot be used, or a port cannot be had.
pub(crate) fn start(
    cluster: &Cluster,
    controller: ControllerId,
    tls: ClusterTls,
    store: Arc<dyn Store>,
    local_ips: &[IpAddr],
    process: &Process,
) -> Result<Coordination, Box<dyn Error>> {
    let mut secrets = FollowedSecrets::open(cluster.secrets.as_deref())?;
    let (locator, questions) = Locator::of_cluster();
    let Listener { listen, advertise } = &cluster.controllers;
    let address = advertised("controllers.advertise", advertise.as_deref(), *listen, local_ips)?;
    let controllers = Controllers::open(cluster, tls.clone(), locator, &process.metrics)?;
    let settings = Settings {
        controller,
        record: ControllerRecord {
            name: cluster.name.clone(),
            address,
            draining: false,
        },
        versions: cluster.versions,
        store,
        tls: tls.clone(),
        sealer: Sealer::new(secrets.keys(), environment::Random::new(seed()?)),
        questions,
        metrics: process.metrics.clone(),
    };
    let coordinator = Coordinator::new(settings, process.clocks.wall.now);
    let mut followed = FollowedFiles::new(cluster.files.clone(), tls, process.metrics.clone());
    let certificates = tokio::spawn(async move {
        let mut due = tokio::time::interval(FILES_EVERY);
        loop {
            due.tick().await;
            followed.follow().await;
            secrets.follow().await;
        }
    });
    Ok(Coordination {
        nodes: Nodes::Shared(Box::new(coordinator)),
        controllers,
        certificates,
    })
}
