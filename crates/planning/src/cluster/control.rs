//! The load of controllers and of the store.

use super::ClusterLimits;
use super::load::whole;
use super::sheet::Sheet;
use crate::report::grouped;

/// Processor time of a join at a whole server, without the media of those who are there: the
/// controller's part and the agent's, with the handshake.
///
/// Source: docs/use/rooms.md, "Cost". Shape: microseconds.
const JOIN_US: u64 = 2_600;

/// Memory of a participant at a whole server, so more than at a controller.
///
/// Source: docs/use/rooms.md, "Cost". Shape: bytes.
const PARTICIPANT: u64 = 69_000;

/// Bytes of a room in the store.
///
/// Source: docs/operate/cluster.md, "Store": 10,000 rooms are about 2 MB.
const ROOM: u64 = 200;

/// Controllers that outlive the loss of one.
const CONTROLLERS_MIN: u64 = 2;

/// A controller's calls of the store in 1,000 seconds: it renews a lease of 6 s three times in that
/// time, and reads up to 32 of its rooms then.
///
/// Source: `LEASE` of the coordinator, `cluster::limits::AUDITED`.
const RENEWALS: u64 = 500;
const AUDITED: u64 = 32;

/// A media node's calls in 1,000 seconds: three in 5 s for its lease, one in 2 s for its record.
///
/// Source: `TTL` and `AUDIT_EVERY` of the node's membership.
const NODE_CALLS: u64 = 600 + 500;

/// Participants who are let in within a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joins {
    pub(super) rooms: u64,
    pub(super) participants: u64,
    pub(super) seconds: u64,
}

impl Joins {
    /// Adds the load of controllers and of the store of so many nodes.
    pub(super) fn describe(self, sheet: &mut Sheet, nodes: u64, limits: &ClusterLimits) {
        let controllers = self.rooms.div_ceil(limits.rooms).max(CONTROLLERS_MIN);
        sheet.count("controllers", controllers, "at least two, for the loss of one");
        let busiest = self.participants.div_ceil(self.rooms) * self.rooms.div_ceil(controllers);
        let from = format!("{} participants within {} s", grouped(self.participants), self.seconds);
        let joins = whole(u128::from(self.participants) * 1_000 / u128::from(self.seconds));
        sheet.add("joins", joins, "a second", from);
        let cores = whole(u128::from(busiest) * u128::from(JOIN_US) / u128::from(self.seconds) / 1_000);
        let from = "at most: a join takes 2.6 ms of a whole server";
        sheet.add("cores of the busiest controller meanwhile", cores, "", from);
        let memory = whole(u128::from(busiest) * u128::from(PARTICIPANT) / 1_000);
        let from = "at most: a participant takes 69 kB of a whole server";
        sheet.add("memory of the busiest controller", memory, "MB", from);
        let audited = AUDITED.min(self.rooms.div_ceil(controllers));
        let calls = controllers * RENEWALS * (1 + audited) + nodes.saturating_mul(NODE_CALLS);
        sheet.add("calls of the store", calls, "a second", "leases and looks at records");
        let writes = whole(2_000 * u128::from(self.rooms) / u128::from(self.seconds));
        sheet.add(
            "writes while rooms begin or end",
            writes,
            "a second",
            "two of each room",
        );
        let kilobytes = self.rooms.saturating_mul(ROOM);
        sheet.add("records of rooms in the store", kilobytes, "kB", "200 bytes each");
    }
}
