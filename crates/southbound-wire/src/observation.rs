//! Observations.

use southbound::{Direction, Observation, SentLayer, SubscriptionId, TransportId};
use wire::codec::Layer;

use crate::enums::Numbered;
use crate::fields::{narrow, read, read_optional, required};
use crate::v1::observation::Observation as Variant;
use crate::{Error, v1};

impl From<Observation> for v1::Observation {
    fn from(observation: Observation) -> Self {
        let variant = match observation {
            Observation::LayerSwitch { subscription, from, to } => Variant::LayerSwitch(v1::LayerSwitch {
                subscription: subscription.0,
                from: from.map(Into::into),
                to: Some(to.into()),
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
