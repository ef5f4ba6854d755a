//! The operator's page's views and actions, by HTTP.

use super::*;

async fn send(server: &Server, method: &Method, path: &str, token: &str) -> Response<Body> {
    let request = Request::builder().method(method).uri(path);
    let mut request = request.body(Body::empty()).unwrap();
    if !token.is_empty() {
        *request.headers_mut() = bearer(token);
    }
    server.ask(STRANGER, request).await
}

async fn view(server: &Server, path: &str, grants: &[&str]) -> Value {
    body(send(server, &Method::GET, path, &access_token(grants)).await).await
}

const REQUESTS: [(Method, &str); 8] = [
    (Method::GET, "/api/bearer"),
    (Method::GET, "/api/rooms"),
    (Method::GET, "/api/participants"),
    (Method::GET, "/api/audit"),
    (Method::GET, "/api/places"),
    (Method::DELETE, "/api/rooms/lobby"),
    (Method::DELETE, "/api/rooms/lobby/participants/ada"),
    (Method::POST, "/api/rooms/lobby/participants/ada/tracks/TR_1/mute"),
];

#[tokio::test]
async fn administration_is_refused_to_strangers_and_participants() {
    let server = server("{}");
    join(&server, &access_token(&[])).await;
    for (method, path) in &REQUESTS {
        for token in ["", "x.y.z"] {
            let answer = send(&server, method, path, token).await;
            assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{path}");
            assert_eq!(text(answer).await, "the request needs a valid access token\n");
        }
        for grants in [&[][..], &["roomList"]] {
            let answer = send(&server, method, path, &access_token(grants)).await;
            assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{path}");
            assert_eq!(text(answer).await, "this token does not allow it\n");
        }
    }
    let audit = view(&server, "/api/audit", &["roomAdmin"]).await;
    assert_eq!(audit, json!({"entries": []}), "no stranger writes entries");
    assert_eq!(server.controller.population().await, (1, 1));
}

#[tokio::test]
async fn administration_shows_rooms_and_participants_in_pages() {
    let server = server("{}");
    for (room, identity) in [("lobby", "ada"), ("lobby", "<b>ben</b>\u{202e}"), ("attic", "Eve")] {
        let claims = dev::claims("devkey", room, identity, Duration::from_secs(60));
        join(&server, &sign(&claims, &keys()).unwrap()).await;
    }
    let all = ["roomAdmin", "roomList"];
    let names = async |path: &str, list: &str, field: &str, grants: &[&str]| {
        let page = view(&server, path, grants).await;
        let names = page[list].as_array().unwrap().iter().map(|it| it[field].clone());
        (names.collect::<Vec<_>>(), page["total"].as_u64().unwrap())
    };
    let rooms = async |path: &str, grants: &[&str]| names(path, "rooms", "name", grants).await;
    assert_eq!(
        rooms("/api/rooms", &all).await,
        (vec![json!("attic"), json!("lobby")], 2)
    );
    let by_size = rooms("/api/rooms?order=participants&limit=1", &all).await;
    assert_eq!(by_size, (vec![json!("lobby")], 2));
    assert_eq!(
        rooms("/api/rooms?search=TT&offset=0", &all).await,
        (vec![json!("attic")], 1)
    );
    assert_eq!(rooms("/api/rooms?offset=2", &all).await, (vec![], 2));
    assert_eq!(rooms("/api/rooms", &["roomAdmin"]).await, (vec![json!("lobby")], 1));
    let people = async |path: &str, grants: &[&str]| names(path, "participants", "identity", grants).await;
    let marked = json!("<b>ben</b>\u{202e}");
    let everybody = vec![json!("Eve"), marked.clone(), json!("ada")];
    assert_eq!(people("/api/participants", &all).await, (everybody, 3));
    assert_eq!(
        people("/api/participants?offset=1&limit=1", &all).await,
        (vec![marked.clone()], 3)
    );
    assert_eq!(
        people("/api/participants?search=eve", &all).await,
        (vec![json!("Eve")], 1)
    );
    assert_eq!(
        people("/api/participants?room=lobby", &["roomAdmin"]).await,
        (vec![marked, json!("ada")], 2)
    );
    assert_eq!(
        people("/api/participants?identity=ada", &all).await,
        (vec![json!("ada")], 1)
    );
    let receivers = async |path: &str| view(&server, path, &all).await["receivers"].as_array().unwrap().len();
    assert_eq!(receivers("/api/receivers?room=lobby").await, 2);
    assert_eq!(receivers("/api/receivers?room=lobby&identity=ada").await, 1);
    let places = view(&server, "/api/places", &all).await;
    assert!(places["entries"].is_array(), "{places}");
    let of_room = send(&server, &Method::GET, "/api/places", &access_token(&["roomAdmin"])).await;
    assert_eq!(of_room.status(), StatusCode::FORBIDDEN);
    let attic = send(
        &server,
        &Method::GET,
        "/api/participants?room=attic",
        &access_token(&["roomAdmin"]),
    )
    .await;
    assert_eq!(attic.status(), StatusCode::FORBIDDEN);
    let long = format!("search={}", "x".repeat(257));
    for query in ["limit=201", "offset=10001", "offset=-1", "limit=x", "order=age", &long] {
        let answer = send(
            &server,
            &Method::GET,
            &format!("/api/rooms?{query}"),
            &access_token(&all),
        )
        .await;
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{query}");
    }
}

