//! Rooms whose participants are in several regions.

use super::control::Joins;
use super::load::{Encodings, whole};
use super::node::MediaNode;
use super::sheet::Sheet;
use super::{ClusterError, ClusterLimits, within};
use crate::limits::{COUNT_MAX, PARTICIPANTS_MAX};
use crate::report::grouped;
use crate::server::Server;

/// Equal rooms. The participants of each are spread over the regions, and all send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meetings {
    /// The number of equal rooms.
    pub rooms: u64,
    /// Participants of each room.
    pub participants: u64,
    /// The streams of each of them, all of whom send.
    pub encodings: Encodings,
    /// Regions, with a media node of each room in each.
    pub regions: u64,
    /// The time in which all join.
    pub seconds: u64,
}

const REGIONS_MAX: u64 = 100;
const SECONDS_MAX: u64 = 86_400;

impl Meetings {
    /// Plans them on nodes of this kind. `source` says where their costs come from.
    ///
    /// Errors: a number is out of its range, the costs are not known, or a node is too small for
    /// one room.
    pub fn sheet(&self, server: &Server, limits: &ClusterLimits, source: &str) -> Result<Sheet, ClusterError> {
        within("rooms", self.rooms, COUNT_MAX)?;
        within("participants", self.participants, PARTICIPANTS_MAX.into())?;
        within("regions", self.regions, REGIONS_MAX)?;
        within("join-seconds", self.seconds, SECONDS_MAX)?;
        let node = MediaNode::new(server)?;
        let alone = self.nodes(&node, 1, limits)?;
        // A region without a participant has no node of the room.
        let spread = self.regions.min(self.participants);
        let total = self.nodes(&node, spread, limits)?;
        let in_region = total.div_ceil(self.regions);
        let nodes = in_region * self.regions;
        let mut sheet = Sheet::new(self.describe(&node), source);
        sheet.count("media nodes, if each room were on one", alone, "");
        sheet.count("media nodes", nodes, format!("{in_region} in each region"));
        let crossing = self.participants * (spread - 1);
        let from = format!("{} publishers to {} other nodes each", self.participants, spread - 1);
        sheet.count("publishers on the trunks of a room", crossing, from);
        let each = self.encodings.whole().bits();
        sheet.rate(
            "trunks of a room carry",
            each * crossing,
            "one copy of each encoding to each node",
        );
        let all = whole(u128::from(each) * u128::from(crossing) * u128::from(self.rooms));
        sheet.rate("all trunks together", all, format!("{} rooms", grouped(self.rooms)));
        if spread > 1 {
            let ways = self.regions * (self.regions - 1);
            sheet.rate("from one region to another", all / ways, "on average, in one direction");
        }
        let pairs = spread * (spread - 1) / 2;
        let trunks = self.rooms.saturating_mul(pairs);
        sheet.count(
            "trunks",
            trunks,
            format!("{pairs} of each room: one between two nodes of it"),
        );
        let at_node = (2 * trunks).div_ceil(nodes);
        sheet.count("trunks of a node", at_node, "");
        let between_two = trunks.div_ceil(in_region * in_region * (self.regions * (self.regions - 1) / 2).max(1));
        if spread > 1 {
            sheet.count(
                "trunks between two nodes",
                between_two,
                "at one pair of addresses, told apart by SSRC",
            );
        }
        let joins = Joins {
            rooms: self.rooms,
            participants: self.rooms.saturating_mul(self.participants),
            seconds: self.seconds,
        };
        joins.describe(&mut sheet, nodes, limits);
        sheet.limit("media nodes", nodes, limits.nodes);
        sheet.limit("trunks of a node", at_node, limits.trunks);
        sheet.limit("participants of a room", self.participants, limits.participants);
        Ok(sheet)
    }

    /// The nodes of all rooms, each on so many of them.
    fn nodes(&self, node: &MediaNode, spread: u64, limits: &ClusterLimits) -> Result<u64, ClusterError> {
        let copies = self.participants * (self.participants - 1);
        let crossing = self.participants * (spread - 1);
        let room = node
            .arriving(&self.encodings)
            .times(self.participants + crossing)
            .and(node.crossing(&self.encodings).times(crossing))
            .and(node.viewing(&self.encodings).times(copies))
            .and(node.transport().times(self.participants + spread * (spread - 1)));
        // Rooms are divided evenly, so one node is asked how many whole ones it carries.
        let fit = node.fit(Default::default(), room, limits.transports);
        match fit.number {
            0 => Err(ClusterError(format!(
                "a node is too small for a room of {}: its {} bind",
                self.participants, fit.binding
            ))),
            number => Ok(self.rooms.div_ceil(number)),
        }
    }

    fn describe(&self, node: &MediaNode) -> String {
        let (rooms, participants) = (grouped(self.rooms), self.participants);
        let regions = match self.regions {
            1 => "1 region".to_owned(),
            regions => format!("{regions} regions"),
        };
        format!(
            "{rooms} rooms of {participants} in {regions}, on nodes of {}\n  everybody sends {}",
            node.describe(),
            self.encodings.describe()
        )
    }
}
