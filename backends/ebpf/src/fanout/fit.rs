//! The test whether the kernel can run an entry, and the reasons why not.

use std::net::{IpAddr, SocketAddr};

use dataplane::{Leg, Protection, Reason, Replica, Stream};
use wire::{Codec, ExtensionKind};

use crate::layout::fanout::{FANOUT_FORMATS, KEY_ALWAYS, KEY_AV1, KEY_H264, KEY_VP8, KEY_VP9};

/// How the start of a key frame is found.
pub(super) fn key_frames(codec: Codec) -> Option<u32> {
    match codec {
        Codec::Opus | Codec::Red | Codec::Pcmu | Codec::Pcma => Some(KEY_ALWAYS),
        Codec::Vp8 => Some(KEY_VP8),
        Codec::H264 => Some(KEY_H264),
        Codec::Av1 => Some(KEY_AV1),
        Codec::Vp9 => Some(KEY_VP9),
        // Nobody asked for it here yet.
        Codec::H265 => None,
    }
}

pub(super) fn leg(leg: &Leg) -> Result<(), Reason> {
    if matches!(leg.protection, Protection::Srtp { .. }) {
        return Err(Reason::Srtp);
    }
    let addresses = leg.paths.iter().flat_map(|path| [path.local, path.remote]);
    match addresses.map(|address| address.ip()).all(is_one_machines) {
        true => Ok(()),
        false => Err(Reason::Addresses),
    }
}

pub(super) fn stream(stream: &Stream, from: &Leg) -> Result<(), Reason> {
    leg(from)?;
    if from.protection == Protection::Pending {
        return Err(Reason::NoMedia);
    }
    if stream.rtx.is_some() {
        return Err(Reason::Retransmissions);
    }
    let can_read = stream.formats.iter().all(|format| key_frames(format.codec).is_some());
    if !can_read || stream.formats.len() > FANOUT_FORMATS as usize {
        return Err(Reason::Codec);
    }
    Ok(())
}

/// Whether another device can continue a stream's replicas from any packet on. This needs frames
/// that do not refer to others by descriptors, because only the device that decided about such
/// frames knows the decisions. The stream is one that fits.
pub(super) fn can_be_continued(stream: &Stream, from: &Leg) -> bool {
    let is_described = from.extensions_in.id(ExtensionKind::DependencyDescriptor).is_some();
    let is_named = |codec| is_described && !matches!(key_frames(codec), Some(KEY_ALWAYS)) || codec == Codec::Vp9;
    !stream.formats.iter().any(|format| is_named(format.codec))
}

/// Whether copies of a stream on `from` can be what a replica to `to` is. The stream is one that
/// fits.
pub(super) fn replica(replica: &Replica, to: &Leg, from: &Leg) -> Result<(), Reason> {
    leg(to)?;
    if replica.rtx.is_some() {
        return Err(Reason::Retransmissions);
    }
    if replica.formats.iter().any(|format| format.primary_only) {
        return Err(Reason::Codec);
    }
    let is_v4 = |leg: &Leg| leg.paths.iter().map(|path| path.remote.is_ipv4()).collect::<Vec<_>>();
    if is_v4(to)
        .first()
        .is_some_and(|family| is_v4(from).iter().any(|other| other != family))
    {
        return Err(Reason::Families);
    }
    // The delay to write depends on the publisher's last request.
    let writes_delay = replica.playout_delay.is_some() && to.extensions_out.id(ExtensionKind::PlayoutDelay).is_some();
    if writes_delay {
        return Err(Reason::Extensions);
    }
    Ok(())
}

/// Header extensions that are forwarded from one leg to another, in the order of kinds: the
/// received id of each, and the sent one.
pub(super) fn carried(to: &Leg, from: &Leg) -> Vec<(u8, u8)> {
    let kinds = from.extensions_in.iter().filter(|(kind, _)| is_carried(*kind));
    kinds
        .filter_map(|(kind, id)| Some((id, to.extensions_out.id(kind)?)))
        .collect()
}

fn is_carried(kind: ExtensionKind) -> bool {
    !kind.is_of_transport()
}

fn is_one_machines(address: IpAddr) -> bool {
    let is_local = matches!(address, IpAddr::V6(address) if address.is_unicast_link_local());
    !address.is_unspecified() && !address.is_multicast() && !is_local && !is_broadcast(address)
}

fn is_broadcast(address: IpAddr) -> bool {
    matches!(address, IpAddr::V4(address) if address.is_broadcast())
}

/// The local and remote address of a leg, once it may be sent to.
pub(super) fn nominated(leg: &Leg) -> Option<(SocketAddr, SocketAddr)> {
    match leg.protection {
        Protection::Clear => leg.paths.first().map(|path| (path.local, path.remote)),
        Protection::Pending | Protection::Srtp { .. } => None,
    }
}
