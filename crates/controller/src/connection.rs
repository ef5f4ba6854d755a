//! One signalling connection.

use crate::context::Place;

/// One signalling connection.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Whose it is.
    pub(crate) place: Place,
}
