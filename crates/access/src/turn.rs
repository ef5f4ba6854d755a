//! Credentials of a TURN server that shares a secret with this one.
//!
//! The name says until when it is valid, and the password proves that whoever knows the secret made
//! the name. So neither server keeps anything of it.
//!
//! Source: draft-uberti-behave-turn-rest-00, as coturn (`use-auth-secret`) and others have it.

use std::fmt;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

/// A secret that is shared with a TURN server.
#[derive(Clone)]
pub struct TurnSecret(hmac::Key);

/// The name and the password of a client.
#[derive(Clone, PartialEq, Eq)]
pub struct TurnCredentials {
    /// The end of its validity, and whose it is.
    pub username: String,
    /// Base64.
    pub password: String,
}

impl TurnSecret {
    /// The secret as it is written in the TURN server's configuration.
    pub fn new(secret: &str) -> Self {
        TurnSecret(hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret.as_bytes()))
    }

    /// The password of a name that was made with this secret and is valid at `unix`, since
    /// 1970-01-01 UTC. `None` for a name that is not valid any more, or has another form.
    pub fn password(&self, username: &str, unix: Duration) -> Option<String> {
        let (until, _) = username.split_once(':')?;
        let until: u64 = until.parse().ok()?;
        (unix.as_secs() < until).then(|| self.sign(username))
    }

    /// Credentials for `whom`, valid until a time since 1970-01-01 UTC, in whole seconds.
    pub fn credentials(&self, whom: &str, until: Duration) -> TurnCredentials {
        let username = format!("{}:{whom}", until.as_secs());
        let password = self.sign(&username);
        TurnCredentials { username, password }
    }

    fn sign(&self, username: &str) -> String {
        STANDARD.encode(hmac::sign(&self.0, username.as_bytes()))
    }
}

// Secrets have no place in a log.

impl fmt::Debug for TurnSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TurnSecret")
    }
}

impl fmt::Debug for TurnCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnCredentials")
            .field("username", &self.username)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_password_that_other_implementations_compute() {
        let credentials = TurnSecret::new("north").credentials("PA_1", Duration::from_secs(1_700_003_600));
        // By Python's hmac and base64.
        let expected = TurnCredentials {
            username: "1700003600:PA_1".to_owned(),
            password: "yuzthm71VtVn1yeF250w4pJ16B4=".to_owned(),
        };
        assert_eq!(credentials, expected);
        assert!(!format!("{credentials:?}").contains(&expected.password));
        let password = |name, unix| TurnSecret::new("north").password(name, Duration::from_secs(unix));
        assert_eq!(password("1700003600:PA_1", 1_700_003_599), Some(expected.password));
        assert_eq!(password("1700003600:PA_1", 1_700_003_600), None, "too late");
        assert_eq!(password("PA_1", 0), None);
        assert!(!format!("{:?}", TurnSecret::new("north")).contains("north"));
    }
}
