//! The other controllers of a cluster: requests go to them, and come from them.

use tokio::net::TcpListener;
use tracing::info;

use crate::cluster::forward::Forwarder;
use crate::cluster::location::Locator;
use crate::cluster::tls::ClusterTls;
use crate::config::Cluster;
use crate::http::forwarded;
use crate::http::listen::Front;
use crate::metrics::Metrics;
use crate::metrics::forwarded::ForwardCounts;
use crate::os::port_owner::Transport;
use crate::os::refused;
use crate::os::tcp;

/// The port for other controllers, which is open and not served yet, and the way to theirs.
pub(crate) struct Controllers {
    /// Passes requests on to them.
    pub forwarder: Forwarder,
    listener: TcpListener,
    tls: ClusterTls,
    counts: ForwardCounts,
}

impl Controllers {
    /// Opens the port, for whoever has joined a cluster. `locator` finds the controllers of rooms.
    ///
    /// Errors: the port cannot be had.
    pub(crate) fn open(
        cluster: &Cluster,
        tls: ClusterTls,
        locator: Locator,
        metrics: &Metrics,
    ) -> Result<Self, String> {
        let address = cluster.controllers.listen;
        let listener = tcp::bind(address)
            .map_err(|error| refused::port(Transport::Tcp, address, "cluster.controllers.listen", &error))?;
        info!(%address, "requests of other controllers");
        let counts = ForwardCounts::default();
        metrics.watch_forwarded(counts.clone());
        Ok(Self {
            forwarder: Forwarder::new(locator, tls.clone(), counts.clone()),
            listener,
            tls,
            counts,
        })
    }

    /// Serves the port, by the same routes as the ports of clients. Does not end by itself.
    pub(super) async fn serve(self, front: Front) {
        forwarded::serve(self.listener, self.tls, self.counts, front).await;
    }
}
