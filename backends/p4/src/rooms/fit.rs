//! The test whether the switch can send a replica, and the reasons why not.

use std::net::SocketAddr;

use dataplane::{Leg, Protection, Reason, Replica, Stream};
use wire::{Codec, ExtensionKind, MediaKind};

use crate::P4Config;
use crate::address::is_one_machines;

/// The greatest id of an extension that the program keeps.
const ID_MAX: u8 = 15;

/// The greatest id in the one-byte form, in which the program may have to write.
const ONE_BYTE_ID_MAX: u8 = 14;

/// The longest mid that the program writes, in bytes.
const MID_MAX: usize = 3;

/// The highest temporal layer that a VP8 descriptor can name.
const VP8_TEMPORAL_MAX: u8 = 3;

/// Whether packets can arrive from a leg and be sent to it.
pub(super) fn leg(config: &P4Config, leg: &Leg) -> Result<(), Reason> {
    match leg.protection {
        Protection::Srtp { .. } => return Err(Reason::Srtp),
        Protection::Pending => return Err(Reason::NoMedia),
        Protection::Clear => {}
    }
    let are_routed = |path: &dataplane::Path| {
        is_one_machines(path.local.ip())
            && is_one_machines(path.remote.ip())
            && config.is_of_host(path.local.ip())
            && config.next_hop(path.remote.ip()).is_some()
    };
    match leg.paths.iter().all(are_routed) {
        true if leg.paths.is_empty() => Err(Reason::NoMedia),
        true => Ok(()),
        false => Err(Reason::Addresses),
    }
}

/// Whether a stream's packets can be read. Its leg is one that fits.
pub(super) fn stream(stream: &Stream, from: &Leg) -> Result<(), Reason> {
    if stream.rtx.is_some() {
        return Err(Reason::Retransmissions);
    }
    let is_readable = |codec| match codec {
        Codec::Opus | Codec::Red | Codec::Pcmu | Codec::Pcma | Codec::Vp8 | Codec::H264 | Codec::Av1 => true,
        // Without descriptors its layers are in the payload.
        Codec::Vp9 => described(stream, from).is_some(),
        Codec::H265 => false,
    };
    match stream.formats.iter().all(|format| is_readable(format.codec)) {
        true => Ok(()),
        false => Err(Reason::Codec),
    }
}

/// The id of dependency descriptors in a stream's packets.
pub(super) fn described(stream: &Stream, from: &Leg) -> Option<u8> {
    let id = from.extensions_in.id(ExtensionKind::DependencyDescriptor)?;
    (stream.kind == MediaKind::Video && id <= ID_MAX).then_some(id)
}

/// Whether copies of a stream can be what a replica is. Stream and legs are ones that fit.
pub(super) fn replica(replica: &Replica, to: &Leg, stream: &Stream, from: &Leg) -> Result<(), Reason> {
    if replica.rtx.is_some() {
        return Err(Reason::Retransmissions);
    }
    let leaves_out = replica.target.temporal < VP8_TEMPORAL_MAX && described(stream, from).is_none();
    let is_vp8 = stream.formats.iter().any(|format| format.codec == Codec::Vp8);
    let is_split = replica.formats.iter().any(|format| format.primary_only);
    if is_split || replica.fallback_spatial.is_some() || is_vp8 && leaves_out {
        return Err(Reason::Codec);
    }
    let family = nominated(to).map(|(_, remote)| remote.is_ipv4());
    if from.paths.iter().any(|path| Some(path.remote.is_ipv4()) != family) {
        return Err(Reason::Families);
    }
    extensions(replica, to, from)
}

fn extensions(replica: &Replica, to: &Leg, from: &Leg) -> Result<(), Reason> {
    let out = |kind| to.extensions_out.id(kind);
    let writes_delay = replica.playout_delay.is_some() && out(ExtensionKind::PlayoutDelay).is_some();
    let is_numbered = out(ExtensionKind::TransportSequence).is_some();
    let mid = replica.mid.as_ref().filter(|_| out(ExtensionKind::Mid).is_some());
    let is_long = mid.is_some_and(|mid| mid.as_str().len() > MID_MAX);
    let mut written = [ExtensionKind::Mid, ExtensionKind::AbsSendTime]
        .into_iter()
        .filter_map(out);
    // Elements keep their form. Id 15 only arrives in the two-byte form.
    let is_beyond = written.any(|id| id > ONE_BYTE_ID_MAX)
        || kept(to, from).any(|(id, new)| id > ID_MAX || new > id.max(ONE_BYTE_ID_MAX));
    match writes_delay || is_numbered || is_long || is_beyond {
        true => Err(Reason::Extensions),
        false => Ok(()),
    }
}

/// The header extensions that stay in packets from one leg to another, each by its ids there and
/// here.
pub(super) fn kept(to: &Leg, from: &Leg) -> impl Iterator<Item = (u8, u8)> {
    let carried = from.extensions_in.iter().filter(|(kind, _)| is_carried(*kind));
    carried.filter_map(|(kind, id)| Some((id, to.extensions_out.id(kind)?)))
}

fn is_carried(kind: ExtensionKind) -> bool {
    !kind.is_of_transport()
}

/// The local and remote address that a leg is sent to.
pub(super) fn nominated(leg: &Leg) -> Option<(SocketAddr, SocketAddr)> {
    leg.paths.first().map(|path| (path.local, path.remote))
}
