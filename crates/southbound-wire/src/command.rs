//! Commands.

use bytes::Bytes;
use southbound::{Command, NodeId, SubscriptionId, TrackId, TransportId};

use crate::fields::{label, narrow, narrow_optional, read, required};
use crate::messages;
use crate::v1::command::Command as Variant;
use crate::{Error, v1};

impl From<Command> for v1::Command {
    fn from(command: Command) -> Self {
        Self {
            command: Some(variant(command)),
        }
    }
}

fn variant(command: Command) -> Variant {
    match command {
        Command::Open(open) => Variant::Open(open.into()),
        Command::OpenDirect(open) => Variant::OpenDirect((*open).into()),
        Command::Connect { transport, remote } => Variant::Connect(v1::Connect {
            transport: transport.0,
            remote: Some(remote.into()),
        }),
        Command::Close { transport } => Variant::Close(v1::Close { transport: transport.0 }),
        Command::Publish(publication) => Variant::Publish(publication.into()),
        Command::Unpublish { track } => Variant::Unpublish(v1::Unpublish { track: track.0 }),
        Command::Subscribe(subscription) => Variant::Subscribe(subscription.into()),
        Command::Unsubscribe { subscription } => Variant::Unsubscribe(v1::Unsubscribe {
            subscription: subscription.0,
        }),
        Command::SetForwarding { track, forwarding } => Variant::SetForwarding(v1::SetForwarding {
            track: track.0,
            forwarding,
        }),
        Command::SetSpeakerRank { track, rank } => Variant::SetSpeakerRank(v1::SetSpeakerRank {
            track: track.0,
            rank: rank.map(u32::from),
        }),
        Command::SetDownlinkLimit { transport, limit } => Variant::SetDownlinkLimit(v1::SetDownlinkLimit {
            transport: transport.0,
            limit,
        }),
        Command::Send {
            to,
            label: channel,
            payload,
            reliable,
            message,
        } => Variant::Send(v1::Send {
            to: to.into_iter().map(|transport| transport.0).collect(),
            label: label(&channel),
            payload: Bytes::from_owner(payload),
            reliable,
            message: message.map(v1::MessageId::from),
        }),
        Command::MessageHandled { message } => Variant::MessageHandled(message.into()),
        Command::SetEndpoint(endpoint) => Variant::SetEndpoint((*endpoint).into()),
        Command::RemoveEndpoint { transport } => Variant::RemoveEndpoint(v1::RemoveEndpoint { transport: transport.0 }),
        Command::SetElsewhere { elsewhere } => Variant::SetElsewhere(v1::SetElsewhere { elsewhere }),
        Command::SetDataTrack(route) => Variant::SetDataTrack((*route).into()),
        Command::RemoveDataTrack { endpoint, handle } => Variant::RemoveDataTrack(v1::RemoveDataTrack {
            endpoint: endpoint.0,
            handle: handle.into(),
        }),
        Command::Resend { transport, received } => Variant::Resend(messages::resend(transport, received)),
        Command::SetDistantEndpoint(endpoint) => Variant::SetDistantEndpoint((*endpoint).into()),
        Command::RemoveDistantEndpoint { transport } => {
            Variant::RemoveDistantEndpoint(v1::RemoveDistantEndpoint { transport: transport.0 })
        }
        Command::SetDistantTrack(track) => Variant::SetDistantTrack((*track).into()),
        Command::RemoveDistantTrack { handle } => {
            Variant::RemoveDistantTrack(v1::RemoveDistantTrack { handle: handle.into() })
        }
        Command::SetReach { node, number } => Variant::SetReach(v1::SetReach { node: node.0, number }),
        Command::SetSource { node, series, number } => Variant::SetSource(v1::SetSource {
            node: node.0,
            series,
            number,
        }),
        Command::Relay(command) => Variant::Relay(command.into()),
    }
}

impl TryFrom<v1::Command> for Command {
    type Error = Error;

    fn try_from(message: v1::Command) -> Result<Self, Error> {
        Ok(match required("Command.command", message.command)? {
            Variant::Open(open) => Command::Open(open.try_into()?),
            Variant::OpenDirect(open) => Command::OpenDirect(Box::new(open.try_into()?)),
            Variant::Connect(connect) => Command::Connect {
                transport: TransportId(connect.transport),
                remote: read("Connect.remote", connect.remote)?,
            },
            Variant::Close(close) => Command::Close {
                transport: TransportId(close.transport),
            },
            Variant::Publish(publication) => Command::Publish(publication.try_into()?),
            Variant::Unpublish(unpublish) => Command::Unpublish {
                track: TrackId(unpublish.track),
            },
            Variant::Subscribe(subscription) => Command::Subscribe(subscription.try_into()?),
            Variant::Unsubscribe(unsubscribe) => Command::Unsubscribe {
                subscription: SubscriptionId(unsubscribe.subscription),
            },
            Variant::SetForwarding(set) => Command::SetForwarding {
                track: TrackId(set.track),
                forwarding: set.forwarding,
            },
            Variant::SetSpeakerRank(set) => Command::SetSpeakerRank {
                track: TrackId(set.track),
                rank: narrow_optional("SetSpeakerRank.rank", set.rank)?,
            },
            Variant::SetDownlinkLimit(set) => Command::SetDownlinkLimit {
                transport: TransportId(set.transport),
                limit: set.limit,
            },
            Variant::Send(send) => Command::Send {
                to: send.to.into_iter().map(TransportId).collect(),
                label: send.label.into(),
                payload: send.payload.as_ref().into(),
                reliable: send.reliable,
                message: send.message.map(Into::into),
            },
            Variant::MessageHandled(message) => Command::MessageHandled {
                message: message.into(),
            },
            Variant::SetEndpoint(endpoint) => Command::SetEndpoint(Box::new(endpoint.into())),
            Variant::RemoveEndpoint(remove) => Command::RemoveEndpoint {
                transport: TransportId(remove.transport),
            },
            Variant::SetElsewhere(set) => Command::SetElsewhere {
                elsewhere: set.elsewhere,
            },
            Variant::SetDataTrack(route) => Command::SetDataTrack(Box::new(route.try_into()?)),
            Variant::RemoveDataTrack(remove) => Command::RemoveDataTrack {
                endpoint: TransportId(remove.endpoint),
                handle: narrow("RemoveDataTrack.handle", remove.handle)?,
            },
            Variant::Resend(resend) => Command::Resend {
                transport: TransportId(resend.transport),
                received: messages::received(resend.received),
            },
            Variant::SetDistantEndpoint(endpoint) => Command::SetDistantEndpoint(Box::new(endpoint.into())),
            Variant::RemoveDistantEndpoint(remove) => Command::RemoveDistantEndpoint {
                transport: TransportId(remove.transport),
            },
            Variant::SetDistantTrack(track) => Command::SetDistantTrack(Box::new(track.try_into()?)),
            Variant::RemoveDistantTrack(remove) => Command::RemoveDistantTrack {
                handle: narrow("RemoveDistantTrack.handle", remove.handle)?,
            },
            Variant::SetReach(set) => Command::SetReach {
                node: NodeId(set.node),
                number: set.number,
            },
            Variant::SetSource(set) => Command::SetSource {
                node: NodeId(set.node),
                series: set.series,
                number: set.number,
            },
            Variant::Relay(command) => Command::Relay(command.try_into()?),
        })
    }
}
