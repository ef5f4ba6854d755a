//! A room over several media nodes.
//!
//! A track that is published at one node and received at another one goes there over the trunk
//! between the two: each encoding that is needed there crosses once. At the node that sends it is
//! a subscription of the trunk, and at the node that receives it is a publication of the trunk, by
//! the same id. So receivers subscribe to it as to any other track.
//!
//! Trunks are opened when the first track needs them, and stay while the room is on both nodes.

mod failing;
mod need;
mod pace;
mod report;
mod route;
mod saved;
mod tree;
mod trunk;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use southbound::{Command, NodeId, TrackId};

pub(crate) use self::failing::TrunkFailure;
use self::need::{Need, accumulate, needs};
use self::pace::Pace;
pub use self::report::{TrunkEndReport, TrunkReport};
use self::route::{Hop, Route, StreamNames};
pub use self::saved::SavedTrunking;
use self::tree::{Link, Tree};
pub(in crate::room) use self::trunk::NodePair;
use self::trunk::Trunk;
use crate::context::{Context, Timer};
use crate::room::roster::Roster;
use crate::track::{PublicationMedia, Version};
use crate::{Counter, Event};

/// Time after which a trunk is opened again that could not be.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Trunks of a room, and the tracks that go over them.
#[derive(Default)]
pub(in crate::room) struct Trunking {
    trunks: BTreeMap<NodePair, Trunk>,
    /// By the id that nodes know a track by.
    routes: BTreeMap<TrackId, Route>,
    /// Tracks that may be needed at other nodes than before.
    changed: BTreeSet<TrackId>,
    /// Pairs of nodes that have no trunk for the present, and until when.
    refused: BTreeMap<NodePair, Instant>,
    pace: Pace,
}

impl Trunking {
    /// A track may be needed at other nodes than before, or arrive differently.
    pub(in crate::room) fn note(&mut self, track: TrackId) {
        self.changed.insert(track);
    }

    /// The same of all tracks of the room.
    fn note_all(&mut self, roster: &Roster) {
        let tracks = roster.all().flat_map(|publisher| publisher.track_keys());
        self.changed.extend(tracks.map(|(_, track)| track));
    }

    /// Brings trunks to what the last changes need.
    pub(in crate::room) fn settle(&mut self, ctx: &mut Context<'_>, roster: &Roster) {
        if self.trunks.is_empty() && !roster.is_on_several_nodes() {
            self.pace.clear();
            return self.changed.clear();
        }
        self.retry(ctx, roster);
        self.defer(ctx, roster);
        self.review_changed(ctx, roster);
        self.close_idle(ctx, roster);
        self.replace_worn(ctx, roster);
    }

    fn review_changed(&mut self, ctx: &mut Context<'_>, roster: &Roster) {
        while let Some(track) = self.changed.first().copied() {
            self.review(ctx, roster, track);
        }
    }

    /// Brings one track to the nodes that need it, and to no others.
    pub(in crate::room) fn review(&mut self, ctx: &mut Context<'_>, roster: &Roster, track: TrackId) {
        self.changed.remove(&track);
        self.begin_pause(ctx, track);
        let publisher = ctx.core.index.tracks.get(&track).copied();
        let publisher = publisher.and_then(|publisher| roster.get(publisher.participant));
        let Some((publisher, found)) =
            publisher.and_then(|publisher| Some((publisher, publisher.publications.tracks.get(&track)?)))
        else {
            return self.end(ctx, track);
        };
        let backup = found.backup.as_ref().map(|backup| (Version::Backup, backup.id));
        for (version, id) in [(Version::Primary, found.id)].into_iter().chain(backup) {
            match found.media_in(version) {
                Some(media) => self.carry(ctx, roster, publisher.media.node, track, version, media),
                None => self.end(ctx, id),
            }
        }
    }

    /// A track, in one of its codecs, is over.
    pub(in crate::room) fn end(&mut self, ctx: &mut Context<'_>, id: TrackId) {
        let Some(route) = self.routes.remove(&id) else {
            return;
        };
        for (to, hop) in route.hops {
            end_hop(ctx, id, to, &hop);
        }
    }

