//! The passing on of messages by nodes.

use std::sync::Arc;

use southbound::{
    DataTrackRoute, DistantEndpoint, DistantTrack, FailedLink, Linked, MessageEndpoint, MessageRights, NodeId,
    TransportId,
};

use crate::fields::narrow;
use crate::{Error, v1};

impl From<MessageEndpoint> for v1::MessageEndpoint {
    fn from(endpoint: MessageEndpoint) -> Self {
        Self {
            transport: endpoint.transport.0,
            uplink: endpoint.uplink.map(|uplink| uplink.0),
            identity: endpoint.identity.as_ref().to_owned(),
            sid: endpoint.sid.as_ref().to_owned(),
            may_publish: endpoint.rights.publish,
            is_agent: endpoint.rights.agent,
            is_hidden: endpoint.rights.hidden,
            last_sequence: endpoint.last_sequence,
            number: endpoint.number,
        }
    }
}

impl From<v1::MessageEndpoint> for MessageEndpoint {
    fn from(message: v1::MessageEndpoint) -> Self {
        Self {
            transport: TransportId(message.transport),
            uplink: message.uplink.map(TransportId),
            identity: message.identity.into(),
            sid: message.sid.into(),
            rights: MessageRights {
                publish: message.may_publish,
                agent: message.is_agent,
                hidden: message.is_hidden,
            },
            last_sequence: message.last_sequence,
            number: message.number,
        }
    }
}

impl From<DataTrackRoute> for v1::DataTrackRoute {
    fn from(route: DataTrackRoute) -> Self {
        Self {
            endpoint: route.endpoint.0,
            handle: route.handle.into(),
            sent_as: route.sent_as.into(),
            receivers: route.receivers.into_iter().map(|receiver| receiver.0).collect(),
            elsewhere: route.elsewhere,
            nodes: route.nodes.into_iter().map(|node| node.0).collect(),
        }
    }
}

impl TryFrom<v1::DataTrackRoute> for DataTrackRoute {
    type Error = Error;

    fn try_from(message: v1::DataTrackRoute) -> Result<Self, Error> {
        Ok(Self {
            endpoint: TransportId(message.endpoint),
            handle: narrow("DataTrackRoute.handle", message.handle)?,
            sent_as: narrow("DataTrackRoute.sent_as", message.sent_as)?,
            receivers: message.receivers.into_iter().map(TransportId).collect(),
            elsewhere: message.elsewhere,
            nodes: message.nodes.into_iter().map(NodeId).collect(),
        })
    }
}

impl From<DistantTrack> for v1::DistantTrack {
    fn from(track: DistantTrack) -> Self {
        Self {
            sender: track.sender.as_ref().to_owned(),
            handle: track.handle.into(),
            receivers: track.receivers.into_iter().map(|receiver| receiver.0).collect(),
        }
    }
}

impl TryFrom<v1::DistantTrack> for DistantTrack {
    type Error = Error;

    fn try_from(message: v1::DistantTrack) -> Result<Self, Error> {
        Ok(Self {
            sender: message.sender.into(),
            handle: narrow("DistantTrack.handle", message.handle)?,
            receivers: message.receivers.into_iter().map(TransportId).collect(),
        })
    }
}

/// The messages that a participant says it has, as they are sent.
pub(crate) fn resend(transport: TransportId, received: Vec<(Arc<str>, u32)>) -> v1::Resend {
    let received = received.into_iter().map(|(sid, sequence)| v1::Received {
        sid: sid.as_ref().to_owned(),
        sequence,
    });
    v1::Resend {
        transport: transport.0,
        received: received.collect(),
    }
}

/// The same, as they are read.
pub(crate) fn received(messages: Vec<v1::Received>) -> Vec<(Arc<str>, u32)> {
    let read = |message: v1::Received| (message.sid.into(), message.sequence);
    messages.into_iter().map(read).collect()
}

impl From<DistantEndpoint> for v1::DistantEndpoint {
    fn from(endpoint: DistantEndpoint) -> Self {
        Self {
            node: endpoint.node.0,
            transport: endpoint.transport.0,
            identity: endpoint.identity.as_ref().to_owned(),
            sid: endpoint.sid.as_ref().to_owned(),
            number: endpoint.number,
        }
    }
}

impl From<v1::DistantEndpoint> for DistantEndpoint {
    fn from(message: v1::DistantEndpoint) -> Self {
        Self {
            node: NodeId(message.node),
            transport: TransportId(message.transport),
            identity: message.identity.into(),
            sid: message.sid.into(),
            number: message.number,
        }
    }
}

/// A node that a message has been sent to over a link, as it is sent.
pub(crate) fn linked_node((node, number): (NodeId, u64)) -> v1::LinkedNode {
    v1::LinkedNode { node: node.0, number }
}

/// A link that failed, as it is sent.
pub(crate) fn failed_link(failed: FailedLink) -> v1::FailedLink {
    let FailedLink { node, series, number } = failed;
    v1::FailedLink {
        node: node.0,
        series,
        number,
    }
}

/// All of them, as they are read.
pub(crate) fn linked(nodes: Vec<v1::LinkedNode>, failed: Option<v1::FailedLink>) -> Linked {
    let read = |linked: v1::LinkedNode| (NodeId(linked.node), linked.number);
    Linked {
        nodes: nodes.into_iter().map(read).collect(),
        failed: failed.map(|failed| FailedLink {
            node: NodeId(failed.node),
            series: failed.series,
            number: failed.number,
        }),
    }
}
