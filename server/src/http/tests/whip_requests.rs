//! WHIP and WHEP through the program's routes.

use axum::body::{Body, to_bytes};
use axum::http::{HeaderValue, Request, Response, StatusCode, header};

use super::{LIMITS, Never, STRANGER, Server, access_token, server};

/// An offer of one audio section.
pub(super) fn offer(direction: &str) -> String {
    let fingerprint = ["AB"; 32].join(":");
    format!(
        "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n\
         m=audio 9 UDP/TLS/RTP/SAVPF 111\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\na=ice-ufrag:abcd\r\n\
         a=ice-pwd:0123456789012345678901\r\na=fingerprint:sha-256 {fingerprint}\r\na=setup:actpass\r\n\
         a={direction}\r\na=rtcp-mux\r\na=rtpmap:111 opus/48000/2\r\n"
    )
}

async fn post(server: &Server, path: &str, body: impl Into<Body>) -> Response<Body> {
    let token = access_token(&[]);
    let request = Request::post(path)
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
        .header(header::CONTENT_TYPE, "application/sdp");
    server.ask(STRANGER, request.body(body.into()).unwrap()).await
}

/// Publishes as soon as the node has reported that it is ready.
async fn publish(server: &Server) -> Response<Body> {
    loop {
        let answer = post(server, "/whip/v1", offer("sendonly")).await;
        if answer.status() != StatusCode::SERVICE_UNAVAILABLE {
            return answer;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_session_is_opened_and_ended_by_single_requests() {
    let server = server("{}");
    let opened = publish(&server).await;
    assert_eq!(opened.status(), StatusCode::CREATED);
    let location = opened.headers()[header::LOCATION].to_str().unwrap().to_owned();
    assert!(opened.headers().contains_key(header::ETAG));
    let answer = to_bytes(opened.into_body(), 1 << 20).await.unwrap();
    assert!(answer.starts_with(b"v=0\r\n"));
    let delete = |body: &'static str| {
        let token = access_token(&[]);
        let request = Request::delete(&location).header(header::AUTHORIZATION, format!("Bearer {token}"));
        request.body(Body::from(body)).unwrap()
    };
    let ended = server.ask(STRANGER, delete("without a meaning")).await;
    assert_eq!(ended.status(), StatusCode::OK);
    assert_eq!(server.ask(STRANGER, delete("")).await.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn bodies_are_bounded() {
    let server = server("{}");
    let long = "v=0\r\n".repeat(1 << 16);
    assert_eq!(
        post(&server, "/whip/v1", long).await.status(),
        StatusCode::PAYLOAD_TOO_LARGE
    );
    assert_eq!(
        post(&server, "/whip/v1", "hello").await.status(),
        StatusCode::BAD_REQUEST
    );
}

#[tokio::test]
async fn the_token_of_a_request_about_a_session_is_verified_before_its_body() {
    let server = server("{}");
    for method in ["PATCH", "DELETE"] {
        for (path, token) in [
            ("/whip/v1/PA_a", None),
            ("/whip/v1/PA_a", Some("Bearer a.b.c")),
            ("/whep/v1/PA_a", Some("Bearer a.b.c")),
        ] {
            let mut request = Request::builder().method(method).uri(path);
            let headers = request.headers_mut().unwrap();
            headers.insert(
                header::CONTENT_TYPE,
                HeaderValue::from_static("application/trickle-ice-sdpfrag"),
            );
            headers.extend(token.map(|token| (header::AUTHORIZATION, HeaderValue::from_static(token))));
            let refused = server.ask(STRANGER, request.body(Body::new(Never)).unwrap()).await;
            assert_eq!(refused.status(), StatusCode::UNAUTHORIZED, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn offers_that_do_not_come_take_no_places_of_sessions() {
    let server = server("{}");
    let mut stalled = Vec::new();
    for _ in 0..2 * LIMITS.per_address {
        let mut opening = Box::pin(post(&server, "/whip/v1", Body::new(Never)));
        let polled = tokio::time::timeout(std::time::Duration::ZERO, &mut opening).await;
        assert!(polled.is_err(), "the offer has not come");
        stalled.push(opening);
    }
    assert_eq!(publish(&server).await.status(), StatusCode::CREATED);
}

#[tokio::test]
async fn anybody_may_ask_for_a_room_that_may_be_watched() {
    let server = server("{}");
    publish(&server).await;
    let ask = async |room: &str| {
        let request = Request::post(format!("/whep/v1?room={room}")).header(header::CONTENT_TYPE, "application/sdp");
        let request = request.body(Body::from(offer("recvonly"))).unwrap();
        server.ask(STRANGER, request).await.status()
    };
    assert_eq!(ask("show").await, StatusCode::CONFLICT, "nobody publishes there");
    assert_eq!(ask("lobby").await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn endpoints_and_sessions_say_what_they_take() {
    let server = server("{}");
    let ask = async |path: &str, name: &str| {
        let request = Request::builder()
            .method("OPTIONS")
            .uri(path)
            .body(Body::empty())
            .unwrap();
        let answer = server.ask(STRANGER, request).await;
        assert!(answer.status().is_success());
        answer
            .headers()
            .get(name)
            .map(|value| value.to_str().unwrap().to_owned())
    };
    assert_eq!(ask("/whip/v1", "accept-post").await.as_deref(), Some("application/sdp"));
    assert_eq!(ask("/whep/v1", "accept-post").await.as_deref(), Some("application/sdp"));
    let fragment = "application/trickle-ice-sdpfrag";
    assert_eq!(ask("/whip/v1/PA_a", "accept-patch").await.as_deref(), Some(fragment));
    assert_eq!(ask("/rtc", "accept-post").await, None);
}
