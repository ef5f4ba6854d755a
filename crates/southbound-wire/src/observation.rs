//! Observations.

use operator::observation::{Direction, PathProtocol, SwitchCause};
use operator::receivers::{Limit, Usage};
use southbound::{DownlinkEstimate, Observation, SentLayer, SubscriptionId, TrackId, TransportId};
use wire::codec::Layer;

use crate::enums::Numbered;
use crate::fields::{fraction, narrow, read, read_optional, required};
use crate::v1::observation::Observation as Variant;
use crate::{Error, v1};

impl From<Observation> for v1::Observation {
    fn from(observation: Observation) -> Self {
        let variant = match observation {
            Observation::LayerSwitch {
                subscription,
                from,
                to,
                cause,
            } => Variant::LayerSwitch(v1::LayerSwitch {
                subscription: subscription.0,
                from: from.map(Into::into),
                to: Some(to.into()),
                cause: cause.map(Numbered::number),
            }),
            Observation::Probe { transport, rate, bytes } => Variant::Probe(v1::Probe {
                transport: transport.0,
                rate,
                bytes,
            }),
            Observation::Loss {
                transport,
                direction,
                expected,
                lost,
            } => Variant::Loss(v1::Loss {
                transport: transport.0,
                direction: direction.number(),
                expected,
                lost,
            }),
            Observation::Estimate { transport, estimate } => Variant::Estimate(v1::Estimate {
                transport: transport.0,
                target: estimate.target,
                allocated: estimate.allocated,
                wanted: estimate.wanted,
                limit: estimate.limit.number(),
                usage: estimate.usage.number(),
                loss: estimate.loss,
                round_trip: estimate.round_trip.map(Into::into),
                queue: Some(estimate.queue.into()),
            }),
            Observation::KeyFrameRequest { subscription } => Variant::KeyFrameRequest(v1::KeyFrameRequest {
                subscription: subscription.0,
            }),
            Observation::KeyFrameQuery { track, attempt } => Variant::KeyFrameQuery(v1::KeyFrameQuery {
                track: track.0,
                attempt,
            }),
            Observation::Path {
                transport,
                remote,
                protocol,
            } => Variant::Path(v1::Path {
                transport: transport.0,
                remote: Some(remote.into()),
                protocol: protocol.number(),
            }),
        };
        Self {
            observation: Some(variant),
        }
    }
}

impl TryFrom<v1::Observation> for Observation {
    type Error = Error;

    fn try_from(message: v1::Observation) -> Result<Self, Error> {
        Ok(match required("Observation.observation", message.observation)? {
            Variant::LayerSwitch(switch) => Observation::LayerSwitch {
                subscription: SubscriptionId(switch.subscription),
                from: read_optional(switch.from)?,
                to: read("LayerSwitch.to", switch.to)?,
                cause: switch
                    .cause
                    .map(|cause| SwitchCause::from_number("LayerSwitch.cause", cause))
                    .transpose()?,
            },
            Variant::Probe(probe) => Observation::Probe {
                transport: TransportId(probe.transport),
                rate: probe.rate,
                bytes: probe.bytes,
            },
            Variant::Loss(loss) => Observation::Loss {
                transport: TransportId(loss.transport),
                direction: Direction::from_number("Loss.direction", loss.direction)?,
                expected: loss.expected,
                lost: loss.lost,
            },
            Variant::Estimate(estimate) => Observation::Estimate {
                transport: TransportId(estimate.transport),
                estimate: estimate.try_into()?,
            },
            Variant::KeyFrameRequest(request) => Observation::KeyFrameRequest {
                subscription: SubscriptionId(request.subscription),
            },
            Variant::KeyFrameQuery(query) => Observation::KeyFrameQuery {
                track: TrackId(query.track),
                attempt: query.attempt,
            },
            Variant::Path(path) => Observation::Path {
                transport: TransportId(path.transport),
                remote: read("Path.remote", path.remote)?,
                protocol: PathProtocol::from_number("Path.protocol", path.protocol)?,
            },
        })
    }
}

impl TryFrom<v1::Estimate> for DownlinkEstimate {
    type Error = Error;

    fn try_from(message: v1::Estimate) -> Result<Self, Error> {
        fraction("Estimate.loss", message.loss.into())?;
        Ok(Self {
            target: message.target,
            allocated: message.allocated,
            wanted: message.wanted,
            limit: Limit::from_number("Estimate.limit", message.limit)?,
            usage: Usage::from_number("Estimate.usage", message.usage)?,
            loss: message.loss,
            round_trip: read_optional(message.round_trip)?,
            queue: read("Estimate.queue", message.queue)?,
        })
    }
}

impl From<SentLayer> for v1::SentLayer {
    fn from(sent: SentLayer) -> Self {
        Self {
            encoding: sent.encoding.into(),
            spatial: sent.layer.spatial.into(),
            temporal: sent.layer.temporal.into(),
        }
    }
}

impl TryFrom<v1::SentLayer> for SentLayer {
    type Error = Error;

    fn try_from(message: v1::SentLayer) -> Result<Self, Error> {
        Ok(Self {
            encoding: narrow("SentLayer.encoding", message.encoding)?,
            layer: Layer {
                spatial: narrow("SentLayer.spatial", message.spatial)?,
                temporal: narrow("SentLayer.temporal", message.temporal)?,
            },
        })
    }
}
