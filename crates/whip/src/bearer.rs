//! The token of a request about a session.

use access::Claims;

use crate::answer::Answer;
use crate::token::Token;
use crate::watch::Watch;

/// A token of a request about a session. One that has expired since the session was opened is still
/// good for it.
#[derive(Clone, Debug)]
pub(crate) struct Bearer {
    pub(crate) token: Token,
    /// Its claims, where it is good now.
    pub(crate) claims: Option<Box<Claims>>,
}

/// Whether a request may be about a session in the room that its path names. A room that somebody
/// makes up is not looked for.
///
/// Errors: the token is for another room, or there is none and the room may not be watched.
pub(crate) fn check_room(bearer: Option<&Bearer>, room: &str, watch: &Watch) -> Result<(), Answer> {
    let is_of_room = |claims: &Claims| claims.video.room == room;
    match bearer {
        None if !watch.admits(room) => Err(Answer::unauthorized("there is no access token")),
        Some(bearer) if !bearer.claims.as_deref().is_none_or(is_of_room) => {
            Err(Answer::unauthorized("the token is not the session's"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_the_room_of_the_token_or_one_that_may_be_watched() {
        let watch = Watch::new(vec!["show".to_owned()]);
        let bearer = |room: Option<&str>| {
            let claims = room.map(|room| {
                let mut claims = Box::<Claims>::default();
                claims.video.room = room.to_owned();
                claims
            });
            let token = Token::new("token");
            Bearer { token, claims }
        };
        let status = |bearer: Option<Bearer>, room: &str| {
            let checked = check_room(bearer.as_ref(), room, &watch);
            checked.map_or_else(|answer| answer.status, |()| 200)
        };
        assert_eq!(status(Some(bearer(Some("lobby"))), "lobby"), 200);
        assert_eq!(status(Some(bearer(Some("lobby"))), "attic"), 401);
        assert_eq!(
            status(Some(bearer(None)), "lobby"),
            200,
            "an expired token may be the session's"
        );
        assert_eq!(status(None, "show"), 200);
        assert_eq!(status(None, "lobby"), 401);
    }
}
