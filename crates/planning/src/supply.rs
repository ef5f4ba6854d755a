/// A resource of a device, and the units of it that one meeting needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supply {
    /// The name of the resource.
    pub resource: &'static str,
    /// The unit in which it is counted.
    pub unit: &'static str,
    /// The units that the device has. `u64::MAX` stands for more than can be used up.
    pub supply: u64,
    /// The units that one meeting needs.
    pub each: u64,
    /// Whether the needs of meetings add up. Otherwise each meeting has the whole supply.
    pub adds_up: bool,
}

impl Supply {
    /// A resource that meetings share.
    pub(crate) fn new(resource: &'static str, unit: &'static str, supply: u64, each: u64) -> Self {
        Self {
            resource,
            unit,
            supply,
            each,
            adds_up: true,
        }
    }

    /// Meetings that this resource alone would allow; `None` if they do not use it up.
    pub fn alone(&self) -> Option<u64> {
        match self.adds_up {
            true => self.supply.checked_div(self.each),
            false => (self.each > self.supply).then_some(0),
        }
    }
}
