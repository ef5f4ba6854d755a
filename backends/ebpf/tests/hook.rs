//! Where packets meet the relay program: in the driver if all can, else in the stack; and what passes there.

#![allow(clippy::disallowed_methods, reason = "tests wait in real time")]

mod support;

use std::net::IpAddr;
use std::time::Instant;

use backend_ebpf::{Attached, Counter, Hook, Pass, RelayConfig, RelayOffload};
use dataplane::{Offload, Update};
use support::*;
use veth::Pair;

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
        .run(|| RelayOffload::start(&config, Instant::now()).expect("whoever may make namespaces may do this"))
}

/// Sends packets from one party to the other, all of which must come from our other port, without userspace.
fn call(offload: &mut RelayOffload, parties: &Parties) {
    let before = offload.statistics().read()[Counter::Relayed];
    for from in 0..2 {
        let update = Update::SetRelay(parties.ours[from], Box::new(parties.relay(from)));
        offload.offer(Instant::now(), &update).expect("it is taken");
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
fn where_a_driver_knows_no_xdp_the_stack_relays() {
    let Some(pair) = cable_or_skip() else { return };
    add_one_without_xdp(&pair);
    let mut offload = start(&pair, Hook::Auto, &["stack0"]);
    assert_eq!(offload.found()[0].to_string(), "stack0: tc");
    for (near, far) in NEAR.iter().zip(FAR) {
        let parties = Parties::between(&pair, near.parse().unwrap(), far.parse().unwrap());
        call(&mut offload, &parties);
    }
}

#[test]
fn one_interface_without_xdp_is_enough_for_all_to_be_in_the_stack() {
    let Some(pair) = cable_or_skip() else { return };
    add_one_without_xdp(&pair);
    let mut offload = start(&pair, Hook::Auto, &["near0", "stack0"]);
    let attached: Vec<_> = offload.found().iter().map(|found| found.attached).collect();
    assert_eq!(attached, [Attached::Stack; 2]);
    // What was tried is undone: there is room in the driver.
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
fn whoever_wants_xdp_gets_it_even_where_it_saves_little() {
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
