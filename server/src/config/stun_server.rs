//! STUN servers by name.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use serde::Deserialize;

/// The port of STUN, unless another is named (RFC 8489 section 18.6).
const PORT: u16 = 3478;

/// A STUN server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct StunServer {
    /// Its name or its address, without brackets.
    pub host: String,
    /// Its UDP port.
    pub port: u16,
}

impl StunServer {
    pub(super) fn new(host: impl Into<String>, port: u16) -> Self {
        StunServer {
            host: host.into(),
            port,
        }
    }
}

impl FromStr for StunServer {
    type Err = &'static str;

    /// Shape: `HOST` or `HOST:PORT`, an IPv6 address with a port in brackets, with or without
    /// `stun:` in front.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.strip_prefix("stun:").unwrap_or(text);
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(Self::new(address.ip().to_string(), address.port()));
        }
        let in_brackets = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if let Ok(address) = in_brackets.unwrap_or(text).parse::<IpAddr>() {
            return Ok(Self::new(address.to_string(), PORT));
        }
        let (host, port) = match text.split_once(':') {
            Some((host, port)) => (host, port.parse().ok()),
            None => (text, Some(PORT)),
        };
        let is_in_names = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        let port = port.filter(|port| *port != 0 && !host.is_empty() && host.bytes().all(is_in_names));
        let port = port.ok_or("a STUN server is written \"HOST\" or \"HOST:PORT\"")?;
        Ok(Self::new(host, port))
    }
}

impl TryFrom<String> for StunServer {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl fmt::Display for StunServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_the_usual_port_unless_it_names_another() {
        for (text, expected) in [
            ("stun.example.com", "stun.example.com:3478"),
            ("stun.example.com:19302", "stun.example.com:19302"),
            ("stun:stun.example.com", "stun.example.com:3478"),
            ("192.0.2.1", "192.0.2.1:3478"),
            ("192.0.2.1:5000", "192.0.2.1:5000"),
            ("2001:db8::1", "[2001:db8::1]:3478"),
            ("[2001:db8::1]", "[2001:db8::1]:3478"),
            ("[2001:db8::1]:5000", "[2001:db8::1]:5000"),
        ] {
            let server: StunServer = text.parse().unwrap();
            assert_eq!(server.to_string(), expected);
        }
        for text in [
            "",
            "stun:",
            ":3478",
            "host:",
            "host:0",
            "host:70000",
            "turn:host:1",
            "a b",
            "//host",
        ] {
            assert!(text.parse::<StunServer>().is_err(), "{text}");
        }
    }
}
