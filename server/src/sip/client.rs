//! The client at the other end of a control connection.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Response, StatusCode};

use super::requests::Handle;
use crate::clients::connection_slots::ConnectionSlot;
use crate::http::page;

/// One connection of a client.
#[derive(Clone)]
pub(super) struct Client {
    pub(super) from: IpAddr,
    pub(super) handle: Handle,
    /// A WebSocket keeps it.
    pub(super) slot: Arc<ConnectionSlot>,
}

/// An answer of this status and no more.
pub(super) fn refuse(status: u16) -> Response<Body> {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
    page::text(status, status.canonical_reason().unwrap_or_default())
}
