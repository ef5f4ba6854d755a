//! The meeting page, out of the binary.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, Uri, header};
use rust_embed::{Embed, EmbeddedFile};

/// The page runs and shows nothing but its own files, and is shown in no other. It may connect to
/// any server, since its address can name one. Under HTTPS, browsers let it connect over TLS only.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; connect-src *; \
                      img-src 'self' data: blob:; media-src 'self' blob: mediastream:; worker-src 'self' blob:; \
                      manifest-src 'self'; form-action 'self'; frame-ancestors 'self'; base-uri 'none'";

/// The devices that the page uses, and the capabilities that no script of it gets.
const PERMISSIONS: &str =
    "camera=(self), microphone=(self), display-capture=(self), geolocation=(), payment=(), usb=()";

const PERMISSIONS_POLICY: HeaderName = HeaderName::from_static("permissions-policy");
const CROSS_ORIGIN_OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// The output of `make page`.
#[derive(Embed)]
#[folder = "../web/dist"]
#[allow_missing = true]
struct Files;

/// First parts of paths that are a protocol's or an operator's, served here or not: a client that
/// asks for one wants to know that it is not here.
const RESERVED: [&str; 13] = [
    ".well-known",
    "agent",
    "api",
    "debug",
    "healthz",
    "metrics",
    "readyz",
    "rtc",
    "settings",
    "sip",
    "twirp",
    "whep",
    "whip",
];

/// One file of the page. Paths without a file name are the page itself, which finds its room in the
/// address; so are those of viewers, whose room may have a dot.
pub(crate) fn file(uri: &Uri) -> Response<Body> {
    let path = uri.path().trim_matches('/');
    let first = path.split('/').next().unwrap_or_default();
    let found = match Files::get(path) {
        Some(file) => Some((path, file)),
        None if RESERVED.contains(&first) || (path.contains('.') && first != "watch") => None,
        None => Files::get("index.html").map(|file| ("index.html", file)),
    };
    match found {
        Some((path, file)) => respond(path, file),
        None if path.is_empty() => text(
            StatusCode::NOT_FOUND,
            "The meeting page is not in this build: `make build` puts it there.\n",
        ),
        None => text(StatusCode::NOT_FOUND, "not found\n"),
    }
}

fn respond(path: &str, file: EmbeddedFile) -> Response<Body> {
    let kind = mime_guess::from_path(path).first_or_octet_stream();
    // Names under assets/ carry a hash of their content; everything else is asked for again.
    let cache = if path.starts_with("assets/") {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    let mut response = Response::new(Body::from(file.data));
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_str(kind.as_ref()).expect("media types are ASCII"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(PERMISSIONS_POLICY, HeaderValue::from_static(PERMISSIONS));
    headers.insert(CROSS_ORIGIN_OPENER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

/// A plain answer.
pub(crate) fn text(status: StatusCode, text: impl Into<String>) -> Response<Body> {
    let mut response = Response::new(Body::from(text.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_protocols_are_not_the_page() {
        let status = |path: &'static str| file(&Uri::from_static(path)).status();
        for path in [
            "/api",
            "/api/rooms",
            "//rtc/v9",
            "/twirp/livekit.RoomService/ListRooms",
            "/whip/",
            "/settings/regions",
            "/favicon.ico",
        ] {
            assert_eq!(status(path), StatusCode::NOT_FOUND, "{path}");
        }
        let page = status("/");
        assert!(
            ["/lobby", "/apiary", "/my/agent", "/watch/show.1"]
                .iter()
                .all(|path| status(path) == page || page == StatusCode::NOT_FOUND)
        );
    }
}
