//! Bodies of requests while they are read, in shares by address.

use std::net::IpAddr;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use http_body_util::LengthLimitError;
use tokio::time::sleep;

use crate::clients::connection_slots::{ConnectionSlots, Limits};
use crate::os::clock;

/// Bodies of requests of WHIP and WHEP that are read at once, with a token and without. For one
/// more, the oldest of the address with the most is given up.
const BODIES: Limits = Limits {
    all: 512,
    per_address: usize::MAX,
    pending_per_address: usize::MAX,
};

/// The same of large bodies of the server API.
const LARGE_BODIES: Limits = Limits { all: 64, ..BODIES };

/// How often a large body looks for a place.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// The requests that have places of their own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BodyKind {
    /// Of WHIP or WHEP with a token.
    Signed,
    /// Of WHEP without one.
    OfViewer,
    /// Of the server API, and long.
    Large,
}

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// Others need its place.
    Busy,
    /// It is longer than it may be.
    TooLarge,
    /// It ended before its end.
    Broken,
}

/// Places of bodies that are read.
pub(crate) struct Bodies {
    signed: ConnectionSlots,
    of_viewers: ConnectionSlots,
    large: ConnectionSlots,
}

impl Default for Bodies {
    fn default() -> Self {
        Bodies {
            signed: ConnectionSlots::new(BODIES),
            of_viewers: ConnectionSlots::new(BODIES),
            large: ConnectionSlots::new(LARGE_BODIES),
        }
    }
}

impl Bodies {
    /// Reads a body, unless its place is needed for another's. A large one waits for a place.
    pub(super) async fn read(&self, kind: BodyKind, from: IpAddr, body: Body, max: usize) -> Result<Bytes, Unread> {
        let slots = match kind {
            BodyKind::Signed => &self.signed,
            BodyKind::OfViewer => &self.of_viewers,
            BodyKind::Large => &self.large,
        };
        let (_slot, evicted) = loop {
            match (slots.enter(Some(from), clock::now()), kind) {
                (Ok(entered), _) => break entered,
                // An application may have many calls at once; their time is limited.
                (Err(_), BodyKind::Large) => sleep(RETRY_INTERVAL).await,
                (Err(_), _) => return Err(Unread::Busy),
            }
        };
        tokio::select! {
            body = read(body, max) => body,
            Ok(_) = evicted => Err(Unread::Busy),
        }
    }
}

/// Reads a body that needs no place.
pub(super) async fn read(body: Body, max: usize) -> Result<Bytes, Unread> {
    let read = to_bytes(body, max).await;
    read.map_err(|error| match error.into_inner().is::<LengthLimitError>() {
        true => Unread::TooLarge,
        false => Unread::Broken,
    })
}
