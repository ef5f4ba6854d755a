//! `weir token`: an access token on standard output.

use std::error::Error;
use std::time::Duration;

use access::{ApiKeys, Claims, VideoGrant, sign};

use crate::cli;
use crate::os::clock;

/// Prints the token.
pub(crate) fn run(arguments: cli::Token) -> Result<(), Box<dyn Error>> {
    let keys = ApiKeys::default().with(arguments.api_key.as_str(), arguments.api_secret.as_str());
    let valid = Duration::from_secs(arguments.valid_minutes * 60);
    let mut claims = claims(&arguments.api_key, &arguments.room, &arguments.identity, valid);
    claims.name = arguments.name.unwrap_or_default();
    claims.metadata = arguments.metadata.unwrap_or_default();
    claims.video.can_publish = arguments.no_publish.then_some(false);
    claims.video.room_admin = arguments.room_admin;
    claims.video.room_create = arguments.room_create;
    claims.video.room_list = arguments.room_list;
    let token = sign(&claims, &keys).ok_or("the API key did not sign")?;
    println!("{token}");
    Ok(())
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
