//! The client of each request, and its share of the server.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::{HeaderMap, header};

use crate::clients::client::Client;
use crate::clients::connection_slots::ConnectionSlot;
use crate::clients::origin;
use crate::config;
use crate::http::listen::Connection;

/// The client of a request, as handlers see it.
#[derive(Clone)]
pub(crate) struct Guest {
    /// Its address.
    pub client: Client,
    /// The local address that it connected to.
    local: IpAddr,
    /// Its places: the connection's, and behind a proxy one of its own.
    pub(super) slots: Vec<Arc<ConnectionSlot>>,
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

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let header = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// Compares without telling by its time where two differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differing, (a, b)| differing | (a ^ b)) == 0
}
