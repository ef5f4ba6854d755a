//! Rates of relayed traffic.

use std::time::Duration;

use sip::ng::value::{Dictionary, Value};
use southbound::relay::Traffic;

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
