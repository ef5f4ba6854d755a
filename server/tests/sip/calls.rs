//! The course of calls.

use std::net::UdpSocket;
use std::time::Duration;

use serde_json::json;

use crate::phone::{Phone, converse, key, key_in, tag_in};
use crate::program::{Program, now};
use crate::proxy::Proxy;

const DELETE: &str = r#"{"command": "delete", "call-id": "c", "from-tag": "a", "delete-delay": 0}"#;

#[test]
fn a_call_goes_both_ways_is_counted_and_leaves_nothing() {
    let program = Program::start("");
    let mut proxy = Proxy::new(program.ng);
    let mut phones = Phone::two();
    proxy.call(&mut phones);
    assert_eq!(program.open_ports(), 4);
    converse(&mut phones, 50);

    phones[0].report(77);
    assert_eq!(phones[1].hear_rtcp().map(|bytes| bytes.len()), Some(28));
    std::thread::sleep(Duration::from_millis(30));
    phones[1].judge(1, 77, 26);
    assert_eq!(phones[0].hear_rtcp().map(|bytes| bytes.len()), Some(32));
    let query = json!({"command": "query", "call-id": "c"});
    let begun = now();
    let mut told = proxy.ask(&query);
    while told["SSRC"]["1"].is_null() && begun.elapsed() < Duration::from_secs(5) {
        told = proxy.ask(&query);
    }
    assert_eq!(told["totals"]["RTP"]["packets"], 100, "{told}");
    assert_eq!(told["totals"]["RTCP"]["packets"], 2);
    let sample = &told["SSRC"]["1"]["lowest MOS"];
    assert_eq!((&sample["packet loss"], &sample["jitter"]), (&json!(10), &json!(5)));
    let mos = sample["MOS"].as_i64().expect("a score");
    assert!((25..35).contains(&mos), "{sample}");

    let totals = proxy.ask(&serde_json::from_str(DELETE).expect("JSON"))["totals"].clone();
    assert_eq!(totals["RTP"]["bytes"], 100 * 172);
    program.await_closed();
    program.await_figure("weir_sip_calls", 0.0);
    program.await_figure("weir_dataplane_total{reason=\"relayed\"}", 102.0);
    assert_eq!(program.figure("weir_sip_mos_count"), 1.0);
}

#[test]
fn a_drain_takes_no_new_call_and_waits_for_the_others() {
    let mut program = Program::start("drain_timeout: 600\n");
    let mut proxy = Proxy::new(program.ng);
    let mut phones = Phone::two();
    proxy.call(&mut phones);
    program.terminate();
    let offer = json!({"command": "offer", "call-id": "d", "from-tag": "a", "sdp": phones[0].description()});
    let delete = json!({"command": "delete", "call-id": "d", "delete-delay": 0});
    let begun = now();
    let mut answer = proxy.ask(&offer);
    while answer["result"] == "ok" {
        assert!(begun.elapsed() < Duration::from_secs(20), "it takes new calls");
        proxy.ask(&delete);
        answer = proxy.ask(&offer);
    }
    assert_eq!(answer["error-reason"], "Parallel session limit reached", "{answer}");
    converse(&mut phones, 10);
    proxy.ask(&serde_json::from_str(DELETE).expect("JSON"));
    assert!(program.await_end());
}

#[test]
fn early_media_reaches_the_caller_and_no_packet_is_lost_after_the_answer() {
    let program = Program::start("");
    let mut proxy = Proxy::new(program.ng);
    let mut phones = Phone::two();
    let (port, _) = proxy.describe("offer", &phones[0].description(), json!({}));
    phones[1].send_to(port);
    for _ in 0..3 {
        let said = phones[1].speak();
        assert_eq!(phones[0].hear(), Some(said));
    }
    let (port, _) = proxy.describe("answer", &phones[1].description(), json!({}));
    phones[0].send_to(port);
    converse(&mut phones, 10);

    // The caller does not know yet with which key of ours it would be sealed.
    let mut phones = Phone::two();
    let (ours, line) = key(0x5a);
    let offer = phones[0].description_as("RTP/SAVP", &line);
    let id = json!({"call-id": "d", "transport-protocol": "RTP/AVP"});
    let (port, _) = proxy.describe("offer", &offer, id);
    phones[1].send_to(port);
    phones[1].speak();
    program.await_figure("weir_dataplane_total{reason=\"not_ready\"}", 1.0);
    let (port, protected) = proxy.describe("answer", &phones[1].description(), json!({"call-id": "d"}));
    phones[0].send_to(port);
    phones[0].protect(&ours, &key_in(&protected));
    converse(&mut phones, 10);
}

