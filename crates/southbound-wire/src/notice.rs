//! Notices.

use bytes::Bytes;
use southbound::{
    AudioActivity, Capabilities, ChannelEnd, CloseReason, Node, NodeId, Notice, RewritingModes, SubscriptionId,
    TrackId, TransportId, TransportQuality,
};
use wire::ExtensionForms;
use wire::srtp::SrtpProfile;

use crate::enums::Numbered;
use crate::fields::{fraction, label, narrow, read, read_all, read_optional, required, write_all};
use crate::sync::room_name;
use crate::v1::notice::Notice as Variant;
use crate::{Error, messages, v1};

impl From<Notice> for v1::Notice {
    fn from(notice: Notice) -> Self {
        Self {
            notice: Some(variant(notice)),
        }
    }
}

fn variant(notice: Notice) -> Variant {
    match notice {
        Notice::Node(node) => Variant::Node(node.into()),
        Notice::Connected { transport, srtp } => Variant::Connected(v1::Connected {
            transport: transport.0,
            srtp: srtp.map(SrtpProfile::number),
        }),
        Notice::Disconnected { transport } => Variant::Disconnected(v1::Disconnected { transport: transport.0 }),
        Notice::Closed { transport, reason } => Variant::Closed(v1::Closed {
            transport: transport.0,
            reason: reason.number(),
        }),
        Notice::ChannelOpened {
            transport,
            label: channel,
        } => Variant::ChannelOpened(v1::ChannelOpened {
            transport: transport.0,
            label: label(&channel),
        }),
        Notice::ChannelClosed {
            transport,
            label: channel,
            why,
        } => Variant::ChannelClosed(v1::ChannelClosed {
            transport: transport.0,
            label: label(&channel),
            why: why.number(),
        }),
        Notice::MessageReceived {
            transport,
            label: channel,
            payload,
            message,
            reliable,
            passed_on,
            linked,
        } => Variant::MessageReceived(v1::MessageReceived {
            transport: transport.0,
            label: label(&channel),
            payload: Bytes::from_owner(payload),
            message: Some(message.into()),
            reliable,
            passed_on,
            linked: linked.nodes.into_iter().map(messages::linked_node).collect(),
            failed: linked.failed.map(messages::failed_link),
        }),
        Notice::Reaches {
            room,
            node,
            series,
            number,
        } => Variant::Reaches(v1::Reaches {
            room: label(&room),
            node: node.0,
            series,
            number,
        }),
        Notice::Missed {
            room,
            sender,
            transport,
            label: channel,
            payload,
        } => Variant::Missed(v1::Missed {
            room: label(&room),
            sender: label(&sender),
            transport: transport.0,
            label: label(&channel),
            payload: Bytes::from_owner(payload),
        }),
        Notice::TrackStarted { track } => Variant::TrackStarted(v1::TrackStarted { track: track.0 }),
        Notice::Encodings { track, active } => Variant::Encodings(v1::Encodings {
            track: track.0,
            active: active.into(),
        }),
        Notice::SubscriptionStarted { subscription } => Variant::SubscriptionStarted(v1::SubscriptionStarted {
            subscription: subscription.0,
        }),
        Notice::Paused { subscription, paused } => Variant::Paused(v1::Paused {
            subscription: subscription.0,
            paused,
        }),
        Notice::Audio(activities) => Variant::Audio(v1::Audio {
            activities: write_all(activities),
        }),
        Notice::Quality { transport, quality } => Variant::Quality(v1::Quality {
            transport: transport.0,
            uplink_loss: quality.uplink_loss,
            downlink_loss: quality.downlink_loss,
            round_trip: quality.round_trip.map(Into::into),
            jitter: Some(quality.jitter.into()),
        }),
        Notice::Refused { transport, why } => Variant::Refused(v1::Refused {
            transport: transport.0,
            why,
        }),
        Notice::Observation(observation) => Variant::Observation(observation.into()),
        Notice::Relay(notice) => Variant::Relay(notice.into()),
    }
}

impl TryFrom<v1::Notice> for Notice {
    type Error = Error;

