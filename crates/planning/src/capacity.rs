use crate::design::{Demand, Design};
use crate::device::{Device, Resource};
use crate::meeting::Meeting;

/// The number of equal meetings that a device carries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Capacity {
    /// Meetings at once.
    pub meetings: u64,
    /// The resource that allows no more.
    pub binding: Resource,
    /// Every resource, in the order of [`Resource::ALL`].
    pub headroom: [Headroom; Resource::ALL.len()],
}

/// One resource of a device that carries its capacity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Headroom {
    /// The resource.
    pub resource: Resource,
    /// Meetings that it alone would allow; `None` if they do not use it up.
    pub alone: Option<u64>,
    /// Units that are left. Replica ids are counted in one branch.
    pub left: u64,
}

impl Capacity {
    /// Meetings that one resource alone would allow; `None` if they do not use it up.
    pub fn alone(&self, resource: Resource) -> Option<u64> {
        self.headroom
            .iter()
            .find(|headroom| headroom.resource == resource)?
            .alone
    }
}

/// The number of meetings like this one that a device carries, in the cheapest design.
pub fn capacity(device: &Device, meeting: &Meeting) -> Capacity {
    capacity_as(device, meeting, Design::of(meeting))
}

/// The number of meetings like this one that a device carries in a given design.
pub fn capacity_as(device: &Device, meeting: &Meeting, design: Design) -> Capacity {
    capacity_for(device, &Demand::of(device, meeting, design))
}

/// The number of meetings with this demand that a device carries.
///
/// Source: Scallop sections 6.2 and 8.4.
pub fn capacity_for(device: &Device, demand: &Demand) -> Capacity {
    let alone = |resource| {
        let (supply, units) = (device.supply(resource), demand.units(resource));
        match resource {
            Resource::ReplicaIds => (units > supply).then_some(0),
            _ => supply.checked_div(units),
        }
    };
    let bounds = Resource::ALL.map(|resource| (resource, alone(resource)));
    let tightest = bounds
        .iter()
        .filter_map(|(resource, alone)| Some(((*alone)?, *resource)))
        .min();
    let (meetings, binding) = tightest.unwrap_or((0, Resource::Meetings));
    let headroom = bounds.map(|(resource, alone)| {
        let times = if resource == Resource::ReplicaIds {
            meetings.min(1)
        } else {
            meetings
        };
        Headroom {
            resource,
            alone,
            left: device.supply(resource) - times * demand.units(resource),
        }
    });
    Capacity {
        meetings,
        binding,
        headroom,
    }
}
