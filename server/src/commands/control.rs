//! The control protocol of the SIP relay (`ng`), for commands: over UDP as proxies speak it, or
//! over HTTP.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde_json::Value;
use tokio::net::{UdpSocket, lookup_host};
use tokio::time::timeout;

use super::client::Client;
use super::refusal::Refusal;
use super::terminal::escaped;

/// How long a relay may take before the command is sent again, and how often it is sent. A relay
/// does a command once, and answers it again, if it comes again with the same cookie.
const PATIENCE: Duration = Duration::from_secs(1);
const TRIES: usize = 4;

/// The path of messages without a cookie.
const HTTP_PATH: &str = "/ng-plain";

/// The place at which a relay takes commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ControlAddress {
    /// Over UDP, at `HOST:PORT`.
    Udp(String),
    /// Over HTTP, at a URL.
    Http(String),
}

impl FromStr for ControlAddress {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.starts_with("http://") || text.starts_with("https://") {
            return Ok(ControlAddress::Http(text.to_owned()));
        }
        let text = text.strip_prefix("udp:").unwrap_or(text);
        let port = text.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
        match port {
            Some(_) => Ok(ControlAddress::Udp(text.to_owned())),
            None => Err("a relay is written \"HOST:PORT\", or as an `http:` URL"),
        }
    }
}

impl fmt::Display for ControlAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ControlAddress::Udp(address) => f.write_str(address),
            ControlAddress::Http(url) => f.write_str(url),
        }
    }
}

impl ControlAddress {
    /// Sends a command, and returns the reply.
    ///
    /// Errors: there is no reply, or it is an error.
    pub(crate) async fn send(&self, command: &Value) -> Result<Value, Refusal> {
        let reply = match self {
            ControlAddress::Udp(address) => self.over_udp(address, command).await?,
            ControlAddress::Http(url) => over_http(url, command).await?,
        };
        let reply: Value = serde_json::from_slice(&reply)
            .map_err(|error| Refusal::Failed(format!("{self} does not answer in JSON: {error}")))?;
        match reply["result"].as_str() {
            Some("ok" | "pong") => Ok(reply),
            _ => {
                let why = reply["error-reason"].as_str().unwrap_or("no reason");
                Err(match why {
                    "Unknown call-id" | "Call-ID not found or tags didn't match" => {
                        Refusal::NotFound("there is no such call".to_owned())
                    }
                    why => Refusal::Failed(format!("{self} refuses: {}", escaped(why))),
                })
            }
        }
    }

    async fn over_udp(&self, address: &str, command: &Value) -> Result<Vec<u8>, Refusal> {
        let failed = |error: std::io::Error| {
            Refusal::Failed(format!(
                "no answer from {self}: {error}: --ng names an address of `sip.ng` of a running Weir"
            ))
        };
        let found = timeout(PATIENCE, lookup_host(address)).await;
        let found = found.map_err(|_| failed(std::io::ErrorKind::TimedOut.into()))?;
        let to = found.map_err(failed)?.next();
        let to = to.ok_or_else(|| failed(std::io::ErrorKind::NotFound.into()))?;
        let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let socket = UdpSocket::bind(any).await.map_err(failed)?;
        socket.connect(to).await.map_err(failed)?;
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| Refusal::Failed(error.to_string()))?;
        let cookie = format!("{:016x}", u64::from_be_bytes(random));
        let message = format!("{cookie} {command}");
        let mut buffer = vec![0; 1 << 16];
        for _ in 0..TRIES {
            socket.send(message.as_bytes()).await.map_err(failed)?;
            match timeout(PATIENCE, socket.recv(&mut buffer)).await {
                Ok(received) => {
                    let received = &buffer[..received.map_err(failed)?];
                    let reply = received.strip_prefix(cookie.as_bytes());
                    if let Some(reply) = reply.and_then(|reply| reply.strip_prefix(b" ")) {
                        return Ok(reply.to_vec());
                    }
                }
                Err(_) => continue,
            }
        }
        // An address that may not control calls gets no answer.
        Err(Refusal::Denied(format!(
            "no answer from {self}: no relay is there, or `sip.allow` does not name the address of this machine"
        )))
    }
}

async fn over_http(url: &str, command: &Value) -> Result<Vec<u8>, Refusal> {
    let client = Client::new(url, None, PATIENCE * 4)?;
    let answer = client
        .post(HTTP_PATH, None, command.to_string())
        .await
        .map_err(|error| Refusal::Failed(format!("{error}: --ng names an address of `sip.ng` of a running Weir")))?;
    match answer.status {
        200 => Ok(answer.body.to_vec()),
        401 | 403 => Err(Refusal::Denied(format!(
            "{url} permits no commands from here: `sip.allow` names who may"
        ))),
        status => Err(Refusal::Failed(format!("{url} answers {status}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_takes_addresses_and_urls() {
        let udp = |text: &str| Ok(ControlAddress::Udp(text.to_owned()));
        assert_eq!("127.0.0.1:2223".parse(), udp("127.0.0.1:2223"));
        assert_eq!("udp:relay.example:2223".parse(), udp("relay.example:2223"));
        assert_eq!("[::1]:2223".parse(), udp("[::1]:2223"));
        let url = "http://127.0.0.1:2225";
        assert_eq!(url.parse(), Ok(ControlAddress::Http(url.to_owned())));
        for text in ["", "relay", "relay:", "relay:70000"] {
            assert!(text.parse::<ControlAddress>().is_err(), "{text}");
        }
    }

    #[tokio::test]
    async fn control_sends_again_and_takes_the_answer_to_its_own_command() {
        let relay = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = ControlAddress::Udp(relay.local_addr().unwrap().to_string());
        let answering = tokio::spawn(async move {
            let mut buffer = [0; 1_000];
            relay.recv_from(&mut buffer).await.unwrap();
            let (len, from) = relay.recv_from(&mut buffer).await.unwrap();
            let text = String::from_utf8_lossy(&buffer[..len]).into_owned();
            let (cookie, command) = text.split_once(' ').unwrap();
            relay.send_to(b"another {\"result\":\"ok\"}", from).await.unwrap();
            relay.recv_from(&mut buffer).await.unwrap();
            let reply = format!("{cookie} {{\"result\":\"ok\",\"calls\":[{command:?}]}}");
            relay.send_to(reply.as_bytes(), from).await.unwrap();
        });
        let reply = address.send(&serde_json::json!({"command": "list"})).await.unwrap();
        assert_eq!(reply["calls"][0], "{\"command\":\"list\"}");
        answering.await.unwrap();
    }
}
