//! The timeline and the verdict of a participant, by HTTP.

use super::*;

async fn ask(server: &Server, path: &str, headers: HeaderMap) -> Response<Body> {
    server.get(STRANGER, &format!("/api/rooms/{path}"), headers).await
}

fn administrator() -> HeaderMap {
    bearer(&access_token(&["roomAdmin"]))
}

#[tokio::test]
async fn timelines_are_for_administrators_of_the_room_only() {
    let http = server("{}");
    let token = access_token(&[]);
    join(&http, &token).await;
    for view in ["timeline", "verdict"] {
        let own = format!("lobby/participants/ada/{view}");
        assert_eq!(
            ask(&http, &own, HeaderMap::new()).await.status(),
            StatusCode::UNAUTHORIZED
        );
        assert_eq!(
            ask(&http, &own, bearer("x.y.z")).await.status(),
            StatusCode::UNAUTHORIZED
        );
        assert_eq!(ask(&http, &own, bearer(&token)).await.status(), StatusCode::FORBIDDEN);
        let list = bearer(&access_token(&["roomList"]));
        assert_eq!(ask(&http, &own, list).await.status(), StatusCode::FORBIDDEN);
        let other = format!("attic/participants/ada/{view}");
        assert_eq!(
            ask(&http, &other, administrator()).await.status(),
            StatusCode::FORBIDDEN
        );
        assert_eq!(ask(&http, &own, administrator()).await.status(), StatusCode::OK);
        let nobody = format!("lobby/participants/ben/{view}");
        assert_eq!(
            ask(&http, &nobody, administrator()).await.status(),
            StatusCode::NOT_FOUND
        );
        for since in ["", "10x", "-1m", "1%202"] {
            let path = format!("{own}?since={since}");
            assert_eq!(
                ask(&http, &path, administrator()).await.status(),
                StatusCode::BAD_REQUEST,
                "{since}"
            );
        }
        let everywhere = bearer(&access_token(&["roomAdmin", "roomList"]));
        assert_eq!(ask(&http, &other, everywhere).await.status(), StatusCode::NOT_FOUND);
    }
}

#[tokio::test]
async fn timelines_begin_with_the_join() {
    let http = server("{}");
    join(&http, &access_token(&[])).await;
    let response = ask(&http, "lobby/participants/ada/timeline?since=1m", administrator()).await;
    assert_eq!(response.headers()[header::CACHE_CONTROL], "no-store");
    let timeline = body(response).await;
    assert_eq!(timeline["entries"][0]["observation"], "join", "{timeline}");
    assert_eq!(
        (&timeline["participant"], &timeline["has_left"]),
        (&json!("ada"), &json!(false))
    );
    let verdict = body(ask(&http, "lobby/participants/ada/verdict?since=10m", administrator()).await).await;
    assert_eq!(verdict["findings"], json!([]));
    assert!(
        verdict["summary"]
            .as_str()
            .unwrap()
            .starts_with("nothing wrong was found"),
        "{verdict}"
    );
    let metrics = text(http.get("127.0.0.1", "/metrics", HeaderMap::new()).await).await;
    assert!(metrics.contains("\nweir_timelines 1\n"), "{metrics}");
}
