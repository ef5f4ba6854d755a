//! Requests of a SIP proxy to a relay, in the form that Kamailio uses, and the parts of the answers
//! that it reads.

use std::net::{Ipv4Addr, SocketAddrV4};

use sip::ng::bencode;
use sip::ng::value::{Dictionary, Value};

/// A request about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// A port for the called party.
    Offer,
    /// A port for the calling party.
    Answer,
    /// The statistics of a call.
    Query,
    /// The end.
    Delete,
}

/// The request about a call from the side of `phone`.
pub(crate) fn request(command: Command, call: &str, phone: SocketAddrV4) -> Dictionary {
    let mut request = Dictionary::default().with("supports", texts(&["load limit"]));
    if matches!(command, Command::Offer | Command::Answer) {
        request.push("sdp", description(phone));
        request.push("ICE", "remove");
        request.push("flags", texts(&["trust-address"]));
        request.push("replace", texts(&["origin", "session-connection"]));
        request.push("received-from", texts(&["IP4", &phone.ip().to_string()]));
    }
    if command == Command::Offer {
        request.push("transport-protocol", "RTP/AVP");
        request.push("rtcp-mux", texts(&["demux"]));
    }
    request.push("call-id", call);
    request.push("from-tag", format!("{call}-caller"));
    if matches!(command, Command::Answer | Command::Query) {
        request.push("to-tag", format!("{call}-callee"));
    }
    let word = match command {
        Command::Offer => "offer",
        Command::Answer => "answer",
        Command::Query => "query",
        Command::Delete => {
            // The ports are wanted again at once.
            request.push("delete delay", 0_i64);
            "delete"
        }
    };
    request.with("command", word)
}

/// The request that only asks for an answer.
pub(crate) fn ping() -> Dictionary {
    Dictionary::default().with("command", "ping")
}

/// Appends a request.
pub(crate) fn write(request: Dictionary, out: &mut Vec<u8>) {
    bencode::encode(&request.into(), out);
}

fn texts(texts: &[&str]) -> Value {
    let texts = texts.iter().map(|&text| Value::from(text));
    Value::List(texts.collect())
}

fn description(phone: SocketAddrV4) -> String {
    let (ip, port) = (phone.ip(), phone.port());
    format!(
        "v=0\r\no=phone {port} 1 IN IP4 {ip}\r\ns=-\r\nc=IN IP4 {ip}\r\nt=0 0\r\nm=audio {port} RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\n"
    )
}

/// A relay's answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer(Dictionary);

impl Answer {
    /// Reads `cookie SP dictionary`.
    pub(crate) fn read(datagram: &[u8]) -> Option<(u64, Self)> {
        let space = datagram.iter().position(|&byte| byte == b' ')?;
        let cookie = std::str::from_utf8(&datagram[..space]).ok()?.parse().ok()?;
        let body = &datagram[space + 1..];
        match bencode::decode(body).ok()? {
            (Value::Dictionary(answer), read) if read == body.len() => Some((cookie, Self(answer))),
            _ => None,
        }
    }

    /// Errors: the relay's error text, if it did not execute the command.
    pub(crate) fn accepted(&self) -> Result<(), String> {
        match self.text("result") {
            Some("ok" | "pong") => Ok(()),
            other => Err(self.text("error-reason").or(other).unwrap_or("no result").to_owned()),
        }
    }

    /// The address for audio in its description.
    pub(crate) fn audio(&self) -> Option<SocketAddrV4> {
        let sdp = self.text("sdp")?;
        let after = |prefix: &str| {
            sdp.lines()
                .find_map(|line| line.trim_end().strip_prefix(prefix).map(str::to_owned))
        };
        let ip: Ipv4Addr = after("c=IN IP4 ")?.parse().ok()?;
        let port: u16 = after("m=audio ")?.split(' ').next()?.parse().ok()?;
        (port != 0).then(|| SocketAddrV4::new(ip, port))
    }

    /// RTP packets that the call's two parties have sent, by the relay's account.
    pub(crate) fn packets(&self) -> Option<u64> {
        let within = |dictionary: &Value, name: &str| match dictionary {
            Value::Dictionary(entries) => entries.value(name).cloned(),
            _ => None,
        };
        let rtp = within(self.0.value("totals")?, "RTP")?;
        within(&rtp, "packets")?.integer()?.try_into().ok()
    }

    fn text(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.0.text(name)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(datagram: &str) -> (u64, Answer) {
        Answer::read(datagram.as_bytes()).expect("an answer")
    }

    #[test]
    fn an_answer_of_rtpengine_is_understood() {
        let sdp = "v=0\r\no=- 1 1 IN IP4 10.0.0.9\r\ns=-\r\nc=IN IP4 10.0.0.9\r\nt=0 0\r\nm=audio 50000 RTP/AVP 0\r\na=rtcp:50001\r\n";
        let (cookie, read) = answer(&format!("77 d3:sdp{}:{sdp}6:result2:oke", sdp.len()));
        assert_eq!((cookie, read.accepted()), (77, Ok(())));
        assert_eq!(read.audio(), "10.0.0.9:50000".parse().ok());
        let (_, read) = answer("78 d6:totalsd3:RTPd7:packetsi900e5:bytesi1ee4:RTCPd7:packetsi0eee6:result2:oke");
        assert_eq!((read.packets(), read.audio()), (Some(900), None));
    }

    #[test]
    fn a_refusal_has_its_reason() {
        let (_, read) = answer("1 d6:result5:error12:error-reason3:whye");
        assert_eq!(read.accepted(), Err("why".into()));
        let (_, read) = answer("1 d6:result10:load limite");
        assert_eq!(read.accepted(), Err("load limit".into()));
        assert_eq!(Answer::read(b"nonsense"), None);
    }

    #[test]
    fn requests_name_the_party() {
        let phone = "198.18.2.10:10002".parse().expect("an address");
        let offer = request(Command::Offer, "c1", phone);
        let sdp = offer.text("sdp").and_then(|sdp| std::str::from_utf8(sdp).ok());
        let sdp = sdp.expect("a description");
        assert!(sdp.contains("m=audio 10002 RTP/AVP 0\r\n") && sdp.contains("c=IN IP4 198.18.2.10\r\n"));
        assert_eq!(offer.value("to-tag"), None);
        assert!(request(Command::Answer, "c1", phone).value("to-tag").is_some());
        assert!(request(Command::Delete, "c1", phone).value("sdp").is_none());
    }
}
