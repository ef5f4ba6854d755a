//! The part that all clients share.

use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use access::TurnSecret;
use is::stun::StunMessage;
use md5::{Digest, Md5};
use ring::hmac;

use crate::Family;
use crate::limits::NONCE_VALID;

/// Hexadecimal digits of a nonce: the end of its validity, and the proof that it is ours.
const NONCE_LEN: usize = 24;

/// The first two bytes of a request for an allocation.
const ALLOCATE: [u8; 2] = [0x00, 0x03];

/// The server's secrets and the peers of its clients.
#[derive(Clone, Debug)]
pub struct Server {
    realm: String,
    secret: TurnSecret,
    nonces: hmac::Key,
    peers: Vec<SocketAddr>,
}

impl Server {
    /// A server that gives access by `secret` to `peers` and to nobody else. `seed` is random; its
    /// nonces are made with it.
    pub fn new(realm: &str, secret: TurnSecret, seed: &[u8; 32], peers: Vec<SocketAddr>) -> Self {
        Server {
            realm: realm.to_owned(),
            secret,
            nonces: hmac::Key::new(hmac::HMAC_SHA256, seed),
            peers,
        }
    }

    /// The same server with other peers.
    #[must_use]
    pub fn with_peers(&self, peers: Vec<SocketAddr>) -> Self {
        Server { peers, ..self.clone() }
    }

    /// Whether a message is a request for an allocation with a current nonce of this address. Then
    /// its sender receives there, and is worth a [`Client`](crate::Client) that is kept.
    pub fn admits(&self, unix: Duration, from: SocketAddr, message: &[u8]) -> bool {
        let message = Some(message).filter(|message| message.starts_with(&ALLOCATE));
        let parsed = message.and_then(|message| StunMessage::parse(message).ok());
        let nonce = parsed.and_then(|message| message.nonce());
        nonce.is_some_and(|nonce| self.is_current(nonce, unix, from))
    }

    pub(crate) fn realm(&self) -> &str {
        &self.realm
    }

    /// Whether clients may exchange datagrams with this address.
    pub(crate) fn is_peer(&self, address: SocketAddr) -> bool {
        self.peers.contains(&address)
    }

    /// Whether clients may exchange datagrams with some port of this address.
    pub(crate) fn has_peer_at(&self, address: IpAddr) -> bool {
        self.peers.iter().any(|peer| peer.ip() == address)
    }

    /// Whether clients may exchange datagrams with some address of this family.
    pub(crate) fn has_peer_of(&self, family: Family) -> bool {
        self.peers.iter().any(|peer| peer.is_ipv4() == (family == Family::V4))
    }

    /// A nonce for a client.
    pub(crate) fn nonce(&self, unix: Duration, client: SocketAddr) -> String {
        self.nonce_until((unix + NONCE_VALID).as_secs() as u32, client)
    }

    /// Whether a nonce is one of this client that is still valid.
    pub(crate) fn is_current(&self, nonce: &str, unix: Duration, client: SocketAddr) -> bool {
        let until = nonce.get(..8).and_then(|until| u32::from_str_radix(until, 16).ok());
        until.is_some_and(|until| u64::from(until) > unix.as_secs() && nonce == self.nonce_until(until, client))
    }

    /// The key of a name's long-term credentials, if the name is valid (RFC 8489 section 9.2.2).
    pub(crate) fn key(&self, username: &str, unix: Duration) -> Option<[u8; 16]> {
        let password = self.secret.password(username, unix)?;
        Some(Md5::digest(format!("{username}:{}:{password}", self.realm)).into())
    }

    fn nonce_until(&self, until: u32, client: SocketAddr) -> String {
        let proof = hmac::sign(&self.nonces, format!("{until} {client}").as_bytes());
        let mut nonce = format!("{until:08x}");
        for byte in proof.as_ref() {
            if nonce.len() < NONCE_LEN {
                let _ = write!(nonce, "{byte:02x}");
            }
        }
        nonce
    }
}
