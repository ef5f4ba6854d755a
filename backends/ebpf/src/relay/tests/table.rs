//! The choice of relays that the kernel takes, tested on simulated tables.

use std::collections::BTreeMap;
use std::io;

use dataplane::{MasterKey, Reason, Refused, SrtpProfile};

use super::super::table::{Table, Tables};
use super::*;
use crate::layout::relay as layout;
use crate::layout::relay::Traffic;

/// Tables in memory. `Err` is a kernel that does not answer.
#[derive(Default)]
struct Pretended {
    relays: BTreeMap<SocketAddr, layout::Relay>,
    is_gone: bool,
}

impl Pretended {
    fn answer(&self) -> io::Result<()> {
        match self.is_gone {
            true => Err(io::Error::from_raw_os_error(libc::EBADF)),
            false => Ok(()),
        }
    }
}

impl Tables for Pretended {
    fn insert(&mut self, at: SocketAddr, relay: &layout::Relay) -> io::Result<()> {
        self.answer()?;
        self.relays.insert(at, *relay);
        Ok(())
    }

    fn remove(&mut self, at: SocketAddr, _: u32) -> io::Result<()> {
        self.answer()?;
        self.relays
            .remove(&at)
            .map(drop)
            .ok_or(io::Error::from_raw_os_error(libc::ENOENT))
    }

    fn traffic(&self, slot: u32) -> io::Result<Traffic> {
        self.answer()?;
        Ok(Traffic {
            packets: slot.into(),
            ..Traffic::default()
        })
    }

    fn is_ours(&self, ip: IpAddr) -> bool {
        ip.is_loopback()
    }

    fn clear(&mut self, _: u32) -> io::Result<()> {
        self.answer()
    }
}

fn port(number: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], number))
}

/// From one port to another.
fn relay(from: u16) -> Relay {
    let hop = Hop {
        path: Path {
            local: port(from),
            remote: ([10, 0, 0, 3], 9).into(),
        },
        egress_protection: RelayProtection::Clear,
        tos: None,
    };
    Relay {
        accept: Accept::Only(([10, 0, 0, 2], 9).into()),
        ingress_protection: RelayProtection::Clear,
        terminated: false,
        rtp: Some(hop.clone()),
        rtcp: Some(hop),
    }
}

fn table(slots: u32) -> Table<Pretended> {
    Table::new(Pretended::default(), slots, Vec::new())
}

type Change<'a> = &'a dyn Fn(&mut Relay);

#[test]
fn relays_that_the_kernel_cannot_take_are_refused_with_a_reason() {
    let key = MasterKey::new(SrtpProfile::AeadAes128Gcm, &[1; 16], &[2; 12]).unwrap();
    let changes: [(Change<'_>, Reason); 12] = [
        (&|relay| relay.accept = Accept::Nobody, Reason::Sources),
        (
            &|relay| {
                relay.accept = Accept::Learn {
                    within: None,
                    window: 0,
                    rtp_only: false,
                }
            },
            Reason::Sources,
        ),
        (&|relay| relay.terminated = true, Reason::Terminated),
        (&|relay| relay.rtp = None, Reason::NoMedia),
        (
            &|relay| relay.ingress_protection = RelayProtection::Pending,
            Reason::Srtp,
        ),
        (
            &|relay| relay.ingress_protection = RelayProtection::Srtp(key.clone()),
            Reason::Srtp,
        ),
        (
            &|relay| relay.rtp.as_mut().unwrap().egress_protection = RelayProtection::Pending,
            Reason::Srtp,
        ),
        (
            &|relay| relay.rtp.as_mut().unwrap().egress_protection = RelayProtection::Srtp(key.clone()),
            Reason::Srtp,
        ),
        (
            &|relay| relay.rtp.as_mut().unwrap().path.remote = "[fd77::1]:1".parse().unwrap(),
            Reason::Families,
        ),
        (
            &|relay| relay.rtp.as_mut().unwrap().path.remote = "224.0.0.1:1".parse().unwrap(),
            Reason::Addresses,
        ),
        (
            &|relay| relay.rtp.as_mut().unwrap().path.local = "0.0.0.0:1".parse().unwrap(),
            Reason::Addresses,
        ),
        (
            &|relay| relay.accept = Accept::Only("[fe80::1]:1".parse().unwrap()),
            Reason::Addresses,
        ),
    ];
    for (change, reason) in changes {
        let mut table = table(4);
        table.set(port(2), &relay(1)).unwrap();
        table.set(port(1), &relay(2)).unwrap();
        assert_eq!(table.len(), 2);
        let mut refused = relay(2);
        change(&mut refused);
        assert_eq!(table.set(port(1), &refused), Err(Refused::Unsupported(reason)));
        // The earlier entry is removed, but its port stays in the table.
        assert_eq!(table.tables.relays.keys().collect::<Vec<_>>(), [&port(2)]);
        table.set(port(1), &relay(2)).unwrap();
        assert_eq!(table.len(), 2);
    }
}

#[test]
fn a_table_that_is_full_takes_no_more_until_there_is_room() {
    let mut table = table(2);
    table.set(port(1), &relay(1)).unwrap();
    table.set(port(2), &relay(2)).unwrap();
    assert_eq!(table.set(port(3), &relay(3)), Err(Refused::Full));
    table.set(port(2), &relay(1)).unwrap();
    table.remove(port(1));
    table.set(port(3), &relay(3)).unwrap();
    assert_eq!(
        table.tables.relays.keys().collect::<Vec<_>>(),
        [&port(3)],
        "2 leaves from 1, which is gone"
    );
}

#[test]
fn a_kernel_that_does_not_answer_is_gone() {
    let mut table = table(2);
    table.set(port(1), &relay(1)).unwrap();
    table.tables.is_gone = true;
    assert_eq!(table.set(port(2), &relay(2)), Err(Refused::Gone));
    assert_eq!(table.traffic(port(1)), None);
    table.remove(port(1));
}

#[test]
fn found_relays_stay_until_the_sweep_and_longer_if_offered() {
    let found: Vec<_> = [(1, 2), (2, 1), (3, 4), (5, 1)]
        .into_iter()
        .map(|(at, from)| {
            let entry = layout::Relay {
                slot: u32::from(at) - 1,
                accept: SocketAddr::from(([10, 0, 0, 2], 9)).into(),
                from: port(from).into(),
                to: SocketAddr::from(([10, 0, 0, 3], 9)).into(),
                tos: 0,
                version: 0,
                here: 0,
                at: port(at).into(),
            };
            (port(at), entry)
        })
        .collect();
    let tables = Pretended {
        relays: found.iter().copied().collect(),
        is_gone: false,
    };
    let mut table = Table::new(tables, 8, found);
    assert_eq!((table.len(), table.unconfirmed()), (4, 4));
    // The first of a pair is offered before the second: nothing is interrupted.
    table.set(port(1), &relay(2)).unwrap();
    assert_eq!((table.len(), table.unconfirmed()), (4, 3));
    // Port 4 was not the kernel's; it may still come.
    table.set(port(3), &relay(4)).unwrap();
    assert_eq!(table.len(), 4);
    assert_eq!(table.traffic(port(3)).unwrap().packets, 2, "it counts on where it did");
    table.sweep();
    assert_eq!(
        (table.len(), table.unconfirmed()),
        (0, 0),
        "1 leaves from 2, which nobody offered"
    );
    table.set(port(2), &relay(1)).unwrap();
    table.set(port(4), &relay(3)).unwrap();
    assert_eq!(table.len(), 4);
}
