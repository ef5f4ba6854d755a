//! `weir token`: an access token on standard output.

use std::error::Error;
use std::time::Duration;

use access::{ApiKeys, sign};

use super::signer::key;
use crate::cli;
use crate::http::dev::claims;

/// Prints a token for the participant on standard output.
pub(crate) fn run(arguments: cli::Token) -> Result<(), Box<dyn Error>> {
    for (flag, text) in [("--room", &arguments.room), ("--identity", &arguments.identity)] {
        if text.trim().is_empty() {
            return Err(format!("{flag} is empty: no server takes such a token").into());
        }
    }
    let (api_key, secret) = key(&arguments.signer)?;
    let keys = ApiKeys::default().with(api_key.as_str(), secret.as_str());
    let valid = Duration::from_secs(arguments.valid_minutes * 60);
    let mut claims = claims(&api_key, &arguments.room, &arguments.identity, valid);
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
