//! Frames of data tracks.

use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::room::data::{Arrived, DATA_TRACK, Data};
use crate::room::roster::Roster;
use crate::{Counter, DataContent, DataMessage};

impl Data {
    /// A packet of a frame goes to everybody who subscribed to its track, with the handle that
    /// they know the track by.
    pub(in crate::room::data) fn pass_on_frame(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        key: ParticipantKey,
        mut data: DataMessage,
        arrived: &Arrived,
    ) {
        let DataContent::Frame { handle: named, .. } = &mut data.content else {
            return;
        };
        let published = roster.get(key).map(|found| &found.data.tracks.published);
        let Some((handle, _)) = published.and_then(|published| published.get(named)) else {
            return ctx.count(Counter::BadDataPacket);
        };
        let receivers = self.tracks.tracks.get(handle).map(|track| &track.receivers);
        let peers = receivers.into_iter().flatten().filter_map(|receiver| {
            let participant = roster.get(*receiver)?;
            if self.endpoints.has(participant, arrived) {
                return None;
            }
            let peer = participant.media.downlink()?;
            let is_open = peer.channels.iter().any(|open| **open == *DATA_TRACK);
            is_open.then_some((participant.media.node, peer.transport))
        });
        let to: Vec<_> = peers.collect();
        if !to.is_empty() {
            *named = *handle;
            ctx.send(to, Some(arrived.message), &data);
        }
    }
}
