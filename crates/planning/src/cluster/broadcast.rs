//! One publisher, and more viewers than a node carries.

use super::control::Joins;
use super::load::Encodings;
use super::node::MediaNode;
use super::sheet::Sheet;
use super::tree::{DEPTH_MAX, Tree};
use super::{ClusterError, ClusterLimits, within};
use crate::limits::COUNT_MAX;
use crate::report::grouped;
use crate::server::Server;

/// A room of one publisher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broadcast {
    /// Those who only watch.
    pub viewers: u64,
    /// The publisher's streams, and their shares of the viewers.
    pub encodings: Encodings,
    /// Regions with viewers, as many in each.
    pub regions: u64,
    /// The most trunks that a node sends one stream on.
    pub fan_out: u64,
    /// The time in which all join.
    pub seconds: u64,
}

/// Bounds of what can be asked.
const FAN_OUT_MAX: u64 = 1_000;
const REGIONS_MAX: u64 = 1_000;
const SECONDS_MAX: u64 = 86_400;

impl Broadcast {
    /// Plans it on nodes of this kind. `source` says where their costs come from.
    ///
    /// Errors: a number is out of its range, the costs are not known, or a node is too small for a
    /// viewer beside its trunks.
    pub fn sheet(&self, server: &Server, limits: &ClusterLimits, source: &str) -> Result<Sheet, ClusterError> {
        within("viewers", self.viewers, COUNT_MAX)?;
        within("regions", self.regions, REGIONS_MAX)?;
        within("fan-out", self.fan_out, FAN_OUT_MAX)?;
        within("join-seconds", self.seconds, SECONDS_MAX)?;
        let node = MediaNode::new(server)?;
        let [arriving, crossing, viewing] = [
            node.arriving(&self.encodings),
            node.crossing(&self.encodings),
            node.viewing(&self.encodings),
        ];
        let trunks = crossing.and(node.transport()).times(self.fan_out);
        // Of the trunk from above, or of the publisher.
        let fixed = arriving.and(trunks).and(node.transport());
        let fit = node.fit(fixed, viewing.and(node.transport()), limits.transports);
        if fit.number == 0 {
            let why = "a node has no room for a viewer beside its trunks: take a larger node or a lower --fan-out";
            return Err(ClusterError(why.into()));
        }
        let nodes = self.viewers.div_ceil(fit.number).max(self.regions);
        let tree = Tree::new(nodes, self.regions, self.fan_out).ok_or_else(|| {
            let (fan_out, others) = (self.fan_out, self.regions - 1);
            ClusterError(format!(
                "a fan-out of {fan_out} does not feed {others} other regions and the publisher's own: raise --fan-out"
            ))
        })?;
        let mut sheet = Sheet::new(self.describe(&node), source);
        sheet.rate("a viewer gets", self.encodings.viewed().bits(), "on average");
        let from = format!("{} bind, with room for {} trunks", fit.binding, self.fan_out);
        sheet.count("viewers of a node", fit.number, from);
        sheet.count("media nodes", nodes, format!("{} viewers", grouped(self.viewers)));
        let from = format!("{} nodes by trunks crossed", tree.describe());
        sheet.count("depth of the tree", tree.depth(), from);
        let whole = self.encodings.whole().bits();
        sheet.rate("a trunk carries", whole, "one copy of each encoding");
        sheet.count("trunks", nodes - 1, "every node but the publisher's has one from above");
        let all = whole.saturating_mul(nodes - 1);
        sheet.rate("all trunks together", all, "");
        if self.regions > 1 {
            let between = whole.saturating_mul(self.regions - 1);
            sheet.rate("of them between regions", between, "each other region is fed once");
        }
        let from = format!(
            "at most: {} trunks, and as many viewers as it carries",
            self.fan_out.min(nodes - 1)
        );
        let full = whole * self.fan_out.min(nodes - 1) + self.encodings.viewed().bits() * fit.number.min(self.viewers);
        sheet.rate("the fullest node sends", full, from);
        let joins = Joins {
            rooms: 1,
            participants: self.viewers + 1,
            seconds: self.seconds,
        };
        joins.describe(&mut sheet, nodes, limits);
        sheet.limit("participants of a room", self.viewers + 1, limits.participants);
        sheet.limit("media nodes", nodes, limits.nodes);
        sheet.limit("trunks that a packet crosses", tree.depth(), DEPTH_MAX);
        sheet.limit("trunks of a node", self.fan_out + 1, limits.trunks);
        Ok(sheet)
    }

    fn describe(&self, node: &MediaNode) -> String {
        let viewers = grouped(self.viewers);
        let regions = match self.regions {
            1 => String::new(),
            regions => format!(" in {regions} regions"),
        };
        format!(
            "{viewers} viewers of one publisher{regions}, on nodes of {}\n  {}",
            node.describe(),
            self.encodings.describe()
        )
    }
}
