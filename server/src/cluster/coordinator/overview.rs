//! The cluster as this controller knows it, for operators.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use cluster::{LostReason, MediaRecord, RoomStanding};
use controller::{Controller, TrunkEndReport};
use operator::cluster as view;
use southbound::{ControllerId, NodeId};

use super::Coordinator;
use super::history::{Change, ChangeKind};

/// The members that run, with their names.
struct Names<'a> {
    controllers: BTreeMap<ControllerId, &'a str>,
    nodes: BTreeMap<NodeId, &'a str>,
}

impl Names<'_> {
    fn controller(&self, controller: ControllerId) -> view::Member {
        let name = self.controllers.get(&controller).copied().unwrap_or_default();
        view::Member {
            id: controller_id(controller),
            name: name.to_owned(),
        }
    }

    fn node(&self, node: NodeId) -> view::Member {
        let name = self.nodes.get(&node).copied().unwrap_or_default();
        view::Member {
            id: node_id(node),
            name: name.to_owned(),
        }
    }
}

impl Coordinator {
    /// The cluster with at most this number of rooms.
    pub(crate) fn overview(&self, now: Instant, rooms: &Controller, rooms_max: usize) -> view::Cluster {
        let standing = self.cluster.standing(now);
        let names = self.names();
        let own = controller(self.controller, &self.record);
        let others = self.cluster.controllers();
        let trunks = controller::trunks(rooms).take(rooms_max).map(|trunk| view::Trunk {
            room: String::from(&*trunk.room),
            ends: trunk.ends.map(|end| trunk_end(&end, &names)),
        });
        let trunks = trunks.collect();
        let mut rooms = self.cluster.first_rooms(rooms_max + 1);
        let truncated = rooms.len() > rooms_max;
        if truncated {
            rooms.pop_last();
        }
        let room = |(name, room): (Arc<str>, RoomStanding)| view::Room {
            room: String::from(&*name),
            owner: room.holder.controller.map(|owner| names.controller(owner)),
            epoch: room.holder.epoch.0,
            nodes: room.nodes.into_iter().map(|node| names.node(node)).collect(),
        };
        let changes = self.history.changes();
        view::Cluster {
            controller: view::Controller {
                draining: self.is_draining,
                ..own
            },
            has_lease: standing.has_lease,
            knows_members: standing.knows_members,
            controllers: others.map(|(id, record)| controller(id, record)).collect(),
            nodes: self.media_nodes(now),
            rooms_owned: standing.owned,
            rooms_claiming: standing.claiming,
            rooms: rooms.into_iter().map(room).collect::<Vec<view::Room>>(),
            truncated,
            trunks,
            changes: changes.map(|change| self.change(now, change, &names)).collect(),
        }
    }

    fn names(&self) -> Names<'_> {
        let others = self.cluster.controllers();
        let own = (self.controller, self.record.name.as_str());
        Names {
            controllers: others.map(|(id, record)| (id, &*record.name)).chain([own]).collect(),
            nodes: self
                .cluster
                .media()
                .map(|(node, record)| (node, &*record.name))
                .collect(),
        }
    }

    /// Those of the store, and those that it has forgotten and that are still connected.
    fn media_nodes(&self, now: Instant) -> Vec<view::MediaNode> {
        let records: BTreeMap<_, _> = self.cluster.media().collect();
        let connections = self.nodes.standings();
        let mut nodes: Vec<_> = connections
            .map(|(node, address, connection, since)| {
                let record = records.get(&node).copied();
                view::MediaNode {
                    id: node_id(node),
                    name: record.map(|record| record.name.clone()).unwrap_or_default(),
                    address: address.to_owned(),
                    region: record.map(|record| record.region.clone()).unwrap_or_default(),
                    load: record.map_or(0, |record| record.load),
                    capacity: record.and_then(MediaRecord::known_capacity),
                    draining: record.is_some_and(|record| record.draining),
                    connection,
                    for_s: now.saturating_duration_since(since).as_secs(),
                }
            })
            .collect();
        nodes.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
        nodes
    }

    fn change(&self, now: Instant, change: &Change, names: &Names<'_>) -> view::Change {
        let other = change.other;
        // The node that refuses a message says who it obeys later, in one of its own.
        let known = || {
            let holder = self.cluster.holder(&change.room);
            holder.filter(|holder| holder.epoch == other.epoch)?.controller
        };
        let controller = other.controller.or_else(known).filter(|id| *id != self.controller);
        view::Change {
            ago_s: now.saturating_duration_since(change.at).as_secs(),
            room: String::from(&*change.room),
            epoch: change.epoch.0,
            other: view::Holder {
                controller: controller.map(|controller| names.controller(controller)),
                epoch: other.epoch.0,
            },
            what: match change.what {
                ChangeKind::Adopted => view::ChangeKind::Adopted,
                ChangeKind::BeganAnew => view::ChangeKind::BeganAnew,
                ChangeKind::Lost(LostReason::Fenced) => view::ChangeKind::Lost {
                    reason: view::LossReason::Fenced,
                },
                ChangeKind::Lost(LostReason::Record) => view::ChangeKind::Lost {
                    reason: view::LossReason::Record,
                },
                ChangeKind::Refused(node) => view::ChangeKind::Refused { node: names.node(node) },
            },
        }
    }
}

fn trunk_end(end: &TrunkEndReport, names: &Names<'_>) -> view::TrunkEnd {
    view::TrunkEnd {
        node: names.node(end.node),
        address: end.address.to_string(),
        connected: end.is_connected,
        tracks: end.tracks,
        encodings: end.encodings,
        lost_per_mille: (end.quality.downlink_loss * 1_000.0).round() as u32,
        round_trip_ms: end.quality.round_trip.map(|time| time.as_millis() as u64),
    }
}

fn controller(id: ControllerId, record: &cluster::ControllerRecord) -> view::Controller {
    view::Controller {
        id: controller_id(id),
        name: record.name.clone(),
        address: record.address.clone(),
        draining: record.draining,
    }
}

/// As in the store's keys.
fn controller_id(controller: ControllerId) -> String {
    format!("{:06x}", controller.number())
}

fn node_id(node: NodeId) -> String {
    format!("{:016x}", node.0)
}
