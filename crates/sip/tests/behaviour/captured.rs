//! Dialogues between Kamailio 5.6.3 and its relays, captured, and replayed byte for byte except for
//! a relay's choices: its ports.

use sip::Request;
use sip::ng::value::{Dictionary, Value};
use sip::ng::{Encoding, split};

use crate::support::Setup;

/// Requests and the replies to them, out of lines like `>>> b'1_1 V'` and `<<< b'1_1 20040107\n'`.
fn dialogue(text: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let lines: Vec<(&str, Vec<u8>)> = text.lines().map(|line| (&line[..3], bytes(&line[4..]))).collect();
    let pairs = lines.chunks(2).map(|pair| match pair {
        [(">>>", request), ("<<<", reply)] => (request.clone(), reply.clone()),
        other => panic!("not a request and its reply: {other:?}"),
    });
    pairs.collect()
}

/// The bytes of a literal like `b'\r\n'`.
fn bytes(literal: &str) -> Vec<u8> {
    let inside = literal
        .trim()
        .strip_prefix("b'")
        .and_then(|rest| rest.strip_suffix('\''))
        .expect("a literal");
    let mut letters = inside.chars();
    let mut bytes = Vec::new();
    while let Some(letter) = letters.next() {
        let byte = match (letter, if letter == '\\' { letters.next() } else { None }) {
            ('\\', Some('r')) => b'\r',
            ('\\', Some('n')) => b'\n',
            ('\\', other) => panic!("an escape that the captures do not have: {other:?}"),
            (letter, _) => u8::try_from(letter).expect("ASCII"),
        };
        bytes.push(byte);
    }
    bytes
}

/// The same reply with other ports of ours.
fn without_ports(reply: &[u8]) -> String {
    let (cookie, payload) = split(reply).expect("a cookie");
    let (value, used) = Encoding::Bencode.decode(payload).expect("bencode");
    assert_eq!(used, payload.len());
    let mut again = [cookie, b" "].concat();
    Encoding::Bencode.encode(&masked("", &value), &mut again);
    String::from_utf8(again).expect("text")
}

fn masked(key: &str, value: &Value) -> Value {
    match value {
        Value::Integer(_) if key == "local port" => Value::from(0_u64),
        Value::Text(text) if key == "sdp" => {
            let text = String::from_utf8_lossy(text);
            Value::from(text.split_inclusive("\r\n").map(masked_line).collect::<String>())
        }
        Value::List(list) => Value::List(list.iter().map(|value| masked("", value)).collect()),
        Value::Dictionary(dictionary) => {
            let mut other = Dictionary::default();
            dictionary
                .iter()
                .for_each(|(key, value)| other.push(key, masked(&String::from_utf8_lossy(key), value)));
            other.into()
        }
        other => other.clone(),
    }
}

fn masked_line(line: &str) -> String {
    match line.split_once(' ') {
        _ if line.starts_with("a=rtcp:") => "a=rtcp:PORT\r\n".to_owned(),
        Some(("m=audio", rest)) => format!("m=audio PORT{}", &rest[rest.find(' ').expect("a protocol")..]),
        _ => line.to_owned(),
    }
}

#[test]
fn kamailio_finds_its_rtpengine() {
    let mut setup = Setup::new();
    for (request, expected) in dialogue(include_str!("captured/kamailio-rtpengine.txt")) {
        let reply = setup
            .say(Request::Ng {
                from: None,
                message: &request,
            })
            .expect("an answer");
        assert_eq!(
            without_ports(&reply),
            without_ports(&expected),
            "to {}",
            String::from_utf8_lossy(&request)
        );
    }
}

/// There are two differences from the captured relay: only supported features are announced (there
/// is no repacketising, 20071116), and a repeated answer gets the same port again.
#[test]
fn kamailio_finds_its_rtpproxy() {
    let mut setup = Setup::new();
    let mut port_of_answers = None;
    for (request, expected) in dialogue(include_str!("captured/kamailio-rtpproxy.txt")) {
        let reply = setup
            .say(Request::Rtpproxy {
                from: None,
                message: &request,
            })
            .expect("an answer");
        let [request, expected, reply] =
            [request, expected, reply].map(|bytes| String::from_utf8(bytes).expect("text"));
        let words: Vec<&str> = expected.trim_end().split(' ').collect();
        let expected = match words.as_slice() {
            [cookie, "1"] if request.ends_with("VF 20071116") => format!("{cookie} 0\n"),
            [cookie, _, address] => {
                let port = reply.split(' ').nth(1).expect("a port");
                if request.contains(" Lc0 ") {
                    assert_eq!(*port_of_answers.get_or_insert(port.to_owned()), port);
                }
                format!("{cookie} {port} {address}\n")
            }
            _ => expected,
        };
        assert_eq!(reply, expected, "to {request}");
    }
}

#[test]
fn a_repeated_cookie_gets_the_same_bytes_for_any_command() {
    let mut setup = Setup::new();
    let first = setup.say(Request::Ng {
        from: None,
        message: b"1_1 d7:command4:pinge",
    });
    let again = setup.say(Request::Ng {
        from: None,
        message: b"1_1 nonsense",
    });
    assert_eq!(
        (first.as_deref(), first == again),
        (Some(&b"1_1 d6:result4:ponge"[..]), true)
    );
    let first = setup.say(Request::Rtpproxy {
        from: None,
        message: b"1_1 V",
    });
    let again = setup.say(Request::Rtpproxy {
        from: None,
        message: b"1_1 X",
    });
    assert_eq!((first.as_deref(), first == again), (Some(&b"1_1 20040107\n"[..]), true));
    assert_eq!(setup.count(sip::Counter::CookieRepeated), 2);
}