#[test]
fn the_same_by_lines_of_rtpproxy() {
    let program = Program::start("");
    let mut proxy = Proxy::new(program.rtpproxy);
    let mut phones = Phone::two();
    assert_eq!(proxy.line("V"), "20040107");
    let port = |answer: String| -> u16 { answer.split(' ').next().expect("a port").parse().expect("a port") };
    let [first, second] = [phones[0].port(), phones[1].port()];
    phones[1].send_to(port(proxy.line(&format!("Uc0 c 127.0.0.1 {first} a;1"))));
    phones[0].send_to(port(proxy.line(&format!("Lc0 c 127.0.0.1 {second} a;1 b;1"))));
    converse(&mut phones, 20);
    let counts = proxy.line("Q c a;1 b;1");
    assert_eq!(counts.split(' ').skip(1).collect::<Vec<_>>(), ["20", "20", "40", "0"]);
    assert_eq!(proxy.line("D c a b"), "0");
    // Packets that are already on their way still pass.
    std::thread::sleep(Duration::from_millis(500));
    phones[0].speak();
    assert!(phones[1].hears_nothing(), "it is over");
}

#[test]
fn a_phone_with_sdes_talks_to_one_without() {
    let program = Program::start("");
    let mut proxy = Proxy::new(program.ng);
    let mut phones = Phone::two();
    let (ours, line) = key(0x5a);
    let offer = phones[0].description_as("RTP/SAVP", &line);
    let (port, plain) = proxy.describe("offer", &offer, json!({"transport-protocol": "RTP/AVP"}));
    assert!(plain.contains("RTP/AVP") && !plain.contains("crypto"), "{plain}");
    phones[1].send_to(port);
    let (port, protected) = proxy.describe("answer", &phones[1].description(), json!({}));
    phones[0].send_to(port);
    phones[0].protect(&ours, &key_in(&protected));
    converse(&mut phones, 50);

    // The other way round, in a call of its own.
    let mut phones = Phone::two();
    let id = json!({"call-id": "d", "transport-protocol": "RTP/SAVP"});
    let (port, offered) = proxy.describe("offer", &phones[0].description(), id.clone());
    phones[1].send_to(port);
    let (theirs, line) = key(0x33);
    let line = line.replace("crypto:1", &format!("crypto:{}", tag_in(&offered)));
    let answer = phones[1].description_as("RTP/SAVP", &line);
    let (port, _) = proxy.describe("answer", &answer, id);
    phones[0].send_to(port);
    phones[1].protect(&theirs, &key_in(&offered));
    converse(&mut phones, 50);
}

#[test]
fn keys_of_both_ends_pass_unopened() {
    let program = Program::start("");
    let mut proxy = Proxy::new(program.ng);
    let mut phones = Phone::two();
    let ((first, line_of_first), (second, line_of_second)) = (key(1), key(2));
    let (port, _) = proxy.describe(
        "offer",
        &phones[0].description_as("RTP/SAVP", &line_of_first),
        json!({}),
    );
    phones[1].send_to(port);
    let answer = phones[1].description_as("RTP/SAVP", &line_of_second);
    let (port, _) = proxy.describe("answer", &answer, json!({}));
    phones[0].send_to(port);
    phones[0].protect(&first, &second);
    phones[1].protect(&second, &first);
    converse(&mut phones, 50);
}

