//! The part that all clients share.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use access::TurnSecret;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use md5::{Digest, Md5};
use ring::{digest, hmac};

use crate::Family;
use crate::limits::{NONCE_SLOT, NONCE_SLOTS};

/// Bytes of a nonce, before they are written in base64: the end of the number of the time in which
/// it was made, and a proof that it is ours. A short nonce makes a short answer.
const NONCE_LEN: usize = 9;
/// Of those, the bytes of the time.
const SLOT_LEN: usize = 2;

/// The server's secrets and the peers of its clients.
#[derive(Clone, Debug)]
pub struct Server {
    realm: String,
    secret: TurnSecret,
    nonces: hmac::Key,
    peers: Vec<SocketAddr>,
}

/// How a key is computed from a password (RFC 8489 section 18.5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PasswordAlgorithm {
    Md5,
    Sha256,
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
        self.peers.iter().any(|peer| Family::of(*peer) == family)
    }

    /// A nonce for a client.
    pub(crate) fn nonce(&self, unix: Duration, client: SocketAddr) -> String {
        self.nonce_of(slot(unix), client)
    }

    /// Whether a nonce is one of this client that is still valid.
    pub(crate) fn is_current(&self, nonce: &[u8], unix: Duration, client: SocketAddr) -> bool {
        let bytes = URL_SAFE_NO_PAD.decode(nonce).unwrap_or_default();
        let Some(made) = bytes.first_chunk::<SLOT_LEN>() else {
            return false;
        };
        let now = slot(unix);
        let age = u64::from((now as u16).wrapping_sub(u16::from_be_bytes(*made)));
        age < NONCE_SLOTS && age <= now && nonce == self.nonce_of(now - age, client).as_bytes()
    }

    /// The key of a name's long-term credentials, if the name is valid (RFC 8489 section 9.2.2).
    pub(crate) fn key(&self, username: &str, algorithm: PasswordAlgorithm, unix: Duration) -> Option<Vec<u8>> {
        let password = self.secret.password(username, unix)?;
        let text = format!("{username}:{}:{password}", self.realm);
        Some(match algorithm {
            PasswordAlgorithm::Md5 => Md5::digest(text).to_vec(),
            PasswordAlgorithm::Sha256 => digest::digest(&digest::SHA256, text.as_bytes()).as_ref().to_vec(),
        })
    }

    fn nonce_of(&self, slot: u64, client: SocketAddr) -> String {
        let proof = hmac::sign(&self.nonces, format!("{slot} {client}").as_bytes());
        let proof = &proof.as_ref()[..NONCE_LEN - SLOT_LEN];
        URL_SAFE_NO_PAD.encode([&(slot as u16).to_be_bytes(), proof].concat())
    }
}

/// The number of a time in which nonces are equal.
fn slot(unix: Duration) -> u64 {
    unix.as_secs() / NONCE_SLOT.as_secs()
}