    fn try_from(message: v1::Notice) -> Result<Self, Error> {
        Ok(match required("Notice.notice", message.notice)? {
            Variant::Node(node) => Notice::Node(node.try_into()?),
            Variant::Connected(connected) => {
                let profile = |number| SrtpProfile::from_number("Connected.srtp", number);
                Notice::Connected {
                    transport: TransportId(connected.transport),
                    srtp: connected.srtp.map(profile).transpose()?,
                }
            }
            Variant::Disconnected(disconnected) => Notice::Disconnected {
                transport: TransportId(disconnected.transport),
            },
            Variant::Closed(closed) => Notice::Closed {
                transport: TransportId(closed.transport),
                reason: CloseReason::from_number("Closed.reason", closed.reason)?,
            },
            Variant::ChannelOpened(opened) => Notice::ChannelOpened {
                transport: TransportId(opened.transport),
                label: opened.label.into(),
            },
            Variant::ChannelClosed(closed) => Notice::ChannelClosed {
                transport: TransportId(closed.transport),
                label: closed.label.into(),
                why: ChannelEnd::from_number("ChannelClosed.why", closed.why)?,
            },
            Variant::MessageReceived(received) => Notice::MessageReceived {
                transport: TransportId(received.transport),
                label: received.label.into(),
                payload: received.payload.as_ref().into(),
                message: required("MessageReceived.message", received.message)?.into(),
                reliable: received.reliable,
                passed_on: received.passed_on,
                linked: messages::linked(received.linked, received.failed),
            },
            Variant::Reaches(reaches) => Notice::Reaches {
                room: room_name("Reaches.room", reaches.room)?,
                node: NodeId(reaches.node),
                series: reaches.series,
                number: reaches.number,
            },
            Variant::Missed(missed) => Notice::Missed {
                room: room_name("Missed.room", missed.room)?,
                sender: missed.sender.into(),
                transport: TransportId(missed.transport),
                label: missed.label.into(),
                payload: missed.payload.as_ref().into(),
            },
            Variant::TrackStarted(started) => Notice::TrackStarted {
                track: TrackId(started.track),
            },
            Variant::Encodings(encodings) => Notice::Encodings {
                track: TrackId(encodings.track),
                active: narrow("Encodings.active", encodings.active)?,
            },
            Variant::SubscriptionStarted(started) => Notice::SubscriptionStarted {
                subscription: SubscriptionId(started.subscription),
            },
            Variant::Paused(paused) => Notice::Paused {
                subscription: SubscriptionId(paused.subscription),
                paused: paused.paused,
            },
            Variant::Audio(audio) => Notice::Audio(read_all(audio.activities)?),
            Variant::Quality(quality) => Notice::Quality {
                transport: TransportId(quality.transport),
                quality: quality.try_into()?,
            },
            Variant::Refused(refused) => Notice::Refused {
                transport: TransportId(refused.transport),
                why: refused.why,
            },
            Variant::Observation(observation) => Notice::Observation(observation.try_into()?),
            Variant::Relay(notice) => Notice::Relay(notice.try_into()?),
        })
    }
}

impl From<AudioActivity> for v1::AudioActivity {
    fn from(activity: AudioActivity) -> Self {
        Self {
            track: activity.track.0,
            level: activity.level.into(),
            active: Some(activity.active.into()),
        }
    }
}

impl TryFrom<v1::AudioActivity> for AudioActivity {
    type Error = Error;

    fn try_from(message: v1::AudioActivity) -> Result<Self, Error> {
        Ok(Self {
            track: TrackId(message.track),
            level: narrow("AudioActivity.level", message.level)?,
            active: read("AudioActivity.active", message.active)?,
        })
    }
}

impl TryFrom<v1::Quality> for TransportQuality {
    type Error = Error;

    fn try_from(message: v1::Quality) -> Result<Self, Error> {
        let loss = |field, value: f32| fraction(field, value.into()).map(|_| value);
        Ok(Self {
            uplink_loss: loss("Quality.uplink_loss", message.uplink_loss)?,
            downlink_loss: loss("Quality.downlink_loss", message.downlink_loss)?,
            round_trip: read_optional(message.round_trip)?,
            jitter: read("Quality.jitter", message.jitter)?,
        })
    }
}

impl From<Node> for v1::Node {
    fn from(node: Node) -> Self {
        let Node {
            node,
            addresses,
            tcp_addresses,
            fingerprint,
            clear_rtp,
            clear_trunks,
            capabilities,
        } = node;
        Self {
            node: node.0,
            addresses: write_all(addresses),
            tcp_addresses: write_all(tcp_addresses),
            fingerprint: Some(fingerprint.into()),
            clear_rtp,
            clear_trunks,
            capabilities: Some(capabilities.into()),
        }
    }
}

impl TryFrom<v1::Node> for Node {
    type Error = Error;

    fn try_from(message: v1::Node) -> Result<Self, Error> {
        Ok(Self {
            node: NodeId(message.node),
            addresses: read_all(message.addresses)?,
            tcp_addresses: read_all(message.tcp_addresses)?,
            fingerprint: read("Node.fingerprint", message.fingerprint)?,
            clear_rtp: message.clear_rtp,
            clear_trunks: message.clear_trunks,
            capabilities: read("Node.capabilities", message.capabilities)?,
        })
    }
}

impl From<Capabilities> for v1::Capabilities {
    fn from(capabilities: Capabilities) -> Self {
        let Capabilities {
            srtp,
            copies,
            transport_numbers,
            rewriting,
            extensions,
            transports_max,
            streams_max,
            replicas_max,
            relays_max,
        } = capabilities;
        Self {
            srtp,
            copies,
            transport_numbers,
            rewriting: Some(v1::RewritingModes {
                exact: rewriting.exact,
                low_memory: rewriting.low_memory,
                low_retransmission: rewriting.low_retransmission,
            }),
            extensions: Some(v1::ExtensionForms {
                one_byte: extensions.one_byte,
                two_byte: extensions.two_byte,
            }),
            transports_max,
            streams_max,
            replicas_max,
            relays_max,
        }
    }
}

impl TryFrom<v1::Capabilities> for Capabilities {
    type Error = Error;

    fn try_from(message: v1::Capabilities) -> Result<Self, Error> {
        let rewriting = required("Capabilities.rewriting", message.rewriting)?;
        let extensions = required("Capabilities.extensions", message.extensions)?;
        Ok(Self {
            srtp: message.srtp,
            copies: message.copies,
            transport_numbers: message.transport_numbers,
            rewriting: RewritingModes {
                exact: rewriting.exact,
                low_memory: rewriting.low_memory,
                low_retransmission: rewriting.low_retransmission,
            },
            extensions: ExtensionForms {
                one_byte: extensions.one_byte,
                two_byte: extensions.two_byte,
            },
            transports_max: message.transports_max,
            streams_max: message.streams_max,
            replicas_max: message.replicas_max,
            relays_max: message.relays_max,
        })
    }
}
