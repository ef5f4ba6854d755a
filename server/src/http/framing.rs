//! The parts of a request's head that say where it and its body belong, before any path matters.

use axum::body::Body;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Version, header};

use super::page;

/// Checks a request's host, and the codings of its body.
///
/// Errors: the answer. Without one host it is unknown whose page asks. A body in a coding that is
/// not undone here would be read as something else.
///
/// Source: RFC 9112 sections 3.2 and 6.1, RFC 9113 section 8.3.1, RFC 9110 section 8.4.
#[expect(clippy::result_large_err, reason = "the answer is sent as it is")]
pub(crate) fn check<B>(request: &Request<B>) -> Result<(), Response<Body>> {
    let refuse = |status, text: &str| {
        let mut response = page::text(status, format!("{text}\n"));
        // The bytes behind such a head may not be the next request.
        end(&mut response, request.version() < Version::HTTP_2);
        response
    };
    check_host(request).map_err(|text| refuse(StatusCode::BAD_REQUEST, text))?;
    let headers = request.headers();
    if codings(headers, header::TRANSFER_ENCODING).any(|coding| !coding.eq_ignore_ascii_case("chunked")) {
        let text = "the only transfer coding here is chunked";
        return Err(refuse(StatusCode::NOT_IMPLEMENTED, text));
    }
    if codings(headers, header::TRANSFER_ENCODING).count() > 1 {
        return Err(refuse(StatusCode::BAD_REQUEST, "a body is chunked once"));
    }
    // A body that is not read may have any coding.
    let has_body = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if has_body && codings(headers, header::CONTENT_ENCODING).any(|coding| !coding.eq_ignore_ascii_case("identity")) {
        let mut response = refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "bodies are not compressed here");
        let identity = HeaderValue::from_static("identity");
        response.headers_mut().insert(header::ACCEPT_ENCODING, identity);
        return Err(response);
    }
    Ok(())
}

/// Whether the connection has to end with the answer. `hyper` removes a length beside a transfer
/// coding, so each request with a transfer coding may be one with both (RFC 9112 section 6.1).
pub(crate) fn is_last<B>(request: &Request<B>) -> bool {
    request.version() < Version::HTTP_2 && request.headers().contains_key(header::TRANSFER_ENCODING)
}

/// Ends the connection with this answer, if it is the last one.
pub(crate) fn end(response: &mut Response<Body>, is_last: bool) {
    if is_last {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
    }
}

fn check_host<B>(request: &Request<B>) -> Result<(), &'static str> {
    let mut hosts = request.headers().get_all(header::HOST).into_iter();
    let (host, another) = (hosts.next(), hosts.next());
    if another.is_some() {
        return Err("there are two Host headers");
    }
    let named = match host {
        Some(host) => Some(host.to_str().map_err(|_| "the Host header is no host")?),
        None => None,
    };
    if let Some(host) = named.filter(|host| !host.is_empty()) {
        let parsed: Option<Authority> = host.parse().ok();
        if parsed.is_none_or(|host| host.as_str().contains('@')) {
            return Err("the Host header is no host");
        }
    }
    let authority = request.uri().authority();
    match (request.version(), named, authority) {
        (Version::HTTP_2, Some(host), Some(authority)) if !host.eq_ignore_ascii_case(authority.as_str()) => {
            Err("the Host header is not the :authority")
        }
        (Version::HTTP_2, None, None) => Err("there is no :authority"),
        (Version::HTTP_11, None, _) => Err("there is no Host header"),
        _ => Ok(()),
    }
}

/// The elements of a list of codings. A value that is no text is one of them.
fn codings(headers: &HeaderMap, name: header::HeaderName) -> impl Iterator<Item = &str> {
    let values = headers.get_all(name).into_iter();
    let elements = values.flat_map(|value| value.to_str().unwrap_or("?").split(','));
    elements.map(str::trim).filter(|coding| !coding.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(version: Version, uri: &str, headers: &[(&str, &str)]) -> u16 {
        let request = Request::post(uri).version(version);
        let add = |request: axum::http::request::Builder, (name, value): &(&str, &str)| request.header(*name, *value);
        let request = headers.iter().fold(request, add).body(()).unwrap();
        check(&request).map_or_else(|response| response.status().as_u16(), |()| 200)
    }

    #[test]
    fn a_request_has_one_host() {
        for (version, uri, headers, expected) in [
            (Version::HTTP_11, "/", &[("host", "weir.example:7880")][..], 200),
            (Version::HTTP_11, "/", &[("host", "[2001:db8::1]:7880")], 200),
            (Version::HTTP_11, "/", &[("host", "")], 200),
            (Version::HTTP_11, "/", &[], 400),
            (Version::HTTP_11, "http://weir.example/", &[], 400),
            (Version::HTTP_11, "/", &[("host", "a"), ("host", "a")], 400),
            (Version::HTTP_11, "/", &[("host", "a b")], 400),
            (Version::HTTP_11, "/", &[("host", "a, b")], 400),
            (Version::HTTP_11, "/", &[("host", "a/b")], 400),
            (Version::HTTP_11, "/", &[("host", "ada@weir.example")], 400),
            (Version::HTTP_10, "/", &[], 200),
            (Version::HTTP_10, "/", &[("host", "a"), ("host", "b")], 400),
            (Version::HTTP_2, "https://weir.example/", &[], 200),
            (
                Version::HTTP_2,
                "https://weir.example/",
                &[("host", "Weir.example")],
                200,
            ),
            (
                Version::HTTP_2,
                "https://weir.example/",
                &[("host", "other.example")],
                400,
            ),
            (Version::HTTP_2, "/", &[("host", "weir.example")], 200),
            (Version::HTTP_2, "/", &[], 400),
        ] {
            assert_eq!(status(version, uri, headers), expected, "{version:?} {uri} {headers:?}");
        }
    }

    #[test]
    fn codings_that_are_not_undone_are_refused() {
        for (name, value, expected) in [
            ("transfer-encoding", "chunked", 200),
            ("transfer-encoding", "Chunked", 200),
            ("transfer-encoding", "gzip, chunked", 501),
            ("transfer-encoding", "identity, chunked", 501),
            ("transfer-encoding", "chunked, chunked", 400),
            ("content-encoding", "identity", 200),
            ("content-encoding", "gzip", 415),
            ("content-encoding", "br, gzip", 415),
        ] {
            let headers = [("host", "weir.example"), (name, value)];
            assert_eq!(status(Version::HTTP_11, "/", &headers), expected, "{name}: {value}");
        }
    }
}
