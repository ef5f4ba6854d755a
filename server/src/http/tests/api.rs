//! The server API, with a real controller behind it.

use access::{Claims, VideoGrant};
use axum::http::HeaderName;

use super::*;

const JSON: &str = "application/json";

/// A token with every grant that rooms need, for the lobby.
fn everything() -> String {
    signed(|claims| {
        let video = &mut claims.video;
        (video.room_admin, video.room_create, video.room_list) = (true, true, true);
    })
}

fn signed(change: impl FnOnce(&mut Claims)) -> String {
    let mut claims = dev::claims("devkey", "lobby", "ada", Duration::from_secs(60));
    change(&mut claims);
    sign(&claims, &keys()).unwrap()
}

impl Server {
    async fn call(&self, method: &str, token: &str, content_type: &str, body: impl Into<Body>) -> Response<Body> {
        let request = Request::post(format!("/twirp/livekit.RoomService/{method}"))
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .header(header::CONTENT_TYPE, content_type)
            .body(body.into())
            .unwrap();
        self.ask(STRANGER, request).await
    }

    /// The answer to a call in JSON that succeeds.
    async fn done(&self, method: &str, request: Value) -> Value {
        body(self.call(method, &everything(), JSON, request.to_string()).await).await
    }

    /// Status and code of a call that fails.
    async fn failed(&self, method: &str, request: Value) -> (u16, String) {
        failure(self.call(method, &everything(), JSON, request.to_string()).await).await
    }
}

