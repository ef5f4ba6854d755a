//! Why a command is not done, with the status of the program.

use std::error::Error;
use std::fmt;

use super::client::ClientError;

/// The reason, by who must act.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The server does not take the key or the token: the operator needs another one.
    Denied(String),
    /// There is no such room, participant or call.
    NotFound(String),
    /// There is no answer, or one that says why it was not done.
    Failed(String),
}

impl Refusal {
    /// The status of the program. 2 is that of wrong arguments.
    pub(crate) fn status(&self) -> u8 {
        match self {
            Refusal::Failed(_) => 1,
            Refusal::Denied(_) => 3,
            Refusal::NotFound(_) => 4,
        }
    }

    /// The status for an error of any command.
    pub(crate) fn status_of(error: &(dyn Error + 'static)) -> u8 {
        error.downcast_ref::<Refusal>().map_or(1, Refusal::status)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Denied(why) | Refusal::NotFound(why) | Refusal::Failed(why) => f.write_str(why),
        }
    }
}

impl Error for Refusal {}

impl From<ClientError> for Refusal {
    fn from(error: ClientError) -> Self {
        Refusal::Failed(format!("{error}: --url names the HTTP port of a running Weir"))
    }
}
