//! Checks of the addresses in a description.

use std::net::{IpAddr, SocketAddr};

use super::{Context, Refused};
use crate::counters::Counter;

impl Context<'_> {
    /// Whether a party at this interface may have these addresses.
    pub(crate) fn check(&mut self, interface: usize, addresses: &[SocketAddr]) -> Result<(), Refused> {
        let from = self.ports.address_of(interface);
        let permits = |to: &SocketAddr| self.config.destinations.permit(from, *to);
        self.permitted(addresses.iter().all(permits))
    }

    /// Whether a description to a party at this interface may have this address as ours.
    pub(super) fn check_kind(&mut self, interface: usize, ours: IpAddr) -> Result<(), Refused> {
        let from = self.ports.address_of(interface);
        self.permitted(self.config.destinations.permit_kind(from, ours))
    }

    fn permitted(&mut self, is_permitted: bool) -> Result<(), Refused> {
        if is_permitted {
            return Ok(());
        }
        self.counters.count(Counter::AddressRefused);
        Err(Refused::Address)
    }
}
