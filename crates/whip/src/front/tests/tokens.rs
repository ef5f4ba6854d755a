//! Access to endpoints and sessions.

use super::*;

#[test]
fn a_token_may_stand_in_the_url() {
    let mut world = World::new();
    let authorization = world.authorization("ada", VideoGrant::default());
    let token = authorization.strip_prefix("Bearer ").unwrap();
    let opened = world.post("/whip/v1", &format!("access_token={token}"), None, &published());
    assert_eq!(opened.status, 201, "{}", opened.body);
    let location = header(&opened, "location").to_owned();
    let (path, query) = location.split_once('?').unwrap();
    assert_eq!(query, format!("access_token={token}"), "clients ask for it as it is");
    let mut status = |method, query, body| {
        let request = HttpRequest {
            method,
            path,
            query,
            content_type: Some("application/trickle-ice-sdpfrag"),
            ..HttpRequest::default()
        };
        world.ask(request, body).status
    };
    let candidates = "a=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\n";
    assert_eq!(status("DELETE", "", ""), 401);
    assert_eq!(status("DELETE", "access_token=", ""), 401);
    assert_eq!(status("DELETE", "access_token=a.b.c", ""), 401);
    assert_eq!(status("PATCH", query, candidates), 204);
    assert_eq!(status("DELETE", query, ""), 200);
    let by_header = world.publish("ada");
    assert!(
        !header(&by_header, "location").contains('?'),
        "the header is sent again"
    );
}

#[test]
fn grants_and_headers_are_checked() {
    let mut world = World::new();
    let listener = VideoGrant {
        can_publish: Some(false),
        ..VideoGrant::default()
    };
    let (good, listener) = (
        world.authorization("ada", VideoGrant::default()),
        world.authorization("ada", listener),
    );
    let request = HttpRequest {
        method: "POST",
        path: "/whip/v1",
        authorization: Some(&good),
        content_type: Some("application/sdp"),
        ..HttpRequest::default()
    };
    let json = HttpRequest {
        content_type: Some("application/json"),
        ..request
    };
    assert_eq!(world.ask(json, &published()).status, 415);
    let html = HttpRequest {
        accept: Some("text/html"),
        ..request
    };
    assert_eq!(world.ask(html, &published()).status, 406);
    let forbidden = HttpRequest {
        authorization: Some(&listener),
        ..request
    };
    assert_eq!(world.ask(forbidden, &published()).status, 403);
    let forged = HttpRequest {
        authorization: Some("Bearer a.b.c"),
        ..request
    };
    let answer = world.ask(forged, &published());
    assert_eq!((answer.status, header(&answer, "www-authenticate")), (401, "Bearer"));
    let other = HttpRequest {
        query: "room=attic",
        ..request
    };
    assert_eq!(world.ask(other, &published()).status, 403);
    assert_eq!(world.ask(request, "hello").status, 400);
    let get = HttpRequest {
        method: "GET",
        ..request
    };
    assert_eq!(world.ask(get, "").status, 405);
    assert_eq!(world.ask(request, &published()).status, 201);
}
