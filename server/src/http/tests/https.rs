//! HTTP beside HTTPS.

use axum::http::Version;

use super::*;
use crate::http::Https;
use crate::tls::Certificates;

/// HTTPS with these settings, and without certificates.
pub(super) fn https(settings: &str) -> Https {
    Https::new(&serde_saphyr::from_str(settings).unwrap(), Certificates::default())
}

async fn ask(server: &Server, peer: &str, method: Method, url: &str, host: &str) -> Response<Body> {
    let request = Request::builder().method(method).uri(url).header(header::HOST, host);
    server.ask(peer, request.body(Body::empty()).unwrap()).await
}

fn value(response: &Response<Body>, name: HeaderName) -> Option<&str> {
    response.headers().get(name)?.to_str().ok()
}

#[tokio::test]
async fn pages_are_redirected_and_other_requests_are_refused() {
    let server = server("{}");
    let get = async |host: &str, path: &str| {
        let url = format!("http://ignored.example{path}");
        ask(&server, STRANGER, Method::GET, &url, host).await
    };
    for (host, path, location) in [
        ("weir.example", "/room?a=b", "https://weir.example:7443/room?a=b"),
        ("weir.example:7880", "/", "https://weir.example:7443/"),
        ("[2001:db8::1]:80", "/x", "https://[2001:db8::1]:7443/x"),
        ("user@evil.example", "/", "https://192.0.2.1:7443/"),
        ("not a host", "/", "https://192.0.2.1:7443/"),
        ("weir.example", "/healthzz", "https://weir.example:7443/healthzz"),
    ] {
        let response = get(host, path).await;
        assert_eq!(response.status(), StatusCode::PERMANENT_REDIRECT, "{host}");
        assert_eq!(value(&response, header::LOCATION), Some(location));
        assert_eq!(value(&response, header::CACHE_CONTROL), Some("no-store"));
        assert_eq!(
            value(&response, header::STRICT_TRANSPORT_SECURITY),
            None,
            "not without TLS"
        );
    }
    let response = get("weir.example", "/rtc?protocol=16&access_token=a.b.c").await;
    assert_eq!(
        response.status(),
        StatusCode::FORBIDDEN,
        "the network has seen its token"
    );
    let mut request = Request::get("http://weir.example/metrics").body(Body::empty()).unwrap();
    request.headers_mut().extend(bearer("a.b.c"));
    assert_eq!(server.ask(STRANGER, request).await.status(), StatusCode::FORBIDDEN);
    for method in [Method::POST, Method::OPTIONS, Method::DELETE] {
        let url = "http://weir.example/whip/v1";
        let response = ask(&server, STRANGER, method, url, "weir.example").await;
        assert_eq!(response.status(), StatusCode::FORBIDDEN);
        let said = text(response).await;
        assert!(said.contains("https://weir.example:7443/whip/v1"), "{said}");
    }
}

#[tokio::test]
async fn this_machine_and_proxies_are_served_without_tls_and_health_is_told_to_all() {
    let server = server("{}");
    let url = |path: &str| format!("http://localhost{path}");
    for (peer, path) in [
        ("127.0.0.1", "/metrics"),
        ("192.0.2.1", "/metrics"),
        ("10.0.0.1", "/healthz"),
        (STRANGER, "/healthz"),
    ] {
        let response = ask(&server, peer, Method::GET, &url(path), "localhost").await;
        assert_eq!(response.status(), StatusCode::OK, "{peer} {path}");
    }
    let token = "/.well-known/acme-challenge/abc";
    let response = ask(&server, STRANGER, Method::GET, &url(token), "localhost").await;
    assert_eq!(response.status(), StatusCode::NOT_FOUND, "no check is expected");
}

#[tokio::test]
async fn browsers_are_told_to_use_tls_only() {
    let server = server("{}");
    let response = ask(&server, STRANGER, Method::GET, "/healthz", "weir.example").await;
    assert_eq!(value(&response, header::STRICT_TRANSPORT_SECURITY), Some("max-age=60"));
    assert_eq!(value(&response, header::X_CONTENT_TYPE_OPTIONS), Some("nosniff"));
    assert!(https("{hsts: 0}").hsts.is_none());
}

#[tokio::test]
async fn the_host_of_http_2_counts_as_that_of_http_1() {
    let server = server("{}");
    for (url, status) in [
        ("https://localhost/metrics", StatusCode::OK),
        ("https://rebound.example/metrics", StatusCode::UNAUTHORIZED),
    ] {
        let request = Request::get(url).version(Version::HTTP_2);
        let response = server.ask("127.0.0.1", request.body(Body::empty()).unwrap()).await;
        assert_eq!(response.status(), status, "{url}");
    }
}
