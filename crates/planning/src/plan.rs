use std::cmp::Reverse;

use serde::Serialize;

use crate::file::DeviceFile;
use crate::mix::Mix;

/// A mix of meetings on devices of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// The name of the device.
    pub device: String,
    /// The source of its numbers.
    pub source: String,
    /// The part of the numbers that no measurement has.
    pub note: Option<String>,
    /// Meetings of the mix.
    pub wanted: u64,
    /// Meetings, in the mix's proportions, that one device carries.
    pub meetings: u64,
    /// The resource that allows no more.
    pub binding: &'static str,
    /// Devices for the whole mix; `None` if they cannot carry it.
    pub devices: Option<u64>,
    /// Every resource.
    pub resources: Vec<Used>,
}

/// One resource of the devices that carry a mix.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Used {
    /// The name of the resource.
    pub resource: &'static str,
    /// The unit in which it is counted.
    pub unit: &'static str,
    /// The units that one device has; `None` for more than can be used up.
    pub supply: Option<u64>,
    /// The units that the whole mix needs.
    pub used: u64,
    /// Meetings that this resource alone would allow on one device; `None` if they do not use it
    /// up.
    pub alone: Option<u64>,
    /// The percentage that is left of it on all the devices for the mix.
    pub headroom_percent: Option<f64>,
}

impl Plan {
    /// Plans a mix on one device.
    ///
    /// Needs of meetings add up, so this is exact for equal meetings. For others it is the number
    /// at which the resource is used up in the mix's proportions.
    pub fn new(device: &DeviceFile, mix: &Mix) -> Self {
        let wanted = mix.meetings();
        let mut resources: Vec<Sum> = Vec::new();
        for (count, kind) in &mix.kinds {
            let supplies = device.supplies(kind);
            resources.resize_with(supplies.len(), Sum::default);
            for (sum, supply) in resources.iter_mut().zip(supplies) {
                sum.add(*count, supply);
            }
        }
        // Of several that bind, the one that rules the mix out altogether.
        let bounds = resources.iter().enumerate();
        let bounds = bounds.filter_map(|(at, sum)| Some((sum.alone(wanted)?, Reverse(sum.is_absent()), at)));
        let (meetings, binding) = bounds
            .min()
            .map_or((0, "nothing"), |(meetings, _, at)| (meetings, resources[at].resource));
        let devices = (meetings > 0).then(|| wanted.div_ceil(meetings));
        let resources = resources.iter().map(|sum| sum.used(wanted, devices)).collect();
        Self {
            device: device.name.clone(),
            source: device.source.clone(),
            note: device.note(),
            wanted,
            meetings,
            binding,
            devices,
            resources,
        }
    }
}

/// A resource, with the needs of all meetings.
#[derive(Default)]
struct Sum {
    resource: &'static str,
    unit: &'static str,
    supply: u64,
    needed: u128,
    adds_up: bool,
}

impl Sum {
    fn add(&mut self, count: u64, supply: crate::Supply) {
        (self.resource, self.unit) = (supply.resource, supply.unit);
        (self.supply, self.adds_up) = (supply.supply, supply.adds_up);
        let each = u128::from(supply.each);
        self.needed = match supply.adds_up {
            true => self.needed + u128::from(count) * each,
            false => self.needed.max(each),
        };
    }

    /// Whether there is none of it, and some is needed.
    fn is_absent(&self) -> bool {
        self.supply == 0 && self.needed > 0
    }

    fn alone(&self, wanted: u64) -> Option<u64> {
        let supply = u128::from(self.supply);
        if !self.adds_up {
            return (self.needed > supply).then_some(0);
        }
        let meetings = (supply * u128::from(wanted)).checked_div(self.needed)?;
        (self.supply != u64::MAX).then(|| u64::try_from(meetings).unwrap_or(u64::MAX))
    }

    fn used(&self, wanted: u64, devices: Option<u64>) -> Used {
        let is_limited = self.supply != u64::MAX;
        let all = self.supply as f64 * if self.adds_up { devices.unwrap_or(1) as f64 } else { 1.0 };
        let headroom = 100.0 * (1.0 - self.needed as f64 / all);
        Used {
            resource: self.resource,
            unit: self.unit,
            supply: is_limited.then_some(self.supply),
            used: u64::try_from(self.needed).unwrap_or(u64::MAX),
            alone: self.alone(wanted),
            headroom_percent: (is_limited && self.supply > 0 && devices.is_some()).then_some(headroom),
        }
    }
}
