//! Requests for functions that a relay without codecs does not have.

use super::flags::Flags;
use crate::call::Role;
use crate::config::Feature;
use crate::sdp::{Description, has_packet_time};

/// The first request that a relay without codecs cannot meet, unless it has no effect or is
/// tolerated.
pub(super) fn refused(
    role: Role,
    description: &Description<'_>,
    flags: &mut Flags,
    tolerated: &[Feature],
) -> Option<Feature> {
    if role == Role::Answer {
        // These are about offers, and scripts send them always.
        flags.undone.forget(&[Feature::Transcode, Feature::Ptime, Feature::T38]);
    }
    let (codecs, sections) = (&flags.terms.codecs, &description.sections);
    let names_codecs = !codecs.transcode.is_empty() || !codecs.consume.is_empty();
    if names_codecs && codecs.is_offered(sections) && !codecs.is_consumed(sections) {
        flags.undone.forget(&[Feature::Transcode]);
    }
    // Packets of that length need no repacketising.
    let mut times = [flags.terms.ptime, flags.ptime_reverse]
        .into_iter()
        .flatten()
        .peekable();
    if times.peek().is_some() && times.all(|time| has_packet_time(sections, time)) {
        flags.undone.forget(&[Feature::Ptime]);
    } else {
        flags.terms.ptime = None;
    }
    flags.undone.tolerate(tolerated)
}

/// Why a request is refused.
pub(super) const fn reason(feature: Feature) -> &'static str {
    match feature {
        Feature::Transcode => "Transcoding is not supported",
        Feature::Ptime => "Repacketising is not supported",
        Feature::T38 => "T.38 gateways are not supported",
        Feature::InjectDtmf => "Injecting DTMF is not supported",
    }
}
