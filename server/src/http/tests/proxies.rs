//! Clients behind a proxy.

use super::*;

#[tokio::test]
async fn clients_of_a_proxy_have_a_share_each() {
    let server = server("{}");
    let mut stalled = Vec::new();
    for _ in 0..LIMITS.pending_per_address {
        let request = Request::post("/api/dev-token").header(header::CONTENT_TYPE, "application/json");
        let request = request
            .header(FORWARDED_FOR, "198.51.100.1")
            .body(Body::new(Never))
            .unwrap();
        let mut waiting = Box::pin(server.ask("10.0.0.1", request));
        let polled = tokio::time::timeout(Duration::ZERO, &mut waiting).await;
        assert!(polled.is_err(), "the body has not come");
        stalled.push(waiting);
    }
    let status = async |client| {
        let headers = map(&[(FORWARDED_FOR, client)]);
        server.get("10.0.0.1", "/healthz", headers).await.status()
    };
    assert_eq!(status("198.51.100.1").await, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(status("198.51.100.2").await, StatusCode::OK);
}
