//! The sender's side of one section of a description.

use std::net::{IpAddr, SocketAddr};

use wire::sdp::Direction;

use super::super::{Context, Heard, Refused, Terms};
use crate::counters::Counter;
use crate::sdp::{Section, TELEPHONE_CLOCK};

/// The direction to write for a section. A sender may also hold it by its address; then it receives
/// no media, and may send.
pub(super) fn said_direction(said: Direction, holds: bool) -> Direction {
    match said {
        Direction::SendRecv if holds => Direction::SendOnly,
        Direction::RecvOnly if holds => Direction::Inactive,
        said => said,
    }
}

/// The address at which the sender of a relayed section wants media.
/// The party is at this interface of ours.
pub(super) fn hear(
    section: &Section<'_>,
    interface: usize,
    terms: &Terms,
    context: &mut Context<'_>,
) -> Result<Heard, Refused> {
    let trusts = terms.trust_address.unwrap_or(!context.config.sip_source) || section.ice.is_some();
    let said = section.address.filter(|address| trusts || address.is_unspecified());
    let address = said.or(terms.received_from).or(section.address).ok_or_else(|| {
        context.counters.count(Counter::SdpNoAddress);
        Refused::NoAddress
    })?;
    let rtp = SocketAddr::new(address, section.port);
    // Browsers always write 0.0.0.0 there, with the port for none.
    let says_nowhere = |other: Option<IpAddr>| other.is_some_and(|other| other.is_unspecified());
    let rtcp = match section.rtcp {
        Some((port, other)) if port != 0 && !says_nowhere(other) => {
            SocketAddr::new(other.filter(|_| trusts).unwrap_or(address), port)
        }
        _ => SocketAddr::new(address, section.port.saturating_add(1)),
    };
    context.check(interface, &[rtp, rtcp])?;
    Ok(Heard {
        rtp,
        rtcp,
        direction: section.direction,
        ice: section.ice.clone(),
        ice_lite: section.ice_lite,
        clock_rate: section.clock_rate().unwrap_or(TELEPHONE_CLOCK),
        received: terms.received_from,
        is_opportunistic: section.is_opportunistic(),
    })
}
