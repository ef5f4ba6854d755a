//! The hook of the relay program: in the driver if all can, else in the stack; and the packets that
//! pass there.

#![allow(clippy::disallowed_methods, reason = "tests wait in real time")]

mod support;

use std::net::{IpAddr, UdpSocket};
use std::time::Instant;

use backend_ebpf::{Attached, Counter, Hook, Pass, Path, RelayConfig, RelayOffload};
use dataplane::Offload;
use support::*;
use veth::{Pair, pair_or_skip};

const NEAR_V4: &str = "10.77.0.1";
const NEAR_V6: &str = "fd77::1";
const NEAR: [&str; 2] = ["10.79.0.1", "fd79::1"];
const FAR: [&str; 2] = ["10.79.0.2", "fd79::2"];

/// Puts an interface on the near end of the cable whose driver knows no XDP.
fn add_one_without_xdp(pair: &Pair) {
    for (side, words) in [
        (&pair.near, "link add stack0 link near0 type macvlan mode bridge"),
        (&pair.near, "address add 10.79.0.1/24 dev stack0"),
        (&pair.near, "address add fd79::1/64 dev stack0 nodad"),
        (&pair.near, "link set stack0 up"),
        (&pair.far, "address add 10.79.0.2/24 dev far0"),
        (&pair.far, "address add fd79::2/64 dev far0 nodad"),
    ] {
        side.ip(words).expect("it is ours");
    }
}

fn start(pair: &Pair, hook: Hook, interfaces: &[&str]) -> RelayOffload {
    let config = RelayConfig {
        interfaces: interfaces.iter().map(|name| (*name).to_owned()).collect(),
        hook,
        ..RelayConfig::default()
    };
    pair.near
        .run(|| RelayOffload::start(&config, Instant::now()).expect("this takes no more privilege than namespaces"))
}

/// Sends packets from one party to the other, all of which must come from our other port, without
/// userspace.
fn call(offload: &mut RelayOffload, parties: &Parties) {
    let before = offload.statistics().read()[Counter::Relayed];
    for from in 0..2 {
        offload
            .set(Instant::now(), parties.ours[from], &parties.relay(from))
            .expect("it is taken");
    }
    let mut buffer = [0; 2_000];
    for number in 0..100 {
        for from in 0..2 {
            let to = 1 - from;
            let packet = rtp(number, 172);
            parties.sockets[from].send_to(&packet, parties.ours[from]).unwrap();
            let (len, source) = parties.sockets[to].recv_from(&mut buffer).expect("it arrives");
            assert_eq!((&buffer[..len], source), (&packet[..], parties.ours[to]));
        }
    }
    assert_eq!(offload.statistics().read()[Counter::Relayed] - before, 200);
}

#[test]
fn the_stack_relays_for_a_driver_without_xdp() {
    let Some(pair) = cable_or_skip() else { return };
    add_one_without_xdp(&pair);
    let mut offload = start(&pair, Hook::Auto, &["stack0"]);
    assert!(offload.found()[0].to_string().starts_with("stack0: tc ("));
    for (near, far) in NEAR.iter().zip(FAR) {
        let parties = Parties::between(&pair, near.parse().unwrap(), far.parse().unwrap());
        call(&mut offload, &parties);
    }
}

#[test]
fn one_interface_without_xdp_puts_all_into_the_stack() {
    let Some(pair) = cable_or_skip() else { return };
    add_one_without_xdp(&pair);
    let mut offload = start(&pair, Hook::Auto, &["near0", "stack0"]);
    let attached: Vec<_> = offload.found().iter().map(|found| found.attached).collect();
    assert_eq!(attached, [Attached::Stack; 2]);
    // The failed attempt is undone: the driver can take a program.
    let _pass = pair.near.run(|| Pass::start("near0").expect("nobody is there"));
    for like in [IpAddr::from(pair.near.v4), pair.near.v6.into()] {
        call(&mut offload, &Parties::new(&pair, like));
    }
    // And from one interface to the other.
    let mut parties = Parties::new(&pair, pair.near.v4.into());
    let other = Parties::between(&pair, NEAR[0].parse().unwrap(), FAR[0].parse().unwrap());
    parties.theirs[1] = other.theirs[1];
    parties.ours[1] = other.ours[1];
    let [caller, _] = parties.sockets;
    let [_, called] = other.sockets;
    parties.sockets = [caller, called];
    call(&mut offload, &parties);
}

