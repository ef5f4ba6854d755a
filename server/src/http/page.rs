//! The meeting page, out of the binary.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, Uri, header};
use controller::limits::JOIN_RETRY_AFTER;
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

/// One file of the page. The page itself is at `/`, for viewers at `/watch/ROOM`, and for operators
/// at `/admin`. Everything else is not here: a client that asks for it wants to know that.
pub(crate) fn file(uri: &Uri) -> Response<Body> {
    let path = uri.path().trim_matches('/');
    let is_watched = path.strip_prefix("watch/").is_some_and(|room| !room.is_empty());
    let is_page = path.is_empty() || path == "admin" || is_watched;
    let found = match Files::get(path) {
        Some(file) => Some((path, file)),
        None if is_page => Files::get("index.html").map(|file| ("index.html", file)),
        None => None,
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

/// An answer that another attempt or another server may change.
pub(crate) fn unavailable(text: String) -> Response<Body> {
    let mut response = self::text(StatusCode::SERVICE_UNAVAILABLE, text);
    response
        .headers_mut()
        .insert(header::RETRY_AFTER, HeaderValue::from(JOIN_RETRY_AFTER));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_at_its_own_paths_only() {
        let status = |path: &'static str| file(&Uri::from_static(path)).status();
        for path in [
            "/api",
            "/api/rooms",
            "//rtc/v9",
            "/twirp/livekit.RoomService/ListRooms",
            "/whip/",
            "/settings/regions",
            "/favicon.ico",
            "/lobby",
            "/admin/login",
            "/watch",
            "/watch/",
            "/../etc/passwd",
        ] {
            assert_eq!(status(path), StatusCode::NOT_FOUND, "{path}");
        }
        let page = status("/");
        assert!(
            ["/admin", "/watch/show.1", "/watch/a%20b", "/watch/a/b"]
                .iter()
                .all(|path| status(path) == page)
        );
    }
}
