use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use livekit_api::access_token::{AccessToken, VideoGrants};

use super::SignalError;

/// The address of a server, and the credentials to join its rooms.
#[derive(Clone, Debug)]
pub struct Server {
    host: String,
    address: SocketAddr,
    key: String,
    secret: String,
}

/// A participant's admission to a room, and whether it may publish there.
#[derive(Clone, Copy, Debug)]
pub struct Admission<'a> {
    /// The room.
    pub room: &'a str,
    /// The participant's identity, which is its name too.
    pub identity: &'a str,
    /// Whether it may publish.
    pub publishes: bool,
}

impl Server {
    /// Resolves `ws://host:port`.
    pub fn new(url: &str, key: &str, secret: &str) -> Result<Self, SignalError> {
        let unusable = || SignalError::Address(format!("{url}: expected ws://host:port"));
        let host = url.strip_prefix("ws://").ok_or_else(unusable)?.trim_end_matches('/');
        let address = host
            .to_socket_addrs()
            .ok()
            .and_then(|mut found| found.next())
            .ok_or_else(unusable)?;
        Ok(Self {
            host: host.into(),
            address,
            key: key.into(),
            secret: secret.into(),
        })
    }

    /// The server's address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address to open a WebSocket at, of a server that has only one.
    pub(super) fn root(&self) -> String {
        format!("ws://{}/", self.host)
    }

    /// The address of the WebSocket; `query` follows the token.
    pub(super) fn url(&self, path: &str, query: &str, admission: Admission<'_>) -> Result<String, SignalError> {
        let token = self.token(admission)?;
        Ok(format!("ws://{}{path}?access_token={token}{query}", self.host))
    }

    fn token(&self, admission: Admission<'_>) -> Result<String, SignalError> {
        let grants = VideoGrants {
            room_join: true,
            room: admission.room.into(),
            can_publish: Some(admission.publishes),
            ..VideoGrants::default()
        };
        AccessToken::with_api_key(&self.key, &self.secret)
            .with_identity(admission.identity)
            .with_name(admission.identity)
            .with_ttl(Duration::from_secs(6 * 3600))
            .with_grants(grants)
            .to_jwt()
            .map_err(|error| SignalError::Refused(error.to_string()))
    }
}