    fn carry(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &Roster,
        root: NodeId,
        track: TrackId,
        version: Version,
        media: &PublicationMedia,
    ) {
        let id = media.publication.track;
        // Its publisher has moved to a node that got it over a trunk, and publishes it there.
        let moved = self.routes.get_mut(&id).and_then(|route| route.hops.remove(&root));
        if let Some(hop) = moved {
            unsubscribe(ctx, hop.from, hop.names());
        }
        let mut needs = needs(roster, root, track, version, media);
        if needs.is_empty() {
            return self.end(ctx, id);
        }
        let route = self.routes.entry(id).or_default();
        let tree = Tree::grow(root, &needs.keys().copied().collect(), &route.parents());
        accumulate(&mut needs, &tree);
        for (to, hop) in route.hops.extract_if(.., |to, _| !tree.reaches(*to)) {
            end_hop(ctx, id, to, &hop);
        }
        for link in tree.links() {
            let need = needs.get(&link.to).copied().unwrap_or_default();
            self.carry_over(ctx, roster, media, link, need);
        }
    }

    fn carry_over(&mut self, ctx: &mut Context<'_>, roster: &Roster, media: &PublicationMedia, link: Link, need: Need) {
        let pair = NodePair::of(link.from, link.to);
        self.open_trunk(ctx, roster, pair);
        let Some(trunk) = self.trunks.get_mut(&pair) else {
            return;
        };
        let ends = trunk.ends_from(link.from);
        let sender = trunk.end_mut(link.from);
        let route = self.routes.entry(media.publication.track).or_default();
        let before = route.hops.remove(&link.to);
        let same = before.iter().filter(|hop| hop.ends() == Some(ends));
        let known: Vec<StreamNames> = same.flat_map(Hop::names).collect();
        let new = std::iter::repeat_with(|| {
            sender.streams += 1;
            StreamNames {
                subscription: ctx.core.ids.subscription(),
                ssrc: sender.ssrcs.next(),
                rtx: sender.ssrcs.next(),
            }
        });
        let hop = Hop::new(link.from, ends, media, need, known.into_iter().chain(new));
        tell_hop(ctx, link.to, before.as_ref(), &hop);
        route.hops.insert(link.to, hop);
    }

    /// Opens the trunk between two nodes, unless it is open or there can be none for the present.
    fn open_trunk(&mut self, ctx: &mut Context<'_>, roster: &Roster, pair: NodePair) {
        if self.trunks.contains_key(&pair) || self.refused.contains_key(&pair) {
            return;
        }
        let Some(trunk) = Trunk::new(ctx, pair) else {
            let [one, other] = pair.nodes();
            let why = format!("nodes {one:?} and {other:?} have no addresses of one family for a trunk");
            ctx.event(Event::Refused { why });
            return self.refuse(ctx, roster.timer(), pair);
        };
        if pair.clear_nodes(ctx) == 1 {
            let [one, other] = pair.nodes();
            let why = format!("one of nodes {one:?} and {other:?} takes sealed trunks only: theirs is sealed");
            ctx.count(Counter::TrunkMixed);
            ctx.event(Event::Refused { why });
        }
        for end in &trunk.ends {
            ctx.core.index.trunks.insert(end.transport, roster.room());
            ctx.command(end.node, trunk.open(end.node));
        }
        self.trunks.insert(pair, trunk);
    }

    /// Opens the trunks that a node will need when somebody of the room comes to it.
    pub(in crate::room) fn open_ahead(&mut self, ctx: &mut Context<'_>, roster: &Roster, node: NodeId) {
        for other in roster.nodes().into_iter().filter(|other| *other != node) {
            self.open_trunk(ctx, roster, NodePair::of(node, other));
        }
    }

