//! Notices about relayed calls.

use southbound::relay::{Offloaded, Refusal, RelayNotice, Report, Traffic};

use crate::enums::Numbered;
use crate::fields::{fraction, read, read_optional, required};
use crate::v1::relay_notice::Notice as Variant;
use crate::{Error, v1};

impl From<RelayNotice> for v1::RelayNotice {
    fn from(notice: RelayNotice) -> Self {
        Self {
            notice: Some(variant(notice)),
        }
    }
}

fn variant(notice: RelayNotice) -> Variant {
    match notice {
        RelayNotice::Opened { at } => Variant::Opened(at.into()),
        RelayNotice::Refused { at, why } => Variant::Refused(v1::RelayRefused {
            at: Some(at.into()),
            why: why.number(),
        }),
        RelayNotice::Source { at, from } => Variant::Source(v1::RelaySource {
            at: Some(at.into()),
            from: Some(from.into()),
        }),
        RelayNotice::Traffic { at, traffic, idle } => Variant::Traffic(v1::RelayTraffic {
            at: Some(at.into()),
            packets: traffic.packets,
            bytes: traffic.bytes,
            errors: traffic.errors,
            idle: idle.map(Into::into),
            offloaded_packets: traffic.offloaded.packets,
            offloaded_bytes: traffic.offloaded.bytes,
            offloaded_errors: traffic.offloaded.errors,
            ssrc: traffic.ssrc,
        }),
        RelayNotice::Quality { at, ssrc, report } => Variant::Quality(v1::RelayQuality {
            at: Some(at.into()),
            ssrc,
            loss: report.loss,
            jitter: Some(report.jitter.into()),
            round_trip_leg: report.round_trip_leg.map(Into::into),
            round_trip: report.round_trip.map(Into::into),
        }),
    }
}

impl TryFrom<v1::RelayNotice> for RelayNotice {
    type Error = Error;

    fn try_from(message: v1::RelayNotice) -> Result<Self, Error> {
        Ok(match required("RelayNotice.notice", message.notice)? {
            Variant::Opened(at) => RelayNotice::Opened { at: at.try_into()? },
            Variant::Refused(refused) => RelayNotice::Refused {
                at: read("RelayRefused.at", refused.at)?,
                why: Refusal::from_number("RelayRefused.why", refused.why)?,
            },
            Variant::Source(source) => RelayNotice::Source {
                at: read("RelaySource.at", source.at)?,
                from: read("RelaySource.from", source.from)?,
            },
            Variant::Traffic(traffic) => RelayNotice::Traffic {
                at: read("RelayTraffic.at", traffic.at)?,
                traffic: Traffic {
                    packets: traffic.packets,
                    bytes: traffic.bytes,
                    errors: traffic.errors,
                    ssrc: traffic.ssrc,
                    offloaded: Offloaded {
                        packets: traffic.offloaded_packets,
                        bytes: traffic.offloaded_bytes,
                        errors: traffic.offloaded_errors,
                    },
                },
                idle: read_optional(traffic.idle)?,
            },
            Variant::Quality(quality) => RelayNotice::Quality {
                at: read("RelayQuality.at", quality.at)?,
                ssrc: quality.ssrc,
                report: Report {
                    loss: fraction("RelayQuality.loss", quality.loss)?,
                    jitter: read("RelayQuality.jitter", quality.jitter)?,
                    round_trip_leg: read_optional(quality.round_trip_leg)?,
                    round_trip: read_optional(quality.round_trip)?,
                },
            },
        })
    }
}
