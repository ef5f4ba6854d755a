//! Who is told what, with a real controller and agent behind the handlers and the model for a data plane.

use std::sync::Arc;
use std::time::Duration;

use agent::{Agent, Certificate};
use axum::body::{Body, to_bytes};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use controller::Controller;
use controller::livekit::{ApiKeys, HttpRequest, admit, sign};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{Http, ReceiversQuery, all_receivers, metrics, own_receiver};
use crate::clock::{self, Clocks};
use crate::metrics::Metrics;
use crate::observe::Observer;
use crate::scrape::Scrape;
use crate::{config, node, signal, token};

fn keys() -> ApiKeys {
    ApiKeys::default().with("devkey", "secret")
}

fn server(access: config::Metrics) -> Arc<Http> {
    let clocks = Clocks::read();
    let metrics = Metrics::default();
    let waker = node::Waker::default();
    let address = "127.0.0.1:7882".parse().unwrap();
    let settings = agent::Config::new(vec![address], Certificate::generate().unwrap());
    let agent = Agent::new(settings, clocks.media, 1);
    let (notices, noticed) = mpsc::channel(16);
    let (observer, questions) = Observer::new(waker.clone());
    let plane = Box::new(dataplane::Model::new(clocks.media));
    let listeners = node::Listeners {
        notices,
        observations: mpsc::channel(1).0,
    };
    let commands = node::start(agent, plane, waker, listeners, questions, metrics.clone(), None).unwrap();
    let controller = Controller::new(controller::Config::new(keys()), clocks.wall, [7; 32]);
    let controller = signal::start(controller, noticed, commands, metrics.clone());
    Arc::new(Http {
        controller,
        keys: keys(),
        dev_key: None,
        scrape: Scrape::new(metrics.clone(), observer.clone(), access),
        metrics,
        observer,
    })
}

/// A token for ada in the lobby, with grants beyond joining.
fn access_token(grants: &[&str]) -> String {
    let mut claims = token::claims("devkey", "lobby", "ada", Duration::from_secs(60));
    for grant in grants {
        claims.video.others.insert((*grant).to_owned(), Value::Bool(true));
    }
    sign(&claims, &keys()).unwrap()
}

fn bearer(token: &str) -> HeaderMap {
    let value = HeaderValue::from_str(&format!("Bearer {token}")).unwrap();
    HeaderMap::from_iter([(header::AUTHORIZATION, value)])
}

async fn join(http: &Http, token: &str) {
    let query = format!("access_token={token}");
    let request = HttpRequest {
        path: "/rtc",
        query: &query,
        authorization: None,
        user_agent: None,
    };
    let admission = admit(request, &keys(), clock::unix()).unwrap();
    // The node says that it is there as soon as it runs.
    while http.controller.vet(&admission).await.is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    http.controller.open(Box::new(admission)).await.unwrap();
}

async fn own(http: &Arc<Http>, headers: HeaderMap) -> Response<Body> {
    own_receiver(State(http.clone()), headers).await.into_response()
}

async fn all(http: &Arc<Http>, room: Option<&str>, headers: HeaderMap) -> Response<Body> {
    let query = ReceiversQuery {
        room: room.map(str::to_owned),
    };
    all_receivers(State(http.clone()), Query(query), headers)
        .await
        .into_response()
}

async fn text(response: Response<Body>) -> String {
    let bytes = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

async fn body(response: Response<Body>) -> Value {
    assert_eq!(response.status(), StatusCode::OK);
    serde_json::from_str(&text(response).await).unwrap()
}

#[tokio::test]
async fn strangers_learn_nothing() {
    let http = server(config::Metrics::default());
    let none = HeaderMap::new;
    assert_eq!(own(&http, none()).await.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(all(&http, None, none()).await.status(), StatusCode::UNAUTHORIZED);
    let participant = || bearer(&access_token(&[]));
    assert_eq!(all(&http, None, participant()).await.status(), StatusCode::FORBIDDEN);
    assert_eq!(own(&http, participant()).await.status(), StatusCode::NOT_FOUND);
    let administrator = bearer(&access_token(&["roomAdmin"]));
    assert_eq!(
        all(&http, Some("attic"), administrator).await.status(),
        StatusCode::FORBIDDEN
    );
}

#[tokio::test]
async fn a_participant_sees_itself_and_an_administrator_everybody() {
    let http = server(config::Metrics::default());
    let token = access_token(&[]);
    join(&http, &token).await;
    let ada =
        json!({"room": "lobby", "identity": "ada", "downlink": null, "playout_delay_ms": 0.0, "subscriptions": []});
    let response = own(&http, bearer(&token)).await;
    assert_eq!(response.headers()[header::CACHE_CONTROL], "no-store");
    assert_eq!(body(response).await, ada);
    let administrator = bearer(&access_token(&["roomAdmin"]));
    let everybody = json!({"receivers": [ada], "truncated": false});
    assert_eq!(body(all(&http, None, administrator).await).await, everybody);
    let of_all_rooms = bearer(&access_token(&["roomAdmin", "roomList"]));
    let nobody = json!({"receivers": [], "truncated": false});
    assert_eq!(body(all(&http, Some("attic"), of_all_rooms).await).await, nobody);
}

#[tokio::test]
async fn metrics_are_whole_and_behind_the_token_there_is() {
    let open = server(config::Metrics::default());
    let response = metrics(State(open), HeaderMap::new()).await;
    let text = text(response).await;
    assert!(text.ends_with("# EOF\n") && text.matches("# EOF").count() == 1);
    assert!(text.contains("\nweir_receivers 0\n"), "{text}");

    let guarded = server(config::Metrics {
        token: Some("0123456789abcdef".to_owned()),
        names: true,
    });
    let strange = metrics(State(guarded.clone()), HeaderMap::new()).await;
    assert_eq!(strange.status(), StatusCode::UNAUTHORIZED);
    let known = metrics(State(guarded), bearer("0123456789abcdef")).await;
    assert_eq!(known.status(), StatusCode::OK);
}
