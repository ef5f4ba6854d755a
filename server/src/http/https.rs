//! HTTP beside HTTPS: requests without TLS are redirected, and browsers are told to use TLS only.
//!
//! Without TLS, some requests are served all the same: those of this machine and of trusted
//! proxies, health, and the checks of an ACME directory.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Extension, Path, Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderValue, Method, Response, StatusCode, Version, header};
use axum::middleware::Next;
use axum::response::IntoResponse;

use super::page;
use super::state::Http;
use crate::clients::client::is_trusted;
use crate::http::guest::Guest;
use crate::http::listen::Connection;

/// Paths that are served without TLS to everybody, because load balancers ask for them.
const HEALTH: [&str; 3] = ["/healthz", "/livez", "/readyz"];

/// The paths of HTTP-01 (RFC 8555 section 8.3), which are served without TLS to everybody, too.
const CHALLENGES: &str = "/.well-known/acme-challenge/";

/// Redirects requests that need TLS, and adds the headers that belong to it.
pub(super) async fn guard(
    State(http): State<Arc<Http>>,
    Extension(connection): Extension<Connection>,
    Extension(guest): Extension<Guest>,
    mut request: Request,
    next: Next,
) -> Response<Body> {
    let https = http.https.as_ref().filter(|https| https.redirect && !connection.is_tls);
    if let Some(https) = https {
        let proxies = &http.settings.get().trusted_proxies;
        let path = request.uri().path();
        let is_served = guest.is_on_this_machine()
            || is_trusted(connection.peer, proxies)
            || HEALTH.contains(&path)
            || path.starts_with(CHALLENGES);
        if !is_served {
            return elsewhere(https.port, &connection, &request);
        }
    }
    name_host(&mut request);
    let mut answer = next.run(request).await;
    let headers = answer.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let hsts = http.https.as_ref().and_then(|https| https.hsts.clone());
    if let Some(hsts) = hsts.filter(|_| connection.is_tls) {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, hsts);
    }
    answer
}

/// Names the host of a request of HTTP/2 as HTTP/1.1 does, because access depends on it (RFC 9113
/// section 8.3.1).
fn name_host(request: &mut Request) {
    if request.version() != Version::HTTP_2 {
        return;
    }
    let authority = request.uri().authority();
    let host = authority.and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
    if let Some(host) = host {
        request.headers_mut().insert(header::HOST, host);
    }
}

/// The answer to a request that needs TLS. A request with a token, and one that changes something,
/// is refused: it has shown its token to the network, and a redirection would hide that.
fn elsewhere(port: u16, connection: &Connection, request: &Request) -> Response<Body> {
    let location = location(port, connection, request);
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    if !is_read || has_token(request) {
        return page::text(StatusCode::FORBIDDEN, format!("over TLS only: {location}\n"));
    }
    match HeaderValue::try_from(location) {
        Ok(location) => {
            // Not for good: TLS may be turned off again.
            let headers = [
                (header::LOCATION, location),
                (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
            ];
            (StatusCode::PERMANENT_REDIRECT, headers).into_response()
        }
        Err(_) => page::text(StatusCode::BAD_REQUEST, "over TLS only\n"),
    }
}

fn has_token(request: &Request) -> bool {
    let mut parameters = request.uri().query().unwrap_or_default().split('&');
    request.headers().contains_key(header::AUTHORIZATION)
        || parameters.any(|parameter| parameter.starts_with("access_token="))
}

fn location(port: u16, connection: &Connection, request: &Request) -> String {
    let named = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let named = named.and_then(|host| host.parse::<Authority>().ok());
    let host = match &named {
        Some(named) if !named.as_str().contains('@') => named.host().to_owned(),
        _ if connection.local.is_ipv6() => format!("[{}]", connection.local),
        _ => connection.local.to_string(),
    };
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    match port {
        443 => format!("https://{host}{path}"),
        _ => format!("https://{host}:{port}{path}"),
    }
}

/// The answer to a check of an ACME directory.
pub(super) async fn challenge(State(http): State<Arc<Http>>, Path(token): Path<String>) -> Response<Body> {
    let challenges = http.https.as_ref().map(|https| https.certificates.challenges());
    match challenges.and_then(|challenges| challenges.by_token(&token)) {
        Some(answer) => {
            let mut response = Response::new(Body::from(answer));
            let kind = HeaderValue::from_static("application/octet-stream");
            response.headers_mut().insert(header::CONTENT_TYPE, kind);
            response
        }
        None => page::text(StatusCode::NOT_FOUND, "not found\n"),
    }
}
