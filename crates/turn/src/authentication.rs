//! The check of a request's credentials (RFC 8489 section 9.2.4).
//!
//! Nonces have no cookie of section 9.2: names cannot be found by their hash, because none are
//! kept, and the algorithm for passwords is the client's to choose.

use std::net::SocketAddr;
use std::time::Duration;

use crate::Server;
use crate::answer::{Answer, Signer};
use crate::errors::ErrorCode;
use crate::integrity::Algorithm;
use crate::kinds::{NONCE, PASSWORD_ALGORITHM, REALM, USERHASH, USERNAME};
use crate::message::{Message, Method};
use crate::server::PasswordAlgorithm;

/// A request whose sender has proved to have the credentials, and to receive at its address.
pub(crate) struct Authenticated<'a> {
    pub message: Message<'a>,
    pub username: &'a str,
    key: Vec<u8>,
    algorithm: Algorithm,
}

impl<'a> Authenticated<'a> {
    /// Checks a request.
    ///
    /// Errors: the answer to a sender that has not proved it.
    pub(crate) fn check(
        message: Message<'a>,
        server: &Server,
        unix: Duration,
        from: SocketAddr,
    ) -> Result<Self, Vec<u8>> {
        let checked = credentials(&message, server, unix).and_then(|checked| {
            let nonce = message.first(NONCE).unwrap_or_default();
            let is_current = server.is_current(nonce, unix, from);
            is_current.then_some(checked).ok_or(ErrorCode::StaleNonce)
        });
        let (username, key, algorithm) = checked.map_err(|code| {
            let nonce = server.nonce(unix, from);
            // A malformed request is not asked again.
            let challenge = (code != ErrorCode::BadRequest).then_some((server.realm(), nonce.as_str()));
            Answer::open_refusal(&message, code, challenge).finish(&message, None)
        })?;
        Ok(Authenticated {
            message,
            username,
            key,
            algorithm,
        })
    }

    /// The answer that the request has succeeded.
    pub(crate) fn success(&self) -> Answer {
        Answer::success(&self.message)
    }

    /// The bytes of an answer.
    pub(crate) fn finish(&self, answer: Answer) -> Vec<u8> {
        let signer: Signer<'_> = (&self.key, self.algorithm);
        answer.finish(&self.message, Some(signer))
    }

    /// The answer that the request is refused.
    pub(crate) fn refuse(&self, code: ErrorCode) -> Vec<u8> {
        self.finish(Answer::refusal(&self.message, code))
    }

    /// The purpose of the request.
    pub(crate) fn method(&self) -> Method {
        self.message.method
    }
}

/// The name, the key and the algorithm of a request's proof, whatever its nonce is.
fn credentials<'a>(
    message: &Message<'a>,
    server: &Server,
    unix: Duration,
) -> Result<(&'a str, Vec<u8>, Algorithm), ErrorCode> {
    let algorithm = message.algorithm().ok_or(ErrorCode::Unauthenticated)?;
    let has_name = message.has(USERNAME) || message.has(USERHASH);
    if !has_name || !message.has(REALM) || !message.has(NONCE) {
        return Err(ErrorCode::BadRequest);
    }
    let passwords = match message.first(PASSWORD_ALGORITHM) {
        None | Some([0, 1, 0, 0]) => PasswordAlgorithm::Md5,
        Some([0, 2, 0, 0]) => PasswordAlgorithm::Sha256,
        Some(_) => return Err(ErrorCode::BadRequest),
    };
    let username = message.first(USERNAME).and_then(|name| str::from_utf8(name).ok());
    let of_name = |name: &'a str| Some((name, server.key(name, passwords, unix)?));
    let (username, key) = username.and_then(of_name).ok_or(ErrorCode::Unauthenticated)?;
    let is_ours = message.first(REALM) == Some(server.realm().as_bytes()) && message.is_signed_by(&key);
    is_ours
        .then_some((username, key, algorithm))
        .ok_or(ErrorCode::Unauthenticated)
}
