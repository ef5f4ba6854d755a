//! The relays that the switch can take, and their entries.

use std::net::SocketAddr;

use dataplane::{Accept, Reason, Relay, RelayProtection};

use crate::P4Config;
use crate::address::{is_one_machines, pair, way};
use crate::entry::{Key, Table};

/// A relay's entry, but for its counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    pub key: Key,
    /// The local port that packets are sent from.
    pub from: SocketAddr,
    data: Vec<u128>,
}

impl Planned {
    /// Its parameters, with this counter.
    pub(super) fn data(&self, index: u16) -> Vec<u128> {
        [&[u128::from(index)][..], &self.data].concat()
    }
}

/// The entry of a relay. RTCP is not part of it: the base forwards RTCP.
///
/// Errors: the feature that only the base has.
pub(super) fn plan(config: &P4Config, at: SocketAddr, relay: &Relay) -> Result<Planned, Reason> {
    let Accept::Only(accept) = relay.accept else {
        return Err(Reason::Sources);
    };
    if relay.terminated {
        return Err(Reason::Terminated);
    }
    let hop = relay.rtp.as_ref().ok_or(Reason::NoMedia)?;
    if relay.ingress_protection != RelayProtection::Clear || hop.egress_protection != RelayProtection::Clear {
        return Err(Reason::Srtp);
    }
    let (from, to) = (hop.path.local, hop.path.remote);
    let addresses = [at, accept, from, to];
    let is_reachable = config.is_of_host(at.ip()) && config.next_hop(to.ip()).is_some();
    if !is_reachable || !addresses.iter().all(|address| is_one_machines(address.ip())) {
        return Err(Reason::Addresses);
    }
    if !addresses.iter().all(|address| address.is_ipv4() == at.is_ipv4()) {
        return Err(Reason::Families);
    }
    // A socket of the base without services sends zero, whatever has arrived.
    let tos = [1, u128::from(hop.tos.unwrap_or(0))];
    Ok(Planned {
        key: Key::Entry(Table::Relay, way(accept, at)),
        from,
        data: [pair(from), pair(to), tos].concat(),
    })
}

#[cfg(test)]
mod tests {
    use dataplane::{Hop, Path};

    use super::*;
    use crate::config::tests::config;

    fn relay() -> (SocketAddr, Relay) {
        let address = |text: &str| text.parse::<SocketAddr>().unwrap();
        let path = Path {
            local: address("10.0.1.9:30002"),
            remote: address("10.0.3.5:5004"),
        };
        let hop = Hop {
            path,
            egress_protection: RelayProtection::Clear,
            tos: Some(0xb8),
        };
        let relay = Relay {
            accept: Accept::Only(address("10.0.2.5:4000")),
            ingress_protection: RelayProtection::Clear,
            terminated: false,
            rtp: Some(hop.clone()),
            rtcp: Some(hop),
        };
        (address("10.0.1.9:30000"), relay)
    }

    #[test]
    fn a_relay_is_one_entry() {
        let (at, relay) = relay();
        let planned = plan(&config(), at, &relay).unwrap();
        let ip = |last: [u8; 4]| 0xffff_0000_0000 | u128::from(u32::from_be_bytes(last));
        let (a, b, own) = (ip([10, 0, 2, 5]), ip([10, 0, 3, 5]), ip([10, 0, 1, 9]));
        assert_eq!(planned.key, Key::Entry(Table::Relay, vec![a, 4000, own, 30_000]));
        assert_eq!(planned.data(7), [7, own, 30_002, b, 5004, 1, 0xb8]);
    }

    #[test]
    fn a_relay_without_services_sends_none() {
        let (at, mut relay) = relay();
        relay.rtp.as_mut().unwrap().tos = None;
        assert_eq!(plan(&config(), at, &relay).unwrap().data(7)[5..], [1, 0]);
    }

    #[test]
    fn each_relay_that_the_switch_cannot_take_has_a_reason() {
        type Change = fn(&mut Relay);
        let cases: [(Change, Reason); 8] = [
            (|relay| relay.accept = Accept::Nobody, Reason::Sources),
            (
                |relay| {
                    relay.accept = Accept::Learn {
                        within: None,
                        window: 1,
                        rtp_only: false,
                    }
                },
                Reason::Sources,
            ),
            (|relay| relay.terminated = true, Reason::Terminated),
            (|relay| relay.rtp = None, Reason::NoMedia),
            (
                |relay| relay.ingress_protection = RelayProtection::Pending,
                Reason::Srtp,
            ),
            (
                |relay| relay.rtp.as_mut().unwrap().path.remote = "0.0.0.0:9".parse().unwrap(),
                Reason::Addresses,
            ),
            (
                |relay| relay.rtp.as_mut().unwrap().path.remote = "[2001:db9::1]:9".parse().unwrap(),
                Reason::Addresses,
            ),
            (
                |relay| relay.rtp.as_mut().unwrap().path.remote = "[2001:db8:3::1]:9".parse().unwrap(),
                Reason::Families,
            ),
        ];
        for (change, reason) in cases {
            let (at, mut relay) = relay();
            change(&mut relay);
            assert_eq!(plan(&config(), at, &relay).err(), Some(reason));
        }
    }
}