    pub(in crate::room) fn refuse(&mut self, ctx: &mut Context<'_>, timer: Timer, pair: NodePair) {
        let until = ctx.wake(RETRY_AFTER, timer);
        self.refused.insert(pair, until);
    }

    /// Opens the trunks whose time has come.
    fn retry(&mut self, ctx: &Context<'_>, roster: &Roster) {
        let before = self.refused.len();
        self.refused.retain(|_, until| *until > ctx.now);
        if self.refused.len() < before {
            self.note_all(roster);
        }
    }

    /// Closes the trunks to nodes that the room has left.
    fn close_idle(&mut self, ctx: &mut Context<'_>, roster: &Roster) {
        let left = |pair: &NodePair| pair.nodes().iter().any(|node| !roster.is_on(*node));
        if !self.trunks.keys().any(left) {
            return;
        }
        let hops = self.routes.values().flat_map(|route| &route.hops);
        let used: BTreeSet<_> = hops.map(|(to, hop)| NodePair::of(hop.from, *to)).collect();
        let is_idle = |pair: &NodePair| left(pair) && !used.contains(pair);
        for (_, trunk) in self.trunks.extract_if(.., |pair, _| is_idle(pair)) {
            close(ctx, &trunk);
        }
    }

    /// Opens the ends of trunks at a node again.
    pub(in crate::room) fn repeat_trunks(&self, ctx: &mut Context<'_>, node: NodeId) {
        for (_, trunk) in self.trunks.iter().filter(|(pair, _)| pair.has(node)) {
            ctx.command(node, trunk.open(node));
        }
    }

    /// Publishes at a node again what comes to it over trunks.
    pub(in crate::room) fn repeat_publications(&self, ctx: &mut Context<'_>, node: NodeId) {
        for hop in self.routes.values().filter_map(|route| route.hops.get(&node)) {
            ctx.command(node, Command::Publish(hop.publication.clone()));
        }
    }

    /// Subscribes trunks of a node again to what goes over them.
    pub(in crate::room) fn repeat_subscriptions(&self, ctx: &mut Context<'_>, node: NodeId) {
        let hops = self.routes.values().flat_map(|route| route.hops.values());
        for subscription in hops.filter(|hop| hop.from == node).flat_map(|hop| &hop.subscriptions) {
            ctx.command(node, Command::Subscribe(subscription.clone()));
        }
    }
}

/// Tells both nodes of a hop how it is now, as far as that is not how it was before.
fn tell_hop(ctx: &mut Context<'_>, to: NodeId, before: Option<&Hop>, hop: &Hop) {
    if before.is_none_or(|before| before.publication != hop.publication) {
        ctx.command(to, Command::Publish(hop.publication.clone()));
    }
    let told = before.map_or(&[][..], |before| &before.subscriptions);
    for subscription in &hop.subscriptions {
        if !told.contains(subscription) {
            ctx.core.index.crossings.insert(subscription.subscription);
            ctx.command(hop.from, Command::Subscribe(subscription.clone()));
        }
    }
    let stay: Vec<_> = hop.names().map(|names| names.subscription).collect();
    if let Some(before) = before {
        let gone = before.names().filter(|names| !stay.contains(&names.subscription));
        unsubscribe(ctx, before.from, gone);
    }
}

fn end_hop(ctx: &mut Context<'_>, id: TrackId, to: NodeId, hop: &Hop) {
    unsubscribe(ctx, hop.from, hop.names());
    ctx.command(to, Command::Unpublish { track: id });
}

fn unsubscribe(ctx: &mut Context<'_>, from: NodeId, names: impl Iterator<Item = StreamNames>) {
    for StreamNames { subscription, .. } in names {
        ctx.core.index.crossings.remove(&subscription);
        ctx.command(from, Command::Unsubscribe { subscription });
    }
}

fn close(ctx: &mut Context<'_>, trunk: &Trunk) {
    for end in &trunk.ends {
        let transport = end.transport;
        ctx.core.index.trunks.remove(&transport);
        ctx.command(end.node, Command::Close { transport });
    }
}
