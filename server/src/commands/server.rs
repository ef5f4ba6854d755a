//! The server that a command asks, and its API.

use std::error::Error;
use std::fmt::Display;
use std::future::Future;
use std::time::Duration;

use access::{ApiKeys, Claims, VideoGrant, sign};
use operator::Receivers;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::client::{Answer, Client};
use super::refusal::Refusal;
use super::signer;
use super::terminal::escaped;
use super::views::{RoomList, RoomView, view};
use crate::cli::ServerArgs;
use crate::os::clock;

/// How long a server may take to answer. A controller may have to ask others.
const PATIENCE: Duration = Duration::from_secs(15);

/// How long a token of a command is valid. The clocks of the two machines may differ.
const VALID: Duration = Duration::from_secs(300);

/// The API of a server, as the operator with a key.
pub(crate) struct Api {
    client: Client,
    key: String,
    secret: Zeroizing<String>,
}

/// An error of the API.
#[derive(Deserialize)]
struct ApiFailure {
    code: String,
    #[serde(default)]
    msg: String,
}

/// A permission of a token.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Grant<'a> {
    /// To list all rooms.
    List,
    /// To delete any room.
    Create,
    /// To administer this room.
    Admin(&'a str),
    /// To administer this room, and to see the addresses of its participants.
    Addresses(&'a str),
    /// To see how all receivers do.
    Receivers,
}

impl Api {
    /// The API of the server that these arguments name.
    ///
    /// Errors: the URL or the key cannot be used.
    pub(crate) fn new(arguments: &ServerArgs) -> Result<Self, Refusal> {
        let (key, secret) = signer::key(&arguments.signer).map_err(failed)?;
        Ok(Api {
            client: Client::new(&arguments.url, arguments.root.as_deref(), PATIENCE)?,
            key,
            secret,
        })
    }

    /// Calls a method of `RoomService`.
    ///
    /// Errors: there is no answer, or it is an error.
    pub(crate) async fn call(&self, method: &str, grant: Grant<'_>, body: Value) -> Result<Value, Refusal> {
        let path = format!("/twirp/livekit.RoomService/{method}");
        let token = self.token(grant)?;
        let answer = self.client.post(&path, Some(&token), body.to_string()).await?;
        match answer.status {
            200 => read(&answer),
            _ => Err(self.refusal(&answer)),
        }
    }

    /// How receivers do: those of a room, or all.
    ///
    /// Errors: there is no answer, or it is an error.
    pub(crate) async fn receivers(&self, room: Option<&str>) -> Result<Receivers, Refusal> {
        let (path, grant) = match room {
            Some(room) => (format!("/api/receivers?room={}", in_url(room)), Grant::Admin(room)),
            None => ("/api/receivers".to_owned(), Grant::Receivers),
        };
        let answer = self.client.get(&path, Some(&self.token(grant)?)).await?;
        match answer.status {
            200 => read(&answer),
            _ => Err(self.refusal(&answer)),
        }
    }

    /// The record of a participant: its `timeline` or the `verdict`, of so long ago.
    ///
    /// Errors: there is no answer, or it is an error.
    pub(crate) async fn history(
        &self,
        room: &str,
        identity: &str,
        view: &str,
        since: Option<&str>,
    ) -> Result<Value, Refusal> {
        let since = since.map_or(String::new(), |since| format!("?since={}", in_url(since)));
        let path = format!(
            "/api/rooms/{}/participants/{}/{view}{since}",
            in_url(room),
            in_url(identity)
        );
        let token = self.token(Grant::Addresses(room))?;
        let answer = self.client.get(&path, Some(&token)).await?;
        match answer.status {
            200 => read(&answer),
            404 => Err(Refusal::NotFound(escaped(
                String::from_utf8_lossy(&answer.body).trim_end(),
            ))),
            _ => Err(self.refusal(&answer)),
        }
    }

    /// A room, as the server answers and as a view.
    ///
    /// Errors: there is none of this name, and those of [`call`](Self::call).
    pub(crate) async fn room(&self, name: &str) -> Result<(Value, RoomView), Refusal> {
        let answer = self.call("ListRooms", Grant::List, json!({"names": [name]})).await?;
        let list: RoomList = view(&answer)?;
        let room = list.rooms.into_iter().next();
        let room = room.ok_or_else(|| Refusal::NotFound(format!("there is no room {}", escaped(name))))?;
        Ok((answer["rooms"][0].clone(), room))
    }

    /// The participants of a room, as the server answers.
    ///
    /// Errors: those of [`call`](Self::call).
    pub(crate) async fn participants(&self, room: &str) -> Result<Value, Refusal> {
        self.call("ListParticipants", Grant::Admin(room), json!({"room": room}))
            .await
    }

    /// A token that permits one thing.
    fn token(&self, grant: Grant<'_>) -> Result<Zeroizing<String>, Refusal> {
        let mut video = VideoGrant::default();
        match grant {
            Grant::List => video.room_list = true,
            Grant::Create => video.room_create = true,
            Grant::Admin(room) => {
                video.room_admin = true;
                video.room = room.to_owned();
            }
            Grant::Addresses(room) => {
                video.room_admin = true;
                video.room_list = true;
                video.room = room.to_owned();
            }
            Grant::Receivers => {
                video.room_admin = true;
                video.room_list = true;
            }
        }
        let claims = Claims {
            iss: self.key.clone(),
            sub: "weir".to_owned(),
            exp: Some((clock::unix() + VALID).as_secs()),
            video,
            ..Claims::default()
        };
        let keys = ApiKeys::default().with(self.key.as_str(), self.secret.as_str());
        let token = sign(&claims, &keys).ok_or_else(|| failed("the API key did not sign"))?;
        Ok(Zeroizing::new(token))
    }

    /// The reason of an answer that is an error.
    fn refusal(&self, answer: &Answer) -> Refusal {
        let text = String::from_utf8_lossy(&answer.body);
        let (code, message) = match serde_json::from_str::<ApiFailure>(&text) {
            Ok(failure) => (failure.code, escaped(&failure.msg)),
            Err(_) => (String::new(), escaped(text.lines().next().unwrap_or_default())),
        };
        let url = self.client.url();
        match (answer.status, code.as_str()) {
            (401 | 403, _) => Refusal::Denied(format!(
                "{url} does not permit it with the API key {}: {message}: --api-key and --key-file name another",
                escaped(&self.key)
            )),
            (404, "not_found") => Refusal::NotFound(message),
            (404, _) => Refusal::Failed(format!(
                "{url} has no such API: --url names the HTTP port of a running Weir"
            )),
            (status, _) => Refusal::Failed(format!("{url} answers {status}: {message}")),
        }
    }
}

/// Runs the future of a command.
///
/// Errors: its own, and those of the runtime.
pub(crate) fn block_on<T>(command: impl Future<Output = Result<T, Refusal>>) -> Result<T, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(command);
    // A look-up of a name that takes long must not keep the process.
    runtime.shutdown_background();
    Ok(done?)
}

fn failed(why: impl Display) -> Refusal {
    Refusal::Failed(why.to_string())
}

fn read<T: DeserializeOwned>(answer: &Answer) -> Result<T, Refusal> {
    serde_json::from_slice(&answer.body)
        .map_err(|error| failed(format!("the server's answer is of another version of Weir: {error}")))
}

/// A value in the query of a URL, or a segment of its path (RFC 3986 section 2.1).
fn in_url(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => text.push(char::from(byte)),
            _ => text += &format!("%{byte:02X}"),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_write_names_into_urls() {
        assert_eq!(in_url("a-b_c.d~9"), "a-b_c.d~9");
        assert_eq!(in_url("a&b=c d/é"), "a%26b%3Dc%20d%2F%C3%A9");
    }
}
