//! Trunks in a form that another process can go on with.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};
use southbound::{NodeId, SubscriptionId, TrackId, TransportId, TransportQuality};
use wire::Ssrc;

use super::need::{Need, accumulate, needs};
use super::route::{Hop, StreamNames};
use super::tree::Tree;
use super::trunk::{NodePair, Trunk, TrunkEnd, TrunkKey};
use super::{Trunking, close};
use crate::context::Context;
use crate::ids::Ssrcs;
use crate::room::roster::Roster;
use crate::track::{PublicationMedia, Version};

/// SSRCs that a controller may have assigned on one trunk after it last saved the room.
const UNSAVED_SSRCS_MAX: u32 = 1 << 16;

/// Trunks of a room, and the tracks that go over them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedTrunking {
    trunks: Vec<SavedTrunk>,
    hops: Vec<SavedHop>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SavedTrunk([SavedEnd; 2]);

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SavedEnd {
    node: u64,
    transport: u64,
    address: SocketAddr,
    last_ssrc: u32,
    streams: u32,
    connected: bool,
    rtcp_ssrc: u32,
    key: [u8; super::trunk::KEY_LEN],
    salt: [u8; super::trunk::SALT_LEN],
    /// Its trunk has no keys.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    clear: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SavedHop {
    /// The id that nodes know the track by.
    track: u64,
    from: u64,
    to: u64,
    /// Subscription, SSRC and SSRC of retransmissions of each encoding.
    streams: Vec<(u64, u32, u32)>,
}

/// The hops of a track, by the nodes that they lead to.
type SavedRoute = BTreeMap<NodeId, SavedHop>;

impl fmt::Debug for SavedTrunk {
    // Keys have no place in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SavedTrunk({}, {})", self.0[0].transport, self.0[1].transport)
    }
}

impl SavedTrunking {
    /// Whether there is nothing to go on with.
    pub fn is_empty(&self) -> bool {
        self.trunks.is_empty() && self.hops.is_empty()
    }
}

impl Trunking {
    pub(in crate::room) fn save(&self) -> SavedTrunking {
        let hops = self.routes.iter().flat_map(|(track, route)| {
            let hops = route.hops.iter();
            hops.map(|(to, hop)| SavedHop {
                track: track.0,
                from: hop.from.0,
                to: to.0,
                streams: hop.names().map(written).collect(),
            })
        });
        SavedTrunking {
            trunks: self.trunks.values().map(SavedTrunk::of).collect(),
            hops: hops.collect(),
        }
    }

    /// Goes on with trunks that another controller opened. Their nodes were told of them as it is
    /// worked out here, so nothing is said to them.
    pub(in crate::room) fn restore(&mut self, ctx: &mut Context<'_>, roster: &Roster, saved: SavedTrunking) {
        for trunk in saved.trunks {
            self.restore_trunk(ctx, roster, trunk.restore());
        }
        let mut routes: BTreeMap<TrackId, SavedRoute> = BTreeMap::new();
        for hop in saved.hops {
            routes
                .entry(TrackId(hop.track))
                .or_default()
                .insert(NodeId(hop.to), hop);
        }
        for publisher in roster.all() {
            for (track, found) in &publisher.publications.tracks {
                for version in [Version::Primary, Version::Backup] {
                    let media = found.media_in(version);
                    let saved = media.and_then(|media| Some((media, routes.remove(&media.publication.track)?)));
                    if let Some((media, hops)) = saved {
                        let root = publisher.media.node;
                        let needs = needs(roster, root, *track, version, media);
                        self.restore_route(ctx, root, media, needs, hops);
                    }
                }
            }
        }
        self.note_all(roster);
    }

    fn restore_trunk(&mut self, ctx: &mut Context<'_>, roster: &Roster, trunk: Trunk) {
        let [one, other] = &trunk.ends;
        let pair = NodePair::of(one.node, other.node);
        for end in &trunk.ends {
            ctx.core.index.trunks.insert(end.transport, roster.room());
        }
        if let Some(twin) = self.trunks.insert(pair, trunk) {
            close(ctx, &twin);
        }
    }

    fn restore_route(
        &mut self,
        ctx: &mut Context<'_>,
        root: NodeId,
        media: &PublicationMedia,
        mut needs: BTreeMap<NodeId, Need>,
        hops: SavedRoute,
    ) {
        let before = hops.iter().map(|(to, hop)| (*to, NodeId(hop.from))).collect();
        let tree = Tree::grow(root, &hops.keys().copied().collect(), &before);
        accumulate(&mut needs, &tree);
        let route = self.routes.entry(media.publication.track).or_default();
        for (to, hop) in hops {
            let from = NodeId(hop.from);
            let Some(trunk) = self.trunks.get(&NodePair::of(from, to)) else {
                continue;
            };
            let names = hop.streams.into_iter().map(read);
            let need = needs.get(&to).copied().unwrap_or_default();
            let hop = Hop::new(from, trunk.ends_from(from), media, need, names);
            let crossings = hop.names().map(|names| names.subscription);
            ctx.core.index.crossings.extend(crossings);
            route.hops.insert(to, hop);
        }
    }
}

impl SavedTrunk {
    fn of(trunk: &Trunk) -> Self {
        let [one, other] = &trunk.ends;
        Self([one, other].map(|end| SavedEnd {
            node: end.node.0,
            transport: end.transport.0,
            address: end.address,
            last_ssrc: end.ssrcs.last(),
            streams: end.streams,
            connected: end.is_connected,
            rtcp_ssrc: end.rtcp_ssrc.0,
            key: end.key.key,
            salt: end.key.salt,
            clear: trunk.is_clear,
        }))
    }

    fn restore(self) -> Trunk {
        Trunk {
            is_clear: self.0[0].clear,
            ends: self.0.map(|end| TrunkEnd {
                node: NodeId(end.node),
                transport: TransportId(end.transport),
                address: end.address,
                ssrcs: Ssrcs::far_after(end.last_ssrc, UNSAVED_SSRCS_MAX),
                streams: end.streams,
                rtcp_ssrc: Ssrc(end.rtcp_ssrc),
                key: TrunkKey {
                    key: end.key,
                    salt: end.salt,
                },
                is_connected: end.connected,
                quality: TransportQuality::default(),
            }),
        }
    }
}

fn written(names: StreamNames) -> (u64, u32, u32) {
    (names.subscription.0, names.ssrc.0, names.rtx.0)
}

fn read((subscription, ssrc, rtx): (u64, u32, u32)) -> StreamNames {
    StreamNames {
        subscription: SubscriptionId(subscription),
        ssrc: Ssrc(ssrc),
        rtx: Ssrc(rtx),
    }
}
