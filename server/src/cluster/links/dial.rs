//! The link that this node makes to another one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use southbound::{LinkReply, NodeId};
use southbound_wire::v1::southbound_client::SouthboundClient;
use southbound_wire::{MESSAGE_LEN_MAX, v1};
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_stream::StreamExt;
use tracing::{debug, info};

use super::{Addresses, Context};
use crate::cluster::southbound::controller::{ConnectError, channel, open};
use crate::media::links::{LinkEvent, LinkId, LinkReceiver, link_queue};

/// How long a node may take to accept the connection, and for its welcome.
const CONNECT_MAX: Duration = Duration::from_secs(2);

/// How long a node may be silent after it was asked for a sign of life, once a second. Senders are
/// held back until then. A link that is ended too early is made again and loses nothing.
const SILENT_MAX: Duration = Duration::from_secs(1);

/// How long a link that is lost is expected to be made again. Then controllers pass messages on.
const LOST_MAX: Duration = Duration::from_secs(2);

/// The pauses between attempts: while messages wait for a link, and when controllers pass them on.
const RETRY: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];

/// The number of the last connection.
static LAST: AtomicU64 = AtomicU64::new(0);

/// The node ends, and with it all links.
struct Gone;

/// Keeps the link to a node as long as it is wanted. Does not end by itself before the node does.
pub(super) async fn keep(node: NodeId, mut addresses: watch::Receiver<Addresses>, context: Context) {
    // A link that was never made is not waited for.
    let mut lost_at = None;
    loop {
        let address = addresses.borrow_and_update().get(&node).cloned();
        let outcome = match address {
            Some(address) => attempt(node, &address, &context).await,
            None => Ok(false),
        };
        match outcome {
            Ok(true) => lost_at = Some(Instant::now()),
            Ok(false) => {}
            Err(Gone) => return,
        }
        if lost_at.is_some_and(|lost| lost.elapsed() >= LOST_MAX) {
            lost_at = None;
            info!(node = node.0, "the link to another media node has failed");
            if tell(LinkEvent::Failed(node), &context).await.is_err() {
                return;
            }
        }
        sleep(if lost_at.is_some() { RETRY[0] } else { RETRY[1] }).await;
    }
}

async fn tell(event: LinkEvent, context: &Context) -> Result<(), Gone> {
    context.ends.tell(event, &context.waker).await.map_err(|()| Gone)
}

/// Makes a link and carries its messages until its end. Returns whether the node has answered.
async fn attempt(node: NodeId, address: &str, context: &Context) -> Result<bool, Gone> {
    let connecting = timeout(CONNECT_MAX, async {
        channel(open(address, &context.tls).await?, SILENT_MAX).await
    });
    let connected = connecting.await.unwrap_or(Err(ConnectError::Silent));
    let channel = match connected {
        Ok(channel) => channel,
        Err(error) => {
            debug!(node = node.0, address, %error, "another media node cannot be linked");
            return Ok(false);
        }
    };
    let id = LAST.fetch_add(1, Ordering::Relaxed);
    let (messages, taken) = link_queue();
    tell(LinkEvent::Connected(node, id, messages), context).await?;
    let client = SouthboundClient::new(channel)
        .max_decoding_message_size(MESSAGE_LEN_MAX)
        .max_encoding_message_size(MESSAGE_LEN_MAX);
    let answered = carry(client, taken, (node, id), context).await;
    tell(LinkEvent::Broken(node, id), context).await?;
    answered
}

async fn carry(
    mut client: SouthboundClient<tonic::transport::Channel>,
    taken: LinkReceiver,
    (node, id): (NodeId, LinkId),
    context: &Context,
) -> Result<bool, Gone> {
    let (over, mut ended) = oneshot::channel::<()>();
    // Dropped with the messages, which end when the thread ends the link.
    let outgoing = taken.map(move |message| {
        let _over = &over;
        v1::LinkMessage::from(message)
    });
    let begun = timeout(CONNECT_MAX, client.link(outgoing)).await;
    let mut incoming = match begun {
        Ok(Ok(answered)) => answered.into_inner(),
        Ok(Err(status)) => {
            debug!(
                node = node.0,
                reason = status.message(),
                "another media node refuses a link"
            );
            return Ok(false);
        }
        Err(_) => return Ok(false),
    };
    let mut has_answered = false;
    loop {
        let message = tokio::select! {
            message = incoming.message() => message,
            _ = &mut ended => return Ok(has_answered),
        };
        let Ok(Some(message)) = message else {
            return Ok(has_answered);
        };
        let Ok(reply) = LinkReply::try_from(message) else {
            return Ok(has_answered);
        };
        if !has_answered {
            info!(node = node.0, "linked to another media node");
        }
        has_answered = true;
        tell(LinkEvent::Replied(node, id, reply), context).await?;
    }
}