#[tokio::test]
async fn administration_acts_by_grants_and_writes_it_down() {
    let server = server("{}");
    join(&server, &access_token(&[])).await;
    let reading = ["roomAdmin", "roomList"];
    let acting = ["roomAdmin", "roomList", "roomCreate"];
    let may = |bearer: &Value| {
        (
            bearer["room"].clone(),
            bearer["may_close"].clone(),
            bearer["may_moderate"].clone(),
        )
    };
    let bearers = async |grants: &[&str]| may(&view(&server, "/api/bearer", grants).await);
    assert_eq!(
        bearers(&["roomAdmin"]).await,
        (json!("lobby"), json!(false), json!(true))
    );
    assert_eq!(bearers(&reading).await, (json!(null), json!(false), json!(false)));
    assert_eq!(bearers(&acting).await, (json!(null), json!(true), json!(true)));
    let status = async |method: Method, path: &str, grants: &[&str]| {
        send(&server, &method, path, &access_token(grants)).await.status()
    };
    let other = "/api/rooms/attic/participants/eve";
    assert_eq!(status(Method::DELETE, other, &reading).await, StatusCode::FORBIDDEN);
    assert_eq!(status(Method::DELETE, other, &acting).await, StatusCode::NOT_FOUND);
    let mute = "/api/rooms/lobby/participants/ada/tracks/TR_1/mute";
    assert_eq!(status(Method::POST, mute, &["roomAdmin"]).await, StatusCode::NOT_FOUND);
    let ada = "/api/rooms/lobby/participants/ada";
    assert_eq!(status(Method::DELETE, ada, &["roomAdmin"]).await, StatusCode::OK);
    assert_eq!(server.controller.population().await, (1, 0));
    let close = "/api/rooms/lobby";
    assert_eq!(status(Method::DELETE, close, &reading).await, StatusCode::FORBIDDEN);
    assert_eq!(status(Method::DELETE, close, &acting).await, StatusCode::OK);
    assert_eq!(server.controller.population().await, (0, 0));
    let audit = view(&server, "/api/audit", &reading).await;
    let entries = audit["entries"].as_array().unwrap();
    let lines = entries.iter().map(|entry| {
        assert_eq!(
            (&entry["identity"], &entry["api_key"]),
            (&json!("ada"), &json!("devkey"))
        );
        (
            entry["action"].as_str().unwrap(),
            entry["room"].as_str().unwrap(),
            entry["error"].is_null(),
        )
    });
    let expected = [
        ("close_room", "lobby", true),
        ("remove_participant", "lobby", true),
        ("mute", "lobby", false),
        ("remove_participant", "attic", false),
    ];
    assert_eq!(lines.collect::<Vec<_>>(), expected);
    let own = view(&server, "/api/audit", &["roomAdmin"]).await;
    assert_eq!(own["entries"].as_array().unwrap().len(), 3, "of its room only");
}

#[tokio::test]
async fn administration_writes_calls_of_the_server_api_down_too() {
    let server = server("{}");
    join(&server, &access_token(&[])).await;
    let request = Request::post("/twirp/livekit.RoomService/DeleteRoom")
        .header(
            header::AUTHORIZATION,
            format!("Bearer {}", access_token(&["roomCreate"])),
        )
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(json!({"room": "lobby"}).to_string()));
    assert_eq!(server.ask(STRANGER, request.unwrap()).await.status(), StatusCode::OK);
    let audit = view(&server, "/api/audit", &["roomAdmin"]).await;
    assert_eq!(
        (&audit["entries"][0]["action"], &audit["entries"][0]["error"]),
        (&json!("close_room"), &json!(null))
    );
}
