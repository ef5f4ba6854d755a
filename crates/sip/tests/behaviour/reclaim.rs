//! What gives way when there are no more ports or calls.

use sip::ng::value::Dictionary;
use sip::{Config, Counter};

use crate::support::*;

#[test]
fn unanswered_calls_of_an_address_give_way_to_those_of_others() {
    let named = |number: u16| Dictionary::default().with("call-id", format!("call-{number}"));
    let offer = |from: &str, number: u16| request("offer", Some(&phone(from, 7000)), named(number));
    let ports = Config::new(vec![interface("a", "127.0.0.1", 5000..=5011)]);
    let calls = Config {
        calls_max: 3,
        ..Config::new(vec![interface("a", "127.0.0.1", 5000..=5099)])
    };
    for config in [ports, calls] {
        let mut setup = Setup::with(config);
        let is_done = |reply: &Dictionary| reply.text("result") == Some(b"ok");
        for number in 0..3 {
            assert!(is_done(&setup.ask(offer("192.0.2.66", number))));
        }
        assert!(!is_done(&setup.ask(offer("192.0.2.1", 3))), "they may be answered yet");
        setup.pass(sip::limits::UNANSWERED_MIN);
        assert!(!is_done(&setup.ask(offer("192.0.2.66", 3))), "its own calls stay");
        assert!(is_done(&setup.ask(offer("192.0.2.1", 3))));
        assert!(is_done(&setup.ask(offer("192.0.2.1", 4))));
        assert!(
            !is_done(&setup.ask(offer("192.0.2.1", 5))),
            "it has the most itself now"
        );
        assert_eq!((setup.count(Counter::CallsEvicted), setup.relay.calls()), (2, 3));
    }
}
