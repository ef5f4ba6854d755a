//! The heads of requests and answers that go from one controller to another.

use std::net::IpAddr;

use axum::body::Body;
use axum::http::header::{self, HeaderName};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Uri, Version};
use bytes::Bytes;
use http_body_util::Full;

use crate::config::is_region;
use crate::websocket::is_asked;

/// Says which client made a request, and how. It counts only over the connections of controllers.
const CLIENT: HeaderName = HeaderName::from_static("weir-client");

/// The region of the client that made a request, if it is known. It counts only there, too.
const REGION: HeaderName = HeaderName::from_static("weir-region");

/// Marks the answer of a controller that does not serve the room. It counts only there, too.
const ELSEWHERE: HeaderName = HeaderName::from_static("weir-elsewhere");

/// Headers about one connection (RFC 9110 section 7.6.1). The length is that of the body that is
/// sent.
const OF_CONNECTION: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::CONTENT_LENGTH,
    header::EXPECT,
];

/// The other controller's headers for a browser. The one that the client reached adds its own.
const OF_ORIGINS: &str = "access-control-";

/// The connection over which a client made a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientLink {
    /// The address of its other end: the client, or a proxy.
    pub peer: IpAddr,
    /// The address that the client connected to.
    pub local: IpAddr,
    /// Whether it is one of TLS.
    pub is_tls: bool,
}

impl ClientLink {
    fn header(self) -> Option<HeaderValue> {
        let scheme = if self.is_tls { "https" } else { "http" };
        HeaderValue::try_from(format!("{scheme} {} {}", self.peer, self.local)).ok()
    }

    /// Takes the client's connection out of a request of another controller; `None` if it is not
    /// there, or malformed.
    pub(crate) fn take(headers: &mut HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(CLIENT).into_iter();
        let (value, another) = (values.next().cloned(), values.next().is_some());
        headers.remove(CLIENT);
        let value = value.filter(|_| !another)?;
        let mut parts = value.to_str().ok()?.split(' ');
        let is_tls = match parts.next()? {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let (peer, local) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        parts.next().is_none().then_some(Self { peer, local, is_tls })
    }
}

/// Takes the region of the client out of a request of another controller; `None` if it is not said,
/// or malformed.
pub(crate) fn take_region(headers: &mut HeaderMap) -> Option<String> {
    let mut values = headers.get_all(REGION).into_iter();
    let (value, another) = (values.next().cloned(), values.next().is_some());
    headers.remove(REGION);
    let region = value.filter(|_| !another)?;
    let region = std::str::from_utf8(region.as_bytes()).ok()?;
    is_region(region).then(|| region.to_owned())
}

/// The request to send for a client's of a region, with its whole body. `None` if the path is none.
///
/// A header of the client that only counts between controllers is replaced or left out.
pub(super) fn request(
    head: &Parts,
    link: ClientLink,
    region: Option<&str>,
    body: Bytes,
) -> Option<Request<Full<Bytes>>> {
    let path = head.uri.path_and_query()?.as_str();
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = head.method.clone();
    *request.uri_mut() = path.parse::<Uri>().ok()?;
    *request.version_mut() = Version::HTTP_11;
    let upgrade = head.headers.get(header::UPGRADE).filter(|_| is_asked(head));
    let headers = request.headers_mut();
    *headers = end_to_end(&head.headers);
    headers.insert(CLIENT, link.header()?);
    headers.remove(ELSEWHERE);
    headers.remove(REGION);
    if let Some(region) = region.and_then(|region| HeaderValue::try_from(region.as_bytes()).ok()) {
        headers.insert(REGION, region);
    }
    if let Some(upgrade) = upgrade {
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, upgrade.clone());
    }
    if !headers.contains_key(header::HOST) {
        // HTTP/1.0 has none, and HTTP/1.1 needs one.
        headers.insert(header::HOST, HeaderValue::from_static(""));
    }
    Some(request)
}

/// The answer of another controller, for the client; `None` if the controller does not serve the
/// room.
pub(super) fn answer<B>(mut answer: Response<B>) -> Option<Response<B>> {
    if answer.headers_mut().remove(ELSEWHERE).is_some() {
        return None;
    }
    let upgrade = answer.headers().get(header::UPGRADE).cloned();
    let upgrade = upgrade.filter(|_| answer.status() == StatusCode::SWITCHING_PROTOCOLS);
    let mut headers = end_to_end(answer.headers());
    headers.remove(CLIENT);
    let of_origins = headers.keys().filter(|name| name.as_str().starts_with(OF_ORIGINS));
    for name in of_origins.cloned().collect::<Vec<_>>() {
        headers.remove(name);
    }
    if let Some(upgrade) = upgrade {
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, upgrade);
    }
    *answer.headers_mut() = headers;
    *answer.version_mut() = Version::default();
    Some(answer)
}

