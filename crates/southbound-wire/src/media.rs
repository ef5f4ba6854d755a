//! Publications and subscriptions.

use southbound::{
    Encoding, PayloadFormat, Publication, Subscription, SubscriptionId, SubscriptionSettings, TrackId, TrackSource,
    TransportId,
};
use wire::{Codec, MediaKind, PayloadType, Ssrc};

use crate::enums::Numbered;
use crate::fields::{mid, narrow, payload_type, read, read_all, rid, write_all};
use crate::{Error, v1};

impl From<Publication> for v1::Publication {
    fn from(publication: Publication) -> Self {
        let Publication {
            track,
            transport,
            kind,
            mid,
            formats,
            encodings,
            muted,
            source,
        } = publication;
        Self {
            track: track.0,
            transport: transport.0,
            kind: kind.number(),
            mid: mid.map(|mid| mid.to_string()),
            formats: write_all(formats),
            encodings: write_all(encodings),
            muted,
            source: source.number(),
        }
    }
}

impl TryFrom<v1::Publication> for Publication {
    type Error = Error;

    fn try_from(message: v1::Publication) -> Result<Self, Error> {
        Ok(Self {
            track: TrackId(message.track),
            transport: TransportId(message.transport),
            kind: MediaKind::from_number("Publication.kind", message.kind)?,
            mid: mid("Publication.mid", message.mid)?,
            formats: read_all(message.formats)?,
            encodings: read_all(message.encodings)?,
            muted: message.muted,
            source: TrackSource::from_number("Publication.source", message.source)?,
        })
    }
}

impl From<PayloadFormat> for v1::PayloadFormat {
    fn from(format: PayloadFormat) -> Self {
        let PayloadFormat {
            payload_type,
            codec,
            rtx,
            nack,
        } = format;
        Self {
            payload_type: payload_type.get().into(),
            codec: codec.number(),
            rtx: rtx.map(|rtx| rtx.get().into()),
            nack,
        }
    }
}

impl TryFrom<v1::PayloadFormat> for PayloadFormat {
    type Error = Error;

    fn try_from(message: v1::PayloadFormat) -> Result<Self, Error> {
        let rtx = |value| payload_type("PayloadFormat.rtx", value);
        Ok(Self {
            payload_type: payload_type("PayloadFormat.payload_type", message.payload_type)?,
            codec: Codec::from_number("PayloadFormat.codec", message.codec)?,
            rtx: message.rtx.map(rtx).transpose()?,
            nack: message.nack,
        })
    }
}

impl From<Encoding> for v1::Encoding {
    fn from(encoding: Encoding) -> Self {
        let Encoding {
            rid,
            ssrc,
            rtx,
            width,
            height,
            layers,
        } = encoding;
        let size = |(width, height)| v1::Size { width, height };
        Self {
            rid: rid.map(|rid| rid.to_string()),
            ssrc: ssrc.map(|ssrc| ssrc.0),
            rtx: rtx.map(|rtx| rtx.0),
            width,
            height,
            layers: layers.into_iter().map(size).collect(),
        }
    }
}

impl TryFrom<v1::Encoding> for Encoding {
    type Error = Error;

    fn try_from(message: v1::Encoding) -> Result<Self, Error> {
        let layers = message.layers.into_iter();
        Ok(Self {
            rid: rid("Encoding.rid", message.rid)?,
            ssrc: message.ssrc.map(Ssrc),
            rtx: message.rtx.map(Ssrc),
            width: message.width,
            height: message.height,
            layers: layers.map(|size| (size.width, size.height)).collect(),
        })
    }
}

impl From<Subscription> for v1::Subscription {
    fn from(subscription: Subscription) -> Self {
        let Subscription {
            subscription,
            transport,
            track,
            ssrc,
            rtx,
            mid,
            formats,
            settings,
            fill,
        } = subscription;
        Self {
            subscription: subscription.0,
            transport: transport.0,
            track: track.0,
            ssrc: ssrc.0,
            rtx: rtx.map(|rtx| rtx.0),
            mid: mid.map(|mid| mid.to_string()),
            formats: write_all(formats),
            settings: Some(settings.into()),
            fill,
        }
    }
}

impl TryFrom<v1::Subscription> for Subscription {
    type Error = Error;

    fn try_from(message: v1::Subscription) -> Result<Self, Error> {
        Ok(Self {
            subscription: SubscriptionId(message.subscription),
            transport: TransportId(message.transport),
            track: TrackId(message.track),
            ssrc: Ssrc(message.ssrc),
            rtx: message.rtx.map(Ssrc),
            mid: mid("Subscription.mid", message.mid)?,
            formats: read_all(message.formats)?,
            settings: read("Subscription.settings", message.settings)?,
            fill: message.fill,
        })
    }
}

impl From<(PayloadType, PayloadFormat)> for v1::FormatMapping {
    fn from((publisher, receiver): (PayloadType, PayloadFormat)) -> Self {
        Self {
            payload_type: publisher.get().into(),
            format: Some(receiver.into()),
        }
    }
}

impl TryFrom<v1::FormatMapping> for (PayloadType, PayloadFormat) {
    type Error = Error;

    fn try_from(message: v1::FormatMapping) -> Result<Self, Error> {
        let publisher = payload_type("FormatMapping.payload_type", message.payload_type)?;
        Ok((publisher, read("FormatMapping.format", message.format)?))
    }
}

impl From<SubscriptionSettings> for v1::SubscriptionSettings {
    fn from(settings: SubscriptionSettings) -> Self {
        let SubscriptionSettings {
            enabled,
            size: (width, height),
            fps,
            priority,
            encoding_max,
            encoding_exact,
            spatial_max,
        } = settings;
        Self {
            enabled,
            width: width.into(),
            height: height.into(),
            fps: fps.into(),
            priority: priority.into(),
            encoding_max: encoding_max.into(),
            spatial_max: spatial_max.into(),
            encoding_exact,
        }
    }
}

impl TryFrom<v1::SubscriptionSettings> for SubscriptionSettings {
    type Error = Error;

    fn try_from(message: v1::SubscriptionSettings) -> Result<Self, Error> {
        let width = narrow("SubscriptionSettings.width", message.width)?;
        let height = narrow("SubscriptionSettings.height", message.height)?;
        Ok(Self {
            enabled: message.enabled,
            size: (width, height),
            fps: narrow("SubscriptionSettings.fps", message.fps)?,
            priority: narrow("SubscriptionSettings.priority", message.priority)?,
            encoding_max: narrow("SubscriptionSettings.encoding_max", message.encoding_max)?,
            encoding_exact: message.encoding_exact,
            spatial_max: narrow("SubscriptionSettings.spatial_max", message.spatial_max)?,
        })
    }
}