#[test]
fn the_source_of_a_phone_is_learned_and_others_are_refused() {
    let program = Program::start("  learning_window: 0.2");
    let mut proxy = Proxy::new(program.ng);
    let mut phones = Phone::two();
    // It says it is where it is not, as one behind a translator does.
    let lies = phones[0]
        .description()
        .replace(&format!("m=audio {}", phones[0].port()), "m=audio 9");
    let (port, _) = proxy.describe("offer", &lies, json!({}));
    phones[1].send_to(port);
    let (port, _) = proxy.describe("answer", &phones[1].description(), json!({}));
    phones[0].send_to(port);
    let said = phones[0].speak();
    assert_eq!(phones[1].hear(), Some(said));
    std::thread::sleep(Duration::from_millis(400));
    converse(&mut phones, 10);
    let mut intruder = Phone::new(3);
    intruder.send_to(port);
    intruder.speak();
    assert!(phones[1].hears_nothing());
    program.await_figure("weir_dataplane_total{reason=\"foreign_source\"}", 1.0);
}

#[test]
fn ports_that_others_have_are_passed_over() {
    let program = Program::start("");
    let [first, last] = program.media;
    // Every second pair is somebody else's.
    let others: Vec<UdpSocket> = (first..=last)
        .filter(|port| port % 4 == 1)
        .map(|port| UdpSocket::bind(("127.0.0.1", port)).expect("it is free"))
        .collect();
    let mut proxy = Proxy::new(program.ng);
    for call in 0..4 {
        let id = json!({"call-id": format!("call {call}")});
        let mut phones = Phone::two();
        let (port, _) = proxy.describe("offer", &phones[0].description(), id.clone());
        phones[1].send_to(port);
        let (port, _) = proxy.describe("answer", &phones[1].description(), id);
        phones[0].send_to(port);
        converse(&mut phones, 3);
    }
    program.await_figure("weir_sip_ports", 16.0);
    assert!(program.figure("weir_sip_total{reason=\"ports_refused\"}") >= 1.0);
    assert_eq!(program.open_ports(), 16 + others.len());
}

#[test]
fn a_call_without_a_delete_ends_after_its_media() {
    let program = Program::start("  media_timeout: 1");
    let mut proxy = Proxy::new(program.ng);
    let mut phones = Phone::two();
    proxy.call(&mut phones);
    let begun = now();
    while begun.elapsed() < Duration::from_millis(2_500) {
        converse(&mut phones, 1);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(program.open_ports(), 4, "it talks");
    program.await_figure("weir_sip_total{reason=\"calls_media_timeout\"}", 1.0);
    program.await_closed();
}

/// Calls that the kernel does not relay are interrupted, and continue at the same ports. Calls that
/// are protected here do not continue.
#[test]
fn calls_continue_in_the_next_program() {
    let mut program = Program::start("  state: '{directory}/state'");
    let mut proxy = Proxy::new(program.ng);
    let mut phones = Phone::two();
    proxy.call(&mut phones);
    converse(&mut phones, 10);
    let (_, line) = key(0x5a);
    let offer = Phone::new(3).description_as("RTP/SAVP", &line);
    proxy.describe(
        "offer",
        &offer,
        json!({"call-id": "d", "transport-protocol": "RTP/AVP"}),
    );
    std::thread::sleep(Duration::from_millis(500));
    program.replace();
    let mut proxy = Proxy::new(program.ng);
    program.await_figure("weir_sip_total{reason=\"calls_resumed\"}", 1.0);
    converse(&mut phones, 10);
    let list = proxy.ask(&json!({"command": "list"}));
    assert_eq!(list["calls"], json!(["c"]));
    let totals = proxy.ask(&serde_json::from_str(DELETE).expect("JSON"))["totals"].clone();
    assert_eq!(totals["RTP"]["packets"], 20, "counted since then");
    program.await_closed();

    std::fs::write(program.directory.join("state/sip-calls"), "nothing of the kind").expect("a file");
    program.replace();
    program.await_figure("weir_sip_calls", 0.0);
}
