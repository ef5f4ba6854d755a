//! Statistics for dashboards.

use std::time::Duration;

use sip::Input;
use sip::ng::value::{Dictionary, Value};
use southbound::relay::{RelayNotice, Traffic};

use crate::support::*;

fn told(setup: &mut Setup) -> Dictionary {
    let reply = setup.ask(Dictionary::default().with("command", "statistics"));
    dictionary(&reply, &["statistics"]).clone()
}

fn number(told: &Dictionary, part: &str, name: &str) -> Option<i64> {
    dictionary(told, &[part]).value(name).and_then(Value::integer)
}

fn text(told: &Dictionary, part: &str, name: &str) -> String {
    let part = dictionary(told, &[part]);
    String::from_utf8_lossy(part.text(name).unwrap_or_default()).into_owned()
}

fn arrived(setup: &mut Setup, at: std::net::SocketAddr, packets: u64) {
    let traffic = Traffic {
        packets,
        bytes: 172 * packets,
        errors: 0,
        ..Traffic::default()
    };
    let idle = Some(Duration::ZERO);
    setup.tell(Input::Notice(RelayNotice::Traffic { at, traffic, idle }));
}

#[test]
fn statistics_have_durations_of_ended_calls_and_silent_streams() {
    let mut setup = Setup::new();
    // One with packets both ways, one with packets one way, one without any.
    for (call, [from_a, from_b], seconds) in [("both", [50, 50], 10), ("one", [50, 0], 20), ("none", [0, 0], 30)] {
        let name = || Dictionary::default().with("call-id", call);
        let offer = setup.describe("offer", &phone("192.0.2.1", 6004), name());
        let answer = setup.describe("answer", &phone("192.0.2.2", 6000), name().with("to-tag", "b"));
        setup.pass(Duration::from_secs(seconds));
        arrived(&mut setup, local(&answer), from_a);
        arrived(&mut setup, local(&offer), from_b);
        setup.ask(request("delete", None, name()));
    }
    let told = told(&mut setup);
    let total = |name| number(&told, "totalstatistics", name);
    assert_eq!(
        (total("managedsessions"), total("regularterminatedsessions")),
        (Some(3), Some(3))
    );
    assert_eq!((total("onewaystreams"), total("zerowaystreams")), (Some(1), Some(1)));
    assert_eq!(
        (total("relayedpackets"), total("relayedbytes")),
        (Some(150), Some(150 * 172))
    );
    let duration = |name| text(&told, "totalstatistics", name);
    assert_eq!(
        (
            duration("avgcallduration"),
            duration("totalcallsduration"),
            duration("totalcallsduration2")
        ),
        ("20.000000".into(), "60.000000".into(), "1400.000000".into())
    );
    assert_eq!(duration("totalcallsduration_stddev"), "8.164966");
}

#[test]
fn statistics_have_requests_of_each_proxy_and_numbers_of_ports() {
    let mut setup = Setup::new();
    setup.call();
    setup.ask(request("query", None, Dictionary::default().with("call-id", "x")));
    let told = told(&mut setup);
    let control = dictionary(&told, &["controlstatistics"]);
    let Some(Value::List(proxies)) = control.value("proxies") else {
        panic!("a list: {control:?}");
    };
    let Some(Value::Dictionary(proxy)) = proxies.first() else {
        panic!("one: {proxies:?}");
    };
    let count = |name: &str| proxy.value(name).and_then(Value::integer);
    assert_eq!(
        ["offercount", "answercount", "querycount", "errorcount"].map(count),
        [Some(1), Some(1), Some(1), Some(1)]
    );
    assert!(proxy.text("offerduration").is_some() && proxy.text("proxy").is_some());
    let Some(Value::List(interfaces)) = told.value("interfaces") else {
        panic!("a list");
    };
    let Some(Value::Dictionary(interface)) = interfaces.first() else {
        panic!("one");
    };
    let ports = dictionary(interface, &["ports"]);
    let ports = ["min", "max", "used", "free", "totals"].map(|name| ports.value(name).and_then(Value::integer));
    assert_eq!(ports, [40_000, 40_999, 4, 996, 1_000].map(Some));
}

#[test]
fn intervals_are_of_the_last_minute() {
    let mut setup = Setup::new();
    setup.call();
    setup.ask(request("delete", None, Dictionary::default()));
    setup.pass(Duration::from_secs(60));
    let told = told(&mut setup);
    let interval = |name| number(&told, "intervalstatistics", name);
    assert_eq!(
        (interval("minmanagedsessions"), interval("maxmanagedsessions")),
        (Some(0), Some(1))
    );
    assert_eq!(
        (interval("maxofferrequestrate"), interval("minofferrequestrate")),
        (Some(1), Some(0))
    );
    for name in [
        "minofferdelay",
        "maxanswerdelay",
        "avgdeletedelay",
        "totalcallsduration",
    ] {
        assert!(!text(&told, "intervalstatistics", name).is_empty(), "{name}");
    }
}
