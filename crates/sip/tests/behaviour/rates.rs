//! Rates of relayed traffic.

use std::time::Duration;

use sip::ng::value::{Dictionary, Value};
use southbound::relay::{Offloaded, Traffic};

use crate::support::*;

fn rate(setup: &mut Setup, name: &str) -> Option<i64> {
    let reply = setup.ask(Dictionary::default().with("command", "statistics"));
    let current = dictionary(&reply, &["statistics", "currentstatistics"]);
    current.value(name).and_then(Value::integer)
}

#[test]
fn rates_are_those_of_the_last_round_while_somebody_watches() {
    let mut setup = Setup::new();
    let [answer, _] = setup.call().map(|sdp| local(&sdp));
    let mut packets = 0;
    let mut talk = |setup: &mut Setup, seconds: u64| {
        for _ in 0..seconds {
            packets += 50;
            let traffic = Traffic {
                packets,
                bytes: 172 * packets,
                errors: 0,
                ..Traffic::default()
            };
            setup.relays(answer, traffic);
            setup.pass(Duration::from_secs(1));
        }
    };
    talk(&mut setup, 30);
    assert_eq!(rate(&mut setup, "packetrate"), Some(0), "nobody has asked before");
    talk(&mut setup, 20);
    assert_eq!(rate(&mut setup, "packetrate"), Some(50));
    assert_eq!(rate(&mut setup, "byterate"), Some(50 * 172));
    talk(&mut setup, 200);
    assert_eq!(rate(&mut setup, "packetrate"), Some(0), "nobody has watched");
    assert_eq!(rate(&mut setup, "errorrate"), Some(0));
}

#[test]
fn traffic_is_divided_between_user_space_and_kernel() {
    let mut setup = Setup::new();
    let [answer, _] = setup.call().map(|sdp| local(&sdp));
    rate(&mut setup, "packetrate");
    let mut packets = 0;
    for _ in 0..15 {
        packets += 50;
        let offloaded = Offloaded {
            packets: packets - packets / 5,
            bytes: 172 * (packets - packets / 5),
            errors: 2,
        };
        let traffic = Traffic {
            packets,
            bytes: 172 * packets,
            errors: 3,
            offloaded,
            ..Traffic::default()
        };
        setup.relays(answer, traffic);
        setup.pass(Duration::from_secs(1));
    }
    let rates = [
        "packetrate_user",
        "packetrate_kernel",
        "byterate_user",
        "byterate_kernel",
    ];
    let rates = rates.map(|name| rate(&mut setup, name));
    assert_eq!(rates, [Some(10), Some(40), Some(10 * 172), Some(40 * 172)]);
    setup.pass(Duration::from_secs(5));
    let reply = setup.ask(Dictionary::default().with("command", "statistics"));
    let total = dictionary(&reply, &["statistics", "totalstatistics"]);
    let total = |name: &str| total.value(name).and_then(Value::integer);
    for (name, value) in [
        ("relayedpackets", 750),
        ("relayedpackets_user", 150),
        ("relayedpackets_kernel", 600),
        ("relayedbytes_user", 150 * 172),
        ("relayedbytes_kernel", 600 * 172),
        ("relayedpacketerrors_user", 1),
        ("relayedpacketerrors_kernel", 2),
    ] {
        assert_eq!(total(name), Some(value), "{name}");
    }
}
