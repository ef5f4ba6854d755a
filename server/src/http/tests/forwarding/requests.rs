//! Single requests: WHIP and WHEP, the server API, and the state of receivers.

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::super::whip_requests::offer;
use super::super::*;
use super::world::{Controller, elsewhere, two};
use crate::cluster::location::Location;

/// A token with every grant that rooms need, for a room.
fn administrator(room: &str) -> String {
    let mut claims = dev::claims("devkey", room, "ada", Duration::from_secs(60));
    let video = &mut claims.video;
    (video.room_admin, video.room_create, video.room_list) = (true, true, true);
    sign(&claims, &keys()).unwrap()
}

async fn call(controller: &Controller, room: &str, method: &str, request: Value) -> Response<Body> {
    let request = Request::post(format!("/twirp/livekit.RoomService/{method}"))
        .header(header::HOST, "weir.example")
        .header(header::AUTHORIZATION, format!("Bearer {}", administrator(room)))
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(request.to_string()));
    controller.server.ask(STRANGER, request.unwrap()).await
}

async fn whip(controller: &Controller, method: &str, path: &str, body: &str) -> Response<Body> {
    let kind = match method {
        "POST" => "application/sdp",
        _ => "application/trickle-ice-sdpfrag",
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::HOST, "weir.example")
        .header(header::ORIGIN, "https://page.example")
        .header(header::AUTHORIZATION, format!("Bearer {}", access_token(&[])))
        .header(header::CONTENT_TYPE, kind)
        .body(Body::from(body.to_owned()));
    controller.server.ask(STRANGER, request.unwrap()).await
}

#[tokio::test]
async fn a_session_of_whip_is_reached_by_any_controller() {
    let [one, two] = two().await;
    let opened = whip(&two, "POST", "/whip/v1", &offer("sendonly")).await;
    assert_eq!(opened.status(), StatusCode::CREATED);
    let location = opened.headers()[header::LOCATION].to_str().unwrap().to_owned();
    assert!(location.starts_with("/whip/v1/bG9iYnk/PA_"), "{location}");
    let origins: Vec<_> = opened
        .headers()
        .get_all(header::ACCESS_CONTROL_ALLOW_ORIGIN)
        .iter()
        .collect();
    assert_eq!(origins, ["https://page.example"], "a browser takes one only");
    assert!(text(opened).await.starts_with("v=0\r\n"));
    assert_eq!(one.server.controller.population().await, (1, 1));
    let fragment = "a=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\n";
    let trickled = whip(&two, "PATCH", &location, fragment).await;
    assert_eq!(trickled.status(), StatusCode::NO_CONTENT);
    // Its controller takes the older form of the path as well.
    let older = location.replace("/bG9iYnk", "");
    assert_eq!(
        whip(&one, "PATCH", &older, fragment).await.status(),
        StatusCode::NO_CONTENT
    );
    assert_eq!(whip(&two, "DELETE", &location, "").await.status(), StatusCode::OK);
    assert_eq!(
        whip(&two, "DELETE", &location, "").await.status(),
        StatusCode::NOT_FOUND
    );
    assert_eq!(two.metric("weir_forwarded_requests_total{kind=\"whip\"}"), "4");
}

#[tokio::test]
async fn a_slow_body_reaches_no_other_controller() {
    let [_one, two] = two().await;
    let token = access_token(&[]);
    let mut slow = TcpStream::connect(two.public).await.unwrap();
    let head = format!(
        "POST /whip/v1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\nContent-Type: application/sdp\r\n\
         Content-Length: 1000\r\n\r\nv=0\r\n"
    );
    slow.write_all(head.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(two.directory.questions(), 0);
    let opened = whip(&two, "POST", "/whip/v1", &offer("sendonly")).await;
    assert_eq!(opened.status(), StatusCode::CREATED, "others are served meanwhile");
}

#[tokio::test]
async fn calls_go_to_the_controller_of_their_room() {
    let [one, two] = two().await;
    let created = body(call(&two, "lobby", "CreateRoom", json!({"name": "lobby", "metadata": "m"})).await).await;
    assert_eq!(created["metadata"], "m");
    assert_eq!(one.server.controller.population().await, (1, 0));
    assert_eq!(two.server.controller.population().await, (0, 0));
    let participants = body(call(&two, "lobby", "ListParticipants", json!({"room": "lobby"})).await).await;
    assert_eq!(participants, json!({"participants": []}));
    let missing = call(
        &two,
        "lobby",
        "GetParticipant",
        json!({"room": "lobby", "identity": "eve"}),
    )
    .await;
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
    let nowhere = call(
        &two,
        "attic",
        "GetParticipant",
        json!({"room": "attic", "identity": "eve"}),
    )
    .await;
    assert_eq!(nowhere.status(), StatusCode::NOT_FOUND);
    assert_eq!(
        two.server.controller.population().await,
        (0, 0),
        "asking creates no room"
    );
    let denied = call(&two, "attic", "ListParticipants", json!({"room": "lobby"})).await;
    assert_eq!(denied.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(two.metric("weir_forwarded_requests_total{kind=\"api\"}"), "3");
}

#[tokio::test]
async fn the_rooms_of_all_controllers_are_one_list() {
    let [one, two] = two().await;
    for controller in [&one, &two] {
        controller
            .directory
            .set_controllers(&[match controller.forward == one.forward {
                true => two.forward,
                false => one.forward,
            }]);
    }
    one.directory.set("cellar", vec![Location::Here]);
    for (controller, room) in [(&one, "lobby"), (&two, "attic"), (&one, "cellar")] {
        call(controller, room, "CreateRoom", json!({ "name": room })).await;
    }
    let names = async |controller: &Controller, request: Value| {
        let rooms = body(call(controller, "", "ListRooms", request).await).await;
        let rooms = rooms["rooms"].as_array().unwrap().iter();
        rooms
            .map(|room| room["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    for controller in [&one, &two] {
        assert_eq!(names(controller, json!({})).await, ["attic", "cellar", "lobby"]);
        let some = json!({"names": ["lobby", "attic", "garden"]});
        assert_eq!(names(controller, some).await, ["attic", "lobby"]);
        let mut headers = bearer(&administrator(""));
        headers.insert(header::HOST, HeaderValue::from_static("weir.example"));
        let page = controller.server.get(STRANGER, "/api/rooms?offset=1&limit=1", headers);
        let page = body(page.await).await;
        assert_eq!(
            (&page["rooms"][0]["name"], &page["total"]),
            (&json!("cellar"), &json!(3))
        );
    }
    // A controller that is said to run and does not answer would make its rooms look closed.
    let gone = ([127, 0, 0, 1], ports::free_port()).into();
    two.directory.set_controllers(&[one.forward, gone]);
    assert_eq!(
        names(&two, json!({})).await.len(),
        3,
        "the cluster says that it is gone"
    );
    assert_eq!(two.directory.suspects(), [gone.to_string()]);
}

#[tokio::test]
async fn receivers_are_shown_by_the_controller_of_their_room() {
    let [one, two] = two().await;
    let token = access_token(&[]);
    join(&one.server, &token).await;
    let mut headers = bearer(&token);
    headers.insert(header::HOST, HeaderValue::from_static("weir.example"));
    let own = own(&two.server, headers).await;
    assert_eq!(body(own).await["identity"], "ada");
    two.directory.set("lobby", vec![elsewhere(([127, 0, 0, 1], 1).into())]);
    let unavailable = super::super::own(&two.server, bearer(&token)).await;
    assert_eq!(unavailable.status(), StatusCode::SERVICE_UNAVAILABLE);
}
