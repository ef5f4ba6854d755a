//! The places of clients behind trusted proxies, which one connection does not show.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::http::{Response, StatusCode};
use axum::middleware::Next;
use tracing::warn;

use super::guest::Guest;
use super::listen::Connection;
use super::page;
use super::state::Http;
use crate::clients::client::{Client, is_trusted};
use crate::metrics::closed::Closed;
use crate::os::clock;
use crate::settings::Settings;

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
