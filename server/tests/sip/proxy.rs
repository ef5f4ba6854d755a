//! The requests that Kamailio sends.

use std::net::UdpSocket;
use std::time::Duration;

use serde_json::{Value, json};

use crate::phone::Phone;

/// A proxy that speaks `ng` over UDP.
pub(crate) struct Proxy {
    socket: UdpSocket,
    cookie: u32,
}

impl Proxy {
    pub(crate) fn new(port: u16) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        socket.connect(("127.0.0.1", port)).expect("an address");
        socket.set_read_timeout(Some(Duration::from_secs(3))).expect("a time");
        Proxy { socket, cookie: 0 }
    }

    /// The answer to a request, under a cookie of its own.
    pub(crate) fn ask(&mut self, request: &Value) -> Value {
        let (cookie, reply) = self.exchange(&request.to_string()).expect("an answer");
        let reply = reply.strip_prefix(&cookie).expect("the same cookie");
        serde_json::from_str(reply).expect("JSON")
    }

    /// The answer to a line of rtpproxy's.
    pub(crate) fn line(&mut self, line: &str) -> String {
        let (cookie, reply) = self.exchange(line).expect("an answer");
        reply
            .strip_prefix(&cookie)
            .expect("the same cookie")
            .trim_end()
            .to_owned()
    }

    /// Sends something; the cookie and the answer, if there is one.
    pub(crate) fn exchange(&mut self, payload: &str) -> Option<(String, String)> {
        self.cookie += 1;
        let cookie = format!("{}_{} ", std::process::id(), self.cookie);
        self.socket.send(format!("{cookie}{payload}").as_bytes()).expect("sent");
        let mut buffer = vec![0; 65_536];
        let len = self.socket.recv(&mut buffer).ok()?;
        let reply = String::from_utf8(buffer[..len].to_vec()).expect("text");
        Some((cookie, reply))
    }

    /// An offer or an answer of a phone's: where the other one is to send, and the whole
    /// description.
    pub(crate) fn describe(&mut self, command: &str, sdp: &str, more: Value) -> (u16, String) {
        let mut request = json!({"command": command, "call-id": "c", "from-tag": "a", "sdp": sdp});
        let keys = request.as_object_mut().expect("it is one");
        keys.extend(more.as_object().cloned().unwrap_or_default());
        if command == "answer" {
            keys.insert("to-tag".to_owned(), "b".into());
        }
        let reply = self.ask(&request);
        assert_eq!(reply["result"], "ok", "{reply}");
        let sdp = reply["sdp"].as_str().expect("a description").to_owned();
        (port(&sdp), sdp)
    }

    /// Sets a call up between two phones, each of which then knows where to send.
    pub(crate) fn call(&mut self, phones: &mut [Phone; 2]) {
        let (port, _) = self.describe("offer", &phones[0].description(), json!({}));
        phones[1].send_to(port);
        let (port, _) = self.describe("answer", &phones[1].description(), json!({}));
        phones[0].send_to(port);
    }
}

/// The port that a description names for audio.
fn port(sdp: &str) -> u16 {
    let section = sdp.lines().find_map(|line| line.strip_prefix("m=audio "));
    let port = section.and_then(|section| section.split(' ').next());
    port.expect("a section").parse().expect("a port")
}
