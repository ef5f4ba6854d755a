//! The client of each request, and its share of the server.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderMap, Response, StatusCode, header};
use axum::middleware::Next;
use tracing::warn;

use crate::clients::client::{Client, is_trusted};
use crate::clients::connection_slots::ConnectionSlot;
use crate::clients::origin;
use crate::config;
use crate::http::listen::Connection;
use crate::http::page;
use crate::http::state::Http;
use crate::metrics::closed::Closed;
use crate::os::clock;
use crate::settings::Settings;

/// The client of a request, as handlers see it.
#[derive(Clone)]
pub(crate) struct Guest {
    /// Its address.
    pub client: Client,
    /// The local address that it connected to.
    local: IpAddr,
    /// Its places: the connection's, and behind a proxy one of its own.
    slots: Vec<Arc<ConnectionSlot>>,
}

impl Guest {
    /// The client of a request over a connection.
    pub(crate) fn of(connection: Connection, headers: &HeaderMap, trusted_proxies: &[config::Network]) -> Self {
        Guest {
            client: Client::of(connection.peer, headers, trusted_proxies),
            local: connection.local,
            slots: vec![connection.slot],
        }
    }

    /// Keeps the places for good; `None` when one of them is lost.
    pub(crate) fn join(self) -> Option<Vec<Arc<ConnectionSlot>>> {
        self.slots.iter().all(|slot| slot.join()).then_some(self.slots)
    }

    /// Whether the request may use what is reserved for a user of this machine: it comes from no
    /// foreign page.
    pub(crate) fn is_of_ours(&self, headers: &HeaderMap, node_ips: &[IpAddr]) -> bool {
        origin::is_ours(headers, |address| address == self.local || node_ips.contains(&address))
    }

    /// Whether it may see what operators see: with their token, or from this machine where there is
    /// none.
    pub(crate) fn may_operate(&self, access: &config::Metrics, headers: &HeaderMap, node_ips: &[IpAddr]) -> bool {
        match &access.token {
            Some(token) => bearer(headers).is_some_and(|given| same(given.as_bytes(), token.as_bytes())),
            None => self.is_on_this_machine() && self.is_of_ours(headers, node_ips),
        }
    }

    /// Whether its connection was made on this machine, with no proxy between.
    pub(crate) fn is_on_this_machine(&self) -> bool {
        self.client.is_local() || self.client.is_direct && self.client.address == self.local
    }
}

/// Identifies the client of a request, and refuses it if it has used up its share behind a proxy.
pub(crate) async fn welcome(
    State(http): State<Arc<Http>>,
    Extension(connection): Extension<Connection>,
    mut request: Request,
    next: Next,
) -> Response<Body> {
    let settings = http.settings.get();
    let peer = connection.peer;
    let mut guest = Guest::of(connection, request.headers(), &settings.trusted_proxies);
    let client = guest.client;
    if is_trusted(peer, &settings.trusted_proxies) {
        match http.proxied.enter(Some(client.address), clock::now()) {
            // One that is evicted only loses its place: what it asks has an end by itself.
            Ok((slot, _)) => guest.slots.push(Arc::new(slot)),
            Err(full) => {
                http.metrics.http_closed(full.into());
                return page::text(
                    StatusCode::TOO_MANY_REQUESTS,
                    "too many connections from this address\n",
                );
            }
        }
    } else {
        hint_at_proxy(&client, &settings);
    }
    request.extensions_mut().insert(guest);
    let answer = next.run(request).await;
    if answer.status() == StatusCode::REQUEST_TIMEOUT {
        http.metrics.http_closed(Closed::Slow);
    }
    answer
}

/// Warns once that there seems to be a proxy that is not configured.
fn hint_at_proxy(client: &Client, settings: &Settings) {
    static SAID: AtomicBool = AtomicBool::new(false);
    let is_near = match client.address {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local(),
    };
    if is_near && !client.is_direct && settings.trusted_proxies.is_empty() && !SAID.swap(true, Ordering::Relaxed) {
        warn!(
            address = %client.address,
            "a proxy forwards requests from this address: until `trusted_proxies` names it, all its clients share the limits of one address"
        );
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let header = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// Compares without telling by its time where two differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differing, (a, b)| differing | (a ^ b)) == 0
}