#[test]
fn xdp_is_used_on_request_even_where_it_saves_little() {
    let Some(pair) = cable_or_skip() else { return };
    add_one_without_xdp(&pair);
    for (hook, interface, wanted) in [
        (Hook::Auto, "near0", (Attached::Native, "in the driver")),
        (Hook::Xdp, "near0", (Attached::Native, "in the driver")),
        (Hook::Tc, "near0", (Attached::Stack, "in the stack")),
        (
            Hook::Xdp,
            "stack0",
            (Attached::Generic, "in the stack, as if in the driver"),
        ),
    ] {
        let offload = start(&pair, hook, &[interface]);
        assert_eq!(
            (offload.found()[0].attached, offload.path().to_string().as_str()),
            wanted
        );
    }
}

/// Calls between parties on this machine, with ports of ours at its own addresses.
#[test]
fn parties_on_this_machine_are_relayed_by_way_of_the_loopback() {
    let Some(pair) = pair_or_skip(1) else { return };
    let mut offload = start(&pair, Hook::WithoutGeneric, &["lo", "near0"]);
    let found: Vec<_> = offload
        .found()
        .iter()
        .map(|found| (found.interface.as_str(), found.path))
        .collect();
    assert!(found.contains(&("lo", Path::Stack)), "{found:?}");
    let own: [IpAddr; 4] = ["127.0.0.1", "::1", NEAR_V4, NEAR_V6].map(|address| address.parse().unwrap());
    for address in own {
        // The base has these ports, and gets nothing of this.
        let base = [40_000, 40_002].map(|port| pair.near.run(|| UdpSocket::bind((address, port)).expect("it is free")));
        let parties = Parties::beside(&pair, address);
        pair.near.run(|| call(&mut offload, &parties));
        for socket in base {
            socket.set_nonblocking(true).unwrap();
            assert!(socket.recv(&mut [0; 9]).is_err(), "{address}");
        }
        for at in parties.ours {
            offload.remove(Instant::now(), at);
        }
    }
}

/// Packets of no relay pass the loopback unchanged, however long they are.
#[test]
fn packets_of_no_relay_pass_the_loopback() {
    let Some(pair) = pair_or_skip(1) else { return };
    let _offload = start(&pair, Hook::WithoutGeneric, &["lo"]);
    pair.near.run(|| {
        let [one, other] = [0, 1].map(|_| UdpSocket::bind("127.0.0.1:0").expect("there are ports"));
        other.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut buffer = vec![0; 65_536];
        for len in [0, 1, 12, 172, 1_472, 1_501, 9_000, 65_507] {
            let sent = rtp(7, len.max(16))[..len].to_vec();
            one.send_to(&sent, other.local_addr().unwrap()).expect("it fits");
            let got = other.recv(&mut buffer).expect("it arrives");
            assert_eq!(buffer[..got], sent);
        }
    });
}

#[test]
fn an_interface_that_sends_nothing_is_relayed_in_the_stack() {
    let Some(pair) = pair_or_skip(1) else { return };
    pair.far.command("ethtool", "-K far0 tx off").expect("it is ours");
    for hook in [Hook::Auto, Hook::WithoutGeneric] {
        let mut offload = start(&pair, hook, &["near0"]);
        assert_eq!(
            offload.found()[0].to_string(),
            "near0: tc (near0 takes nothing to send from XDP programs)"
        );
        call(&mut offload, &Parties::new(&pair, pair.near.v4.into()));
    }
}

#[test]
fn an_interface_that_stops_sending_is_noticed() {
    let Some(pair) = pair_or_skip(1) else { return };
    pair.far.command("ethtool", "-K far0 tx off").expect("it is ours");
    let taking = pair.far.run(|| Pass::start("far0").expect("nobody is there"));
    let mut offload = start(&pair, Hook::Auto, &["near0"]);
    assert_eq!(offload.path(), Path::Driver);
    drop(taking);
    let whereabouts = offload.whereabouts();
    let begun = Instant::now();
    while whereabouts.found()[0].path == Path::Driver {
        assert!(begun.elapsed() < PATIENCE);
        pair.near.run(|| offload.next_written());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(
        whereabouts.found()[0].to_string(),
        "near0: tc (near0 takes nothing to send from XDP programs)"
    );
    call(&mut offload, &Parties::new(&pair, pair.near.v4.into()));
}

/// Two programs on the same interfaces, each with ports of its own.
#[test]
fn two_of_us_have_room_beside_each_other() {
    let Some(cable) = cable_or_skip() else { return };
    let mut first = start(&cable, Hook::WithoutGeneric, &["lo", "near0"]);
    let mut second = start(&cable, Hook::WithoutGeneric, &["lo", "near0"]);
    assert_eq!((first.path(), second.path()), (Path::Stack, Path::Stack));
    assert!(second.found().iter().any(|found| found.why_not.is_some()));
    let mut parties = Parties::new(&cable, cable.near.v4.into());
    call(&mut first, &parties);
    parties.ours = [41_000, 41_002].map(|port| (cable.near.v4, port).into());
    call(&mut second, &parties);
}
