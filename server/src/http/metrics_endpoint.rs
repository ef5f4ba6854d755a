//! `GET /metrics`: the counters, the state of receivers, and on request their names.

use std::sync::Arc;
use std::time::{Duration, Instant};

use access::RoomNames;
use agent::Receiver;
use southbound::TransportId;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::controller_task::Handle;
use crate::http::receivers::RECEIVERS_MAX;
use crate::media::receiver_query::{ReceiverQuery, Unavailable};
use crate::metrics::ownership::write_standing;
use crate::metrics::{Metrics, Named, Summary, process, write_named};
use crate::os::clock;

/// How long receivers are not looked at again: scraping more often costs the media node nothing.
const SUMMARY_AGE_MAX: Duration = Duration::from_secs(1);

/// How long the controller may take to count rooms.
const POPULATION_MAX: Duration = Duration::from_secs(1);

/// The sources of the text.
pub(crate) struct Endpoint {
    metrics: Metrics,
    receiver_query: ReceiverQuery,
    summary: Mutex<Option<(Instant, Arc<Summary>)>>,
}

impl Endpoint {
    /// Puts the sources together.
    pub(crate) fn new(metrics: Metrics, receiver_query: ReceiverQuery) -> Self {
        Self {
            metrics,
            receiver_query,
            summary: Mutex::default(),
        }
    }

    /// The text. If the node is too busy to report receivers, those families are left out; counters
    /// are always included. With `names`, there are lines for each receiver.
    pub(crate) async fn text(&self, controller: &Handle, names: bool) -> String {
        let mut text = self.metrics.encode();
        process::write(&mut text);
        if let Ok((rooms, participants)) = timeout(POPULATION_MAX, controller.population()).await {
            text.family("weir_rooms", "gauge", "Rooms there are");
            text.sample("weir_rooms", &[], rooms);
            text.family("weir_participants", "gauge", "Participants in all rooms");
            text.sample("weir_participants", &[], participants);
        }
        if let Ok(Some(counts)) = timeout(POPULATION_MAX, controller.recorder_counts()).await {
            counts.write(&mut text);
        }
        if let Ok(Some(cluster)) = timeout(POPULATION_MAX, controller.cluster(0)).await {
            write_standing(&cluster, &mut text);
        }
        if let Ok(summary) = self.summary().await {
            summary.write(&mut text);
        }
        if names && let Ok(receivers) = self.named(controller).await {
            let named = receivers.iter().map(|(room, identity, receiver)| Named {
                room,
                identity,
                receiver,
            });
            write_named(&named.collect::<Vec<_>>(), &mut text);
        }
        text.finish()
    }

    async fn summary(&self) -> Result<Arc<Summary>, Unavailable> {
        // Held while the node is asked, so that several at once ask once.
        let mut last = self.summary.lock().await;
        let now = clock::now();
        if let Some((_, summary)) = last.as_ref().filter(|(at, _)| now < *at + SUMMARY_AGE_MAX) {
            return Ok(summary.clone());
        }
        let mut summary = Summary::default();
        self.receiver_query.everybody(|receiver| summary.add(receiver)).await?;
        let summary = Arc::new(summary);
        *last = Some((now, summary.clone()));
        Ok(summary)
    }

    async fn named(&self, controller: &Handle) -> Result<Vec<(String, String, Receiver)>, Unavailable> {
        let downlinks = controller.downlinks(None, RoomNames::default(), RECEIVERS_MAX).await;
        let transports: Vec<TransportId> = downlinks.iter().map(|downlink| downlink.transport).collect();
        let mut found = self.receiver_query.these(&transports).await?;
        let named = downlinks.into_iter().filter_map(|downlink| {
            let receiver = found.remove(&downlink.transport)?;
            Some((downlink.room, downlink.identity, receiver))
        });
        Ok(named.collect())
    }
}