async fn failure(response: Response<Body>) -> (u16, String) {
    let status = response.status().as_u16();
    assert_eq!(response.headers()[header::CONTENT_TYPE], JSON);
    let body: Value = serde_json::from_str(&text(response).await).unwrap();
    (status, body["code"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn rooms_are_created_listed_changed_and_deleted() {
    let server = server("{}");
    let created = server
        .done(
            "CreateRoom",
            json!({"name": "attic", "maxParticipants": 2, "metadata": "m"}),
        )
        .await;
    assert_eq!(
        (&created["name"], &created["max_participants"]),
        (&json!("attic"), &json!(2))
    );
    let rooms = server.done("ListRooms", json!({})).await;
    assert_eq!(rooms["rooms"], json!([created]));
    let rooms = server.done("ListRooms", json!({"names": ["cellar"]})).await;
    assert_eq!(rooms, json!({"rooms": []}));
    server.done("CreateRoom", json!({"name": "lobby"})).await;
    let changed = server
        .done("UpdateRoomMetadata", json!({"room": "lobby", "metadata": "new"}))
        .await;
    assert_eq!(changed["metadata"], "new");
    assert_eq!(server.done("DeleteRoom", json!({"room": "lobby"})).await, json!({}));
    let gone = server.failed("DeleteRoom", json!({"room": "lobby"})).await;
    assert_eq!(gone, (404, "not_found".to_owned()));
}

#[tokio::test]
async fn participants_are_seen_changed_and_removed() {
    let server = server("{}");
    join(&server, &access_token(&[])).await;
    let of = |identity: &str| json!({"room": "lobby", "identity": identity});
    let all = server.done("ListParticipants", json!({"room": "lobby"})).await;
    assert_eq!(all["participants"][0]["identity"], "ada");
    assert_eq!(server.done("GetParticipant", of("ada")).await["state"], "JOINED");
    let changed = server
        .done(
            "UpdateParticipant",
            json!({"room": "lobby", "identity": "ada", "name": "Ada", "attributes": {"a": "b"},
                   "permission": {"canSubscribe": true, "canPublishSources": ["CAMERA"]}}),
        )
        .await;
    assert_eq!(
        (&changed["name"], &changed["attributes"]),
        (&json!("Ada"), &json!({"a": "b"}))
    );
    let permission = &changed["permission"];
    assert_eq!(
        (&permission["can_publish"], &permission["can_publish_sources"]),
        (&json!(false), &json!(["CAMERA"]))
    );
    let mut track = of("ada");
    track["trackSid"] = json!("TR_none");
    track["muted"] = json!(true);
    assert_eq!(server.failed("MutePublishedTrack", track).await.0, 404);
    assert_eq!(server.done("RemoveParticipant", of("ada")).await, json!({}));
    let gone = server.failed("GetParticipant", of("ada")).await;
    assert_eq!(gone, (404, "not_found".to_owned()));
}

#[tokio::test]
async fn tokens_and_grants_are_checked_before_a_body_is_read() {
    let server = server("{}");
    let never = || Body::new(Never);
    for token in ["", "nonsense", &access_token(&[]), &access_token(&["roomAdmin"])] {
        let refused = server.call("ListRooms", token, JSON, never()).await;
        assert_eq!(failure(refused).await, (401, "unauthenticated".to_owned()));
    }
    let request = Request::post("/twirp/livekit.RoomService/ListRooms").header(header::CONTENT_TYPE, JSON);
    let refused = server.ask(STRANGER, request.body(never()).unwrap()).await;
    assert_eq!(failure(refused).await, (401, "unauthenticated".to_owned()));
    let of_another = signed(|claims| (claims.video.room_admin, claims.video.room) = (true, "attic".to_owned()));
    let body = json!({"room": "lobby"}).to_string();
    let refused = server.call("ListParticipants", &of_another, JSON, body).await;
    assert_eq!(failure(refused).await, (401, "unauthenticated".to_owned()));
}

#[tokio::test]
async fn absent_services_say_so_and_unknown_ones_are_bad_routes() {
    let server = server("{}");
    let token = signed(|claims| claims.video.room_record = true);
    let ask = async |path: &str| {
        let request = Request::post(path)
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .header(header::CONTENT_TYPE, JSON);
        failure(server.ask(STRANGER, request.body(Body::from("{}")).unwrap()).await).await
    };
    for path in ["/twirp/livekit.Egress/ListEgress", "//twirp/livekit.Egress/ListEgress"] {
        assert_eq!(ask(path).await, (501, "unimplemented".to_owned()), "{path}");
    }
    for path in [
        "/twirp/livekit.Egress/Fly",
        "/twirp/x",
        "/twirp/",
        "/twirp/livekit.Rooms/List",
    ] {
        assert_eq!(ask(path).await, (404, "bad_route".to_owned()), "{path}");
    }
    let response = server
        .get(STRANGER, "/twirp/livekit.RoomService/ListRooms", HeaderMap::new())
        .await;
    assert_eq!(failure(response).await, (404, "bad_route".to_owned()));
}

#[tokio::test]
async fn a_browser_elsewhere_may_read_the_answers() {
    let server = server("{}");
    let request = Request::post("/twirp/livekit.RoomService/ListRooms")
        .header(HeaderName::from_static("origin"), "https://meet.example")
        .header(header::CONTENT_TYPE, JSON);
    let response = server.ask(STRANGER, request.body(Body::empty()).unwrap()).await;
    assert_eq!(
        response.headers()[header::ACCESS_CONTROL_ALLOW_ORIGIN],
        "https://meet.example"
    );
}

#[tokio::test]
async fn large_bodies_are_refused_and_large_messages_are_not() {
    let server = server("{}");
    let metadata = |len| json!({"name": "lobby", "metadata": "\u{1}".repeat(len)}).to_string();
    let done = server.call("CreateRoom", &everything(), JSON, metadata(64 << 10)).await;
    assert_eq!(done.status(), StatusCode::OK);
    let refused = server
        .call("CreateRoom", &everything(), JSON, metadata((64 << 10) + 1))
        .await;
    assert_eq!(failure(refused).await, (400, "invalid_argument".to_owned()));
    let refused = server
        .call("CreateRoom", &everything(), JSON, vec![b' '; (1 << 20) + 1])
        .await;
    assert_eq!(failure(refused).await, (413, "malformed".to_owned()));
}

#[tokio::test]
async fn large_bodies_that_do_not_arrive_delay_no_small_one() {
    let server = server("{}");
    let token = everything();
    let mut stalled = Vec::new();
    for _ in 0..80 {
        let mut call = Box::pin(server.call("ListRooms", &token, JSON, Body::new(Never)));
        assert!(tokio::time::timeout(Duration::ZERO, &mut call).await.is_err());
        stalled.push(call);
    }
    let rooms = tokio::time::timeout(Duration::from_secs(5), server.done("ListRooms", json!({}))).await;
    assert_eq!(rooms.unwrap(), json!({"rooms": []}));
}

#[tokio::test]
async fn large_bodies_of_one_address_leave_places_to_others() {
    let server = server("{}");
    let create = |peer: &'static str, body: Body| {
        let request = Request::post("/twirp/livekit.RoomService/CreateRoom")
            .header(header::AUTHORIZATION, format!("Bearer {}", everything()))
            .header(header::CONTENT_TYPE, JSON)
            .body(body)
            .unwrap();
        server.ask(peer, request)
    };
    let mut stalled = Vec::new();
    for _ in 0..80 {
        let mut call = Box::pin(create(STRANGER, Body::new(Never)));
        assert!(tokio::time::timeout(Duration::ZERO, &mut call).await.is_err());
        stalled.push(call);
    }
    let large = || json!({"name": "lobby", "metadata": "x".repeat(32 << 10)}).to_string();
    let made = tokio::time::timeout(Duration::from_secs(5), create("203.0.113.9", large().into())).await;
    assert!(made.is_ok_and(|made| made.status() == StatusCode::OK));
    assert!(
        tokio::time::timeout(Duration::ZERO, &mut stalled[0]).await.is_err(),
        "another address does not wait until a call gives way"
    );
    // Of the same address a call waits until the oldest that does not go on gives way.
    assert_eq!(create(STRANGER, large().into()).await.status(), StatusCode::OK);
    let evicted = tokio::time::timeout(Duration::ZERO, &mut stalled[0])
        .await
        .expect("an answer");
    assert_eq!(failure(evicted).await, (429, "resource_exhausted".to_owned()));
}

#[tokio::test]
async fn agents_are_dispatched_listed_and_dismissed() {
    let server = server("{}");
    let ask = async |method: &str, request: Value| {
        let request = Request::post(format!("/twirp/livekit.AgentDispatchService/{method}"))
            .header(header::AUTHORIZATION, format!("Bearer {}", everything()))
            .header(header::CONTENT_TYPE, JSON)
            .body(Body::from(request.to_string()))
            .unwrap();
        server.ask(STRANGER, request).await
    };
    // The node reports that it is ready as soon as it runs; until then no room is created.
    let made = loop {
        let answer = ask("CreateDispatch", json!({"room": "lobby", "agentName": "scribe"})).await;
        if answer.status() == StatusCode::OK {
            break body(answer).await;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    assert_eq!(
        (&made["agent_name"], &made["room"]),
        (&json!("scribe"), &json!("lobby"))
    );
    let listed = body(ask("ListDispatch", json!({"room": "lobby", "dispatchId": made["id"]})).await).await;
    assert_eq!(listed, json!({"agent_dispatches": [made]}));
    let gone = body(ask("DeleteDispatch", json!({"room": "lobby", "dispatchId": made["id"]})).await).await;
    assert_eq!(gone["id"], made["id"]);
    let absent = ask("DeleteDispatch", json!({"room": "lobby", "dispatchId": made["id"]})).await;
    assert_eq!(failure(absent).await, (404, "not_found".to_owned()));
    let other = ask("ListDispatch", json!({"room": "attic"})).await;
    assert_eq!(failure(other).await, (401, "unauthenticated".to_owned()));
}

#[tokio::test]
async fn only_workers_with_the_grant_reach_the_path_of_agents() {
    let server = server("{}");
    let status = async |token: &str| server.get(STRANGER, "/agent", bearer(token)).await.status();
    assert_eq!(status(&everything()).await, StatusCode::UNAUTHORIZED);
    let of_a_room = signed(|claims| claims.video.agent = true);
    assert_eq!(status(&of_a_room).await, StatusCode::UNAUTHORIZED);
    let worker = signed(|claims| {
        claims.video = VideoGrant {
            agent: true,
            ..VideoGrant::default()
        }
    });
    assert_eq!(status(&worker).await, StatusCode::NOT_FOUND, "it is a WebSocket");
}

#[tokio::test]
async fn a_server_that_ends_is_unavailable() {
    let mut server = server("{}");
    server.task.abort();
    assert!((&mut server.task).await.is_err());
    let failed = server.failed("ListRooms", json!({})).await;
    assert_eq!(failed, (503, "unavailable".to_owned()));
}

#[tokio::test]
async fn paths_of_other_protocols_are_not_the_page() {
    let server = server("{}");
    for path in [
        "/api/rooms/",
        "/twirp/livekit.RoomService/ListRooms",
        "/rtc/v2",
        "/settings/regions",
        "/metrics/all",
    ] {
        for method in [Method::GET, Method::POST] {
            let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
            assert_eq!(
                server.ask(STRANGER, request).await.status(),
                StatusCode::NOT_FOUND,
                "{path}"
            );
        }
    }
}
