//! The call that a request is about, by which its machine is found.

/// A request about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    /// The id of the call.
    pub(crate) call: Vec<u8>,
    /// It begins the call where nobody has it.
    pub(crate) begins: bool,
}
