//! Routes of a client's media other than UDP: TCP, and a TURN server.
//!
//! The client keeps its UDP socket. A [`Forwarder`] takes its datagrams on this machine, sends them
//! by the route, and returns those that arrive. So a client over any route is the same code, and a
//! candidate of the server is replaced by the forwarder's address.

mod forwarder;
mod link;
mod turn;

use is::Protocol;
use livekit_protocol::IceServer;

pub(crate) use forwarder::Forwarder;
use turn::TurnAccess;

/// The route of a client's media, as a run asks for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RouteKind {
    /// UDP, without a forwarder.
    #[default]
    Udp,
    /// The server's TCP candidate.
    Tcp,
    /// The server's TURN server, over UDP.
    TurnUdp,
    /// The same over TCP.
    TurnTcp,
}

/// The route with everything it takes.
#[derive(Clone, Debug, Default)]
pub(crate) enum Route {
    #[default]
    Udp,
    Tcp,
    Turn(TurnAccess),
}

impl Route {
    /// A route of this kind, with a TURN server of those that the server names.
    ///
    /// Errors: `None` when it names none that fits.
    pub(crate) fn new(kind: RouteKind, servers: &[IceServer]) -> Option<Self> {
        match kind {
            RouteKind::Udp => Some(Route::Udp),
            RouteKind::Tcp => Some(Route::Tcp),
            RouteKind::TurnUdp => TurnAccess::find(servers, Protocol::Udp).map(Route::Turn),
            RouteKind::TurnTcp => TurnAccess::find(servers, Protocol::Tcp).map(Route::Turn),
        }
    }

    /// The protocol of the server's candidates that it leads to.
    pub(crate) fn protocol(&self) -> Protocol {
        match self {
            Route::Udp | Route::Turn(_) => Protocol::Udp,
            Route::Tcp => Protocol::Tcp,
        }
    }
}