/// Marks an answer: this controller does not serve the room of the request.
pub(crate) fn mark_elsewhere(answer: &mut Response<Body>) {
    answer.headers_mut().insert(ELSEWHERE, HeaderValue::from_static("1"));
}

/// The headers that are not about the connection they came over. Others that `Connection` lists
/// stay, unlike with a proxy: access depends on headers, and the two controllers are one server.
fn end_to_end(all: &HeaderMap) -> HeaderMap {
    let mut headers = all.clone();
    for name in OF_CONNECTION {
        headers.remove(name);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: ClientLink = ClientLink {
        peer: IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)),
        local: IpAddr::V6(std::net::Ipv6Addr::LOCALHOST),
        is_tls: true,
    };

    fn head(headers: &[(&str, &str)]) -> Parts {
        let request = Request::post("https://weir.example/a//b?c=%20");
        let add = |request: axum::http::request::Builder, (name, value): &(&str, &str)| request.header(*name, *value);
        let request = headers.iter().fold(request, add).body(()).unwrap();
        request.into_parts().0
    }

    #[test]
    fn the_clients_connection_survives_the_way() {
        for is_tls in [false, true] {
            let link = ClientLink { is_tls, ..LINK };
            let mut sent = request(&head(&[]), link, None, Bytes::new()).unwrap();
            assert_eq!(sent.uri(), "/a//b?c=%20");
            assert_eq!(ClientLink::take(sent.headers_mut()), Some(link));
            assert_eq!(ClientLink::take(sent.headers_mut()), None, "it is taken out");
        }
    }

    #[test]
    fn a_forged_connection_is_replaced() {
        let forged = ("weir-client", "https 127.0.0.1 127.0.0.1");
        let mut sent = request(&head(&[forged, forged]), LINK, None, Bytes::new()).unwrap();
        assert_eq!(ClientLink::take(sent.headers_mut()), Some(LINK));
    }

    #[test]
    fn the_clients_region_survives_the_way_and_a_forged_one_is_replaced() {
        let forged = head(&[("weir-region", "south"), ("weir-region", "west")]);
        for region in [Some("north"), Some("zürich"), None] {
            let mut sent = request(&forged, LINK, region, Bytes::new()).unwrap();
            assert_eq!(take_region(sent.headers_mut()).as_deref(), region);
            assert_eq!(take_region(sent.headers_mut()), None, "it is taken out");
        }
        for malformed in ["", &"n".repeat(256)] {
            let mut headers = HeaderMap::new();
            headers.insert(REGION, HeaderValue::from_str(malformed).unwrap());
            assert_eq!(take_region(&mut headers), None);
        }
    }

    #[test]
    fn a_malformed_connection_is_none() {
        for value in [
            "",
            "https",
            "ftp ::1 ::1",
            "https ::1",
            "https ::1 ::1 ::1",
            "https a b",
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(CLIENT, HeaderValue::from_static(value));
            assert_eq!(ClientLink::take(&mut headers), None, "{value:?}");
        }
        let mut twice = HeaderMap::new();
        for _ in 0..2 {
            twice.append(CLIENT, LINK.header().unwrap());
        }
        assert_eq!(ClientLink::take(&mut twice), None);
        assert!(twice.is_empty());
    }

    #[test]
    fn headers_of_a_connection_stay_behind() {
        let said = [
            ("connection", "close, x-forwarded-for, host"),
            ("x-forwarded-for", "192.0.2.7"),
            ("host", "weir.example"),
            ("authorization", "Bearer t"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "websocket"),
            ("weir-elsewhere", "1"),
            ("weir-region", "forged"),
        ];
        let sent = request(&head(&said), LINK, None, Bytes::from_static(b"abc")).unwrap();
        let mut names: Vec<_> = sent.headers().keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["authorization", "host", "weir-client", "x-forwarded-for"]);
    }

    #[test]
    fn an_answer_of_the_wrong_controller_is_none() {
        let mut wrong = Response::new(Body::empty());
        mark_elsewhere(&mut wrong);
        assert!(answer(wrong).is_none());
        let right = Response::builder()
            .header("access-control-allow-origin", "https://a.example")
            .header("location", "/whip/v1/1")
            .header("connection", "close")
            .body(());
        let right = answer(right.unwrap()).unwrap();
        let names: Vec<_> = right.headers().keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["location"]);
    }
}
