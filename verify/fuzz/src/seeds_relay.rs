//! Seeds: messages of SIP proxies and phones.

const NG: &str = include_str!("../../../crates/sip/tests/behaviour/captured/kamailio-rtpengine.txt");
const RTPPROXY: &str = include_str!("../../../crates/sip/tests/behaviour/captured/kamailio-rtpproxy.txt");

/// Values in both encodings.
pub fn ng_values() -> Vec<Vec<u8>> {
    let payloads = messages(NG)
        .into_iter()
        .filter_map(|message| Some(message.split_once(' ')?.1.as_bytes().to_vec()));
    let mut seeds: Vec<Vec<u8>> = payloads.take(12).collect();
    seeds.push(br#"{"command":"offer","flags":["a",{"b":[1,-2,true,null,1.5]}],"sdp":"v=0\r\n"}"#.to_vec());
    seeds
}

/// A call in `ng`: one message in each line. Line ends inside of messages are gone, which a lenient
/// reader does not mind.
pub fn ng_requests() -> Vec<Vec<u8>> {
    let json = concat!(
        r#"1 {"command":"offer","call-id":"c","from-tag":"a","sdp":"v=0\r\nc=IN IP4 192.0.2.1\r\nm=audio 6004 RTP/SAVP 0\r\n"#,
        r#"a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz\r\n","transport-protocol":"RTP/AVP"}"#,
        "\n",
        r#"2 {"command":"answer","call-id":"c","from-tag":"a","to-tag":"b","sdp":"v=0\r\nc=IN IP4 192.0.2.2\r\nm=audio 6000 RTP/AVP 0\r\n"}"#,
        "\n",
        r#"3 {"command":"query","call-id":"c","rtpp-flags":"replace-origin codec=[strip=[PCMA]] ICE=force"}"#,
        "\n",
        r#"4 {"command":"delete","call-id":"c","delete-delay":0}"#,
        "\n5 d7:command4:pinge\n6 d7:command4:liste\n7 d7:command10:statisticse",
    );
    vec![json.as_bytes().to_vec()]
}

/// Calls in rtpproxy's protocol: one command in each line.
pub fn rtpproxy_commands() -> Vec<Vec<u8>> {
    let captured: Vec<String> = messages(RTPPROXY)
        .into_iter()
        .filter(|message| !message.contains(" VF "))
        .take(8)
        .collect();
    let others = "1 UIEc0,8Z20 c;b 192.0.2.1 6004 a;1 unix:/s tag\n2 L6 c;b 192.0.2.2 6000 a;1 b;1\n3 Qv c a;1 b;1 ttl nrelayed\n\
                  4 I\n5 Un c 192.0.2.1 0 a;2 b;2\n6 Dw c a b\n7 X\n8 VF 20081102\n9 Ul[::1]r192.0.2.9 d 0.0.0.0 6 a";
    vec![captured.join("\n").into_bytes(), others.as_bytes().to_vec()]
}

/// Phones' descriptions.
pub fn sip_sdp() -> Vec<Vec<u8>> {
    let messy: &[u8] = b"v=0\r\no=- 1 2 IN IP4 192.0.2.1\r\ns=\xe9\r\nc=IN IP4 192.0.2.1\nt=0 0\r\nbroken\r\nm=audio 4000/2 RTP/AVP 0 8 96\r\n\
i=voice\r\na=rtpmap:96 telephone-event/8000\r\na=rtcp:4101 IN IP4 192.0.2.9\r\na=sendonly\r\nm=image 4004 udptl t38\r\nc=IN IP6 ::1";
    let mut seeds: Vec<Vec<u8>> = crate::seeds_signalling::sdp();
    seeds.push(messy.to_vec());
    seeds
}

/// The requests among lines like `>>> b'1_1 V'`, with their escapes resolved.
fn messages(captured: &str) -> Vec<String> {
    let requests = captured
        .lines()
        .filter_map(|line| line.strip_prefix(">>> b'")?.strip_suffix('\''));
    requests
        .map(|request| request.replace("\\r", "\r").replace("\\n", "\n"))
        .collect()
}
