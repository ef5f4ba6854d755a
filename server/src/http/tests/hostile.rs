//! Requests whose headers, paths and bodies are not what they have to be.

use super::*;

/// No text in any encoding.
const BYTES: &[u8] = b"\xff\xc0\xaf";
const ROOMS: &str = "/twirp/livekit.RoomService/ListRooms";
const SDP: &str = "application/sdp";
const FRAGMENT: &str = "application/trickle-ice-sdpfrag";

/// The status of an answer.
async fn status(server: &Server, method: &str, path: &str, headers: &[(HeaderName, HeaderValue)]) -> u16 {
    let request = Request::builder().method(method).uri(path);
    let mut request = request.body(Body::from("hello")).unwrap();
    request.headers_mut().extend(headers.iter().cloned());
    server.ask(STRANGER, request).await.status().as_u16()
}

fn garbled(name: HeaderName) -> (HeaderName, HeaderValue) {
    (name, HeaderValue::from_bytes(BYTES).unwrap())
}

fn kind(text: &'static str) -> (HeaderName, HeaderValue) {
    (header::CONTENT_TYPE, HeaderValue::from_static(text))
}

fn good_token() -> (HeaderName, HeaderValue) {
    let token = access_token(&["roomAdmin", "roomList"]);
    let value = HeaderValue::from_str(&format!("Bearer {token}")).unwrap();
    (header::AUTHORIZATION, value)
}

#[tokio::test]
async fn a_token_that_is_no_text_is_none() {
    let server = server("{}");
    for (method, path, content_type) in [
        ("POST", ROOMS, "application/json"),
        ("POST", "/whip/v1", SDP),
        ("POST", "/whep/v1", SDP),
        ("POST", "/whep/v1?room=%ff%fe", SDP),
        ("GET", "/agent", SDP),
        ("GET", "/agent?access_token=%ff%fe", SDP),
        ("GET", "/rtc", SDP),
        ("GET", "/rtc?access_token=%ff%fe", SDP),
        ("GET", "/rtc/validate", SDP),
        ("GET", "/api/receivers", SDP),
    ] {
        let headers = [garbled(header::AUTHORIZATION), kind(content_type)];
        assert_eq!(status(&server, method, path, &headers).await, 401, "{method} {path}");
    }
}

#[tokio::test]
async fn other_headers_that_are_no_text_are_as_if_absent() {
    let server = server("{}");
    for (method, path, headers, expected) in [
        ("POST", ROOMS, vec![garbled(header::CONTENT_TYPE)], 404),
        ("POST", "/whip/v1", vec![garbled(header::CONTENT_TYPE)], 415),
        ("PATCH", "/whip/v1/PA_x", vec![garbled(header::CONTENT_TYPE)], 415),
        ("POST", "/whip/v1", vec![kind(SDP), garbled(header::ACCEPT)], 400),
        (
            "PATCH",
            "/whip/v1/PA_x",
            vec![kind(FRAGMENT), garbled(header::IF_MATCH)],
            400,
        ),
    ] {
        let headers = [headers, vec![good_token(), garbled(header::USER_AGENT)]].concat();
        assert_eq!(
            status(&server, method, path, &headers).await,
            expected,
            "{method} {path}"
        );
    }
}

#[tokio::test]
async fn paths_that_are_no_text_lead_nowhere() {
    let server = server("{}");
    for (method, path) in [
        ("POST", "/twirp/livekit.RoomService/%ff%fe"),
        ("POST", "/twirp/%00"),
        ("PATCH", "/whip/v1/%ff%fe/x"),
        ("POST", "/%ff/v1"),
        ("POST", "/whip/%76%31"),
        ("PUT", "/agent%ff"),
    ] {
        assert_eq!(
            status(&server, method, path, &[good_token(), kind(SDP)]).await,
            404,
            "{method} {path}"
        );
    }
}

#[tokio::test]
async fn requests_for_a_token_of_the_page_are_checked() {
    let server = server("{}");
    let deep = format!("{{\"x\": {}", "[".repeat(3000)).into_bytes();
    for (content_type, body, expected) in [
        ("text/plain", b"{}".to_vec(), 415),
        ("application/json", Vec::new(), 400),
        ("application/json", b"[".to_vec(), 400),
        ("application/json", b"{\"room\": \"\xff\"}".to_vec(), 400),
        ("application/json", b"{\"room\": 1, \"name\": \"ada\"}".to_vec(), 422),
        ("application/json", deep, 400),
        ("application/json", vec![b' '; 5 << 10], 413),
    ] {
        let shown = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
        let request = Request::post("/api/dev-token").header(header::CONTENT_TYPE, content_type);
        let answer = server.ask("127.0.0.1", request.body(Body::from(body)).unwrap()).await;
        assert_eq!(answer.status().as_u16(), expected, "{shown}");
    }
}
