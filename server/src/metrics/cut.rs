//! Reasons to refuse or to end a connection of a controller.

/// Why a node refused or ended a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cut {
    /// The peer broke TLS, or has no certificate of the cluster.
    Handshake,
    /// The peer took too long for the handshake, its stream or its hello.
    Silent,
    /// The peer's certificate is not a controller's.
    Role,
    /// Another certificate has said the controller's id before.
    Identity,
    /// The first message is no hello.
    NoHello,
    /// The two have no version of the protocol in common.
    Version,
    /// A message is malformed or too long.
    Malformed,
    /// The same controller has a later connection.
    Replaced,
    /// The controller did not take its messages.
    Slow,
    /// There are as many connections as there may be.
    Full,
}

impl Cut {
    /// All of them, with their names in metrics.
    pub(crate) const NAMES: [(Self, &'static str); 10] = [
        (Cut::Handshake, "handshake"),
        (Cut::Silent, "silent"),
        (Cut::Role, "role"),
        (Cut::Identity, "identity"),
        (Cut::NoHello, "no_hello"),
        (Cut::Version, "version"),
        (Cut::Malformed, "malformed"),
        (Cut::Replaced, "replaced"),
        (Cut::Slow, "slow"),
        (Cut::Full, "full"),
    ];
}
