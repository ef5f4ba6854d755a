//! The test whether a request comes from a page of this server, or from no page at all.
//!
//! A browser sends requests to this server for every open page, also to `localhost` on the
//! operator's own machine. Endpoints for the operator make this test first.

use std::net::IpAddr;

use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Whether no foreign page caused this request. `ours` tells which addresses are this server's.
///
/// The host must be an address of this server or a name of loopback. A name that others control may
/// be pointed at this machine (DNS rebinding), and their page then has the same origin.
pub(crate) fn is_ours(headers: &HeaderMap, ours: impl Fn(IpAddr) -> bool) -> bool {
    let Some(host) = headers.get(header::HOST) else {
        // No browser omits it.
        return !headers.contains_key(header::ORIGIN);
    };
    let Some(host) = text(host).and_then(|host| host.parse::<Authority>().ok()) else {
        return false;
    };
    let is_here = is_here(host.host(), ours);
    is_here && is_same_site(headers) && is_same_origin(headers, &host)
}

fn is_here(host: &str, ours: impl Fn(IpAddr) -> bool) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(address) => {
            let address = address.to_canonical();
            address.is_loopback() || ours(address)
        }
        Err(_) => {
            let name = host.trim_end_matches('.').to_ascii_lowercase();
            name == "localhost" || name.ends_with(".localhost")
        }
    }
}

/// Browsers mark the requests of a page with it; a typed address belongs to no site.
fn is_same_site(headers: &HeaderMap) -> bool {
    let site = headers.get(SEC_FETCH_SITE);
    site.is_none_or(|site| matches!(text(site), Some("same-origin" | "none")))
}

fn is_same_origin(headers: &HeaderMap, host: &Authority) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else {
        return true;
    };
    let authority = text(origin)
        .and_then(|origin| origin.split_once("://"))
        .map(|(_, authority)| authority);
    authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host.as_str()))
}

fn text(value: &HeaderValue) -> Option<&str> {
    value.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours(headers: &[(HeaderName, &'static str)]) -> bool {
        let headers = headers
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
        is_ours(&headers.collect(), |address| address == IpAddr::from([192, 0, 2, 1]))
    }

    #[test]
    fn a_program_and_a_page_of_this_server_may_ask() {
        for host in [
            "localhost:7880",
            "127.0.0.1:7880",
            "[::1]:7880",
            "weir.localhost",
            "192.0.2.1:80",
            "LOCALHOST",
        ] {
            assert!(ours(&[(header::HOST, host)]), "{host}");
        }
        assert!(ours(&[]));
        let page = [
            (header::HOST, "localhost:7880"),
            (header::ORIGIN, "http://localhost:7880"),
        ];
        assert!(ours(&page));
        let fetched = [(header::HOST, "localhost:7880"), (SEC_FETCH_SITE, "same-origin")];
        assert!(ours(&fetched));
    }

    #[test]
    fn another_page_may_not() {
        let host = (header::HOST, "localhost:7880");
        for origin in [
            "https://evil.example",
            "null",
            "http://localhost:8000",
            "http://localhost",
            "localhost:7880",
            "",
        ] {
            assert!(!ours(&[host.clone(), (header::ORIGIN, origin)]), "{origin}");
        }
        for site in ["cross-site", "same-site", ""] {
            assert!(!ours(&[host.clone(), (SEC_FETCH_SITE, site)]), "{site}");
        }
        assert!(!ours(&[(header::ORIGIN, "http://localhost:7880")]));
    }

    #[test]
    fn a_name_that_others_control_is_not_this_server() {
        for host in [
            "rebound.example:7880",
            "localhost.example",
            "192.0.2.2",
            "127.0.0.1.nip.io",
            "notlocalhost",
            "[::2]:1",
            "",
        ] {
            assert!(!ours(&[(header::HOST, host)]), "{host}");
        }
        let rebound = [
            (header::HOST, "rebound.example:7880"),
            (header::ORIGIN, "http://rebound.example:7880"),
        ];
        assert!(!ours(&rebound));
    }
}
