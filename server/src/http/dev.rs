//! Tokens the page asks for by itself. In development only: whoever reaches the server may join.

use std::time::Duration;

use access::{ApiKeys, Claims, VideoGrant, sign};
use serde::{Deserialize, Serialize};

use crate::os::clock;

/// The page's request.
#[derive(Debug, Deserialize)]
pub(crate) struct Request {
    room: String,
    name: String,
}

/// The answer to the page.
#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    token: String,
    /// The URL to connect to; empty means the page's own origin.
    url: String,
}

/// A token for a participant called `name`. Two people with the same name are two participants.
///
/// Errors: the sentence for the page.
pub(crate) fn token(request: Request, keys: &ApiKeys, key: &str) -> Result<Answer, String> {
    let (room, name) = (request.room.trim(), request.name.trim());
    if room.is_empty() || name.is_empty() || room.len() > 128 || name.len() > 128 {
        return Err("the room and the name need 1 to 128 bytes each".to_owned());
    }
    let mut random = [0; 4];
    getrandom::fill(&mut random).map_err(|error| error.to_string())?;
    let suffix = u32::from_be_bytes(random);
    let mut claims = claims(
        key,
        room,
        &format!("{name}-{suffix:08x}"),
        Duration::from_secs(6 * 3600),
    );
    claims.name = name.to_owned();
    claims.video.can_update_own_metadata = Some(true);
    let token = sign(&claims, keys).ok_or("the development key is not among the keys")?;
    Ok(Answer {
        token,
        url: String::new(),
    })
}

/// Claims of a participant with the usual grants.
pub(crate) fn claims(key: &str, room: &str, identity: &str, valid: Duration) -> Claims {
    let now = clock::unix();
    Claims {
        iss: key.to_owned(),
        sub: identity.to_owned(),
        exp: Some((now + valid).as_secs()),
        video: VideoGrant {
            room_join: true,
            room: room.to_owned(),
            ..VideoGrant::default()
        },
        ..Claims::default()
    }
}
