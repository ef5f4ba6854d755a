//! Access to each path, with a real controller and agent behind the handlers and the model for a
//! data plane.

mod administration;
mod api;
mod forwarding;
mod health;
mod hostile;
mod https;
mod never;
mod proxies;
mod timelines;
mod whip_requests;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use access::{ApiKeys, sign};
use agent::{Agent, Certificate};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use controller::Controller;
use dataplane::DataPlane;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use livekit::{HttpRequest, admit};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tower_http::add_extension::AddExtension;

use never::Never;

use super::{Api, Bodies, Http, dev, router};
use crate::clients::connection_slots::{ConnectionSlots, Limits};
use crate::cluster::forward::Forwarder;
use crate::config::Regions;
use crate::controller_task;
use crate::frontends::audit::AuditTrail;
use crate::frontends::{self, Handles};
use crate::http::health::Health;
use crate::http::listen::Connection;
use crate::http::metrics_endpoint::Endpoint;
use crate::media::ReceiverQuery;
use crate::media::media_thread::{self, Parts};
use crate::metrics::Metrics;
use crate::os::clock::{self, Clocks};
use crate::settings::{Current, Settings};

const TIMEOUT: Duration = Duration::from_secs(10);
const LIMITS: Limits = Limits {
    all: 100,
    per_address: 10,
    pending_per_address: 3,
};
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

fn keys() -> ApiKeys {
    ApiKeys::default().with("devkey", "secret")
}

fn settings(metrics: &str) -> Settings {
    Settings {
        keys: keys(),
        dev_key: Some("devkey".to_owned()),
        metrics: serde_saphyr::from_str(metrics).unwrap(),
        trusted_proxies: vec!["10.0.0.1".parse().unwrap()],
        watch: whip::Watch::new(vec!["show".to_owned()]),
        regions: Regions::default(),
    }
}

struct Server {
    router: Router,
    controller: controller_task::Handle,
    front_ends: Handles,
    task: JoinHandle<()>,
    slots: ConnectionSlots,
    settings: Current,
}

fn server(metrics: &str) -> Server {
    server_on(dataplane::Model::new, metrics)
}

fn server_on<P: DataPlane + Send + 'static>(plane: impl FnOnce(dataplane::Clock) -> P, metrics: &str) -> Server {
    server_with(plane, metrics, Forwarder::local())
}

fn server_with<P: DataPlane + Send + 'static>(
    plane: impl FnOnce(dataplane::Clock) -> P,
    metrics: &str,
    forwarder: Forwarder,
) -> Server {
    let (settings, clocks) = (Current::new(settings(metrics)), Clocks::read());
    let (metrics, waker) = (Metrics::default(), crate::media::waker::Waker::default());
    let of_agent = agent::Config::new(vec![([127, 0, 0, 1], 7882).into()], Certificate::generate().unwrap());
    let agent = Agent::new(of_agent, clocks.media, 1);
    let (query, questions) = ReceiverQuery::new(waker.clone());
    let plane = Box::new(plane(clocks.media));
    let node = media_thread::start(Parts {
        agent,
        plane,
        waker,
        questions,
        metrics: metrics.clone(),
        cpu_latency: None,
    })
    .unwrap();
    let of_front_ends = frontends::Settings {
        pings: livekit::Pings::default(),
        sessions: LIMITS.sessions(),
        keys: keys(),
        wall: clocks.wall,
        seed: 7,
        room_events: mpsc::channel(1).0,
    };
    let (front_ends, handles) = frontends::all(of_front_ends, metrics.clone());
    let of_controller = controller::Config {
        observations: true,
        ..controller::Config::new(keys())
    };
    let (controller, task) = controller_task::start(
        Controller::new(of_controller, clocks.wall, [7; 32]),
        front_ends,
        controller_task::Nodes::Own(node.controller),
        timeline::Recorder::new(timeline::Config::default()),
        metrics.clone(),
    );
    let http = Http {
        controller: controller.clone(),
        front_ends: handles.clone(),
        settings: settings.clone(),
        node_ips: vec![[203, 0, 113, 7].into()],
        proxied: ConnectionSlots::new(LIMITS),
        bodies: Bodies::default(),
        reading: crate::websocket::Memory::default(),
        endpoint: Endpoint::new(metrics.clone(), query.clone()),
        metrics,
        health: Health::new(controller.clone(), Some(query.clone()), None, None),
        receivers: query,
        audit: AuditTrail::default(),
        api: Api::new(TIMEOUT),
        forwarder,
        https: Some(https::https("{port: 7443, hsts: 60}")),
    };
    Server {
        router: router(http, TIMEOUT),
        controller,
        front_ends: handles,
        task,
        slots: ConnectionSlots::new(LIMITS),
        settings,
    }
}

impl Server {
    /// The answer to a request from this peer: over TLS, unless its URL begins with `http:`.
    async fn ask(&self, peer: &str, request: Request<Body>) -> Response<Body> {
        let peer: IpAddr = peer.parse().unwrap();
        let connection = Connection {
            peer,
            local: [192, 0, 2, 1].into(),
            is_tls: request.uri().scheme_str() != Some("http"),
            slot: Arc::new(self.slots.enter(None, clock::now()).unwrap().0),
        };
        let service = AddExtension::new(self.router.clone(), connection);
        TowerToHyperService::new(service).call(request).await.unwrap()
    }

    async fn get(&self, peer: &str, path: &str, headers: HeaderMap) -> Response<Body> {
        let mut request = Request::get(path).body(Body::empty()).unwrap();
        *request.headers_mut() = headers;
        self.ask(peer, request).await
    }

    async fn dev_token(&self, headers: &[(HeaderName, &'static str)]) -> StatusCode {
        let request = Request::post("/api/dev-token").header(header::CONTENT_TYPE, "application/json");
        let mut request = request.body(Body::from(r#"{"room": "lobby", "name": "ada"}"#)).unwrap();
        request.headers_mut().extend(map(headers));
        self.ask("127.0.0.1", request).await.status()
    }
}

fn map(headers: &[(HeaderName, &'static str)]) -> HeaderMap {
    let headers = headers
        .iter()
        .map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
    headers.collect()
}

/// A token for ada in the lobby, with grants beyond joining.
fn access_token(grants: &[&str]) -> String {
    let mut claims = dev::claims("devkey", "lobby", "ada", Duration::from_secs(60));
    for grant in grants {
        match *grant {
            "roomAdmin" => claims.video.room_admin = true,
            "roomList" => claims.video.room_list = true,
            "roomCreate" => claims.video.room_create = true,
            other => panic!("no grant {other}"),
        }
    }
    sign(&claims, &keys()).unwrap()
}

fn bearer(token: &str) -> HeaderMap {
    let value = HeaderValue::from_str(&format!("Bearer {token}")).unwrap();
    HeaderMap::from_iter([(header::AUTHORIZATION, value)])
}

async fn join(server: &Server, token: &str) {
    let query = format!("access_token={token}");
    let request = HttpRequest {
        path: "/rtc",
        query: &query,
        authorization: None,
        user_agent: None,
    };
    let admission = admit(request, &keys(), clock::unix()).unwrap();
    // The node reports that it is ready as soon as it runs.
    while server.front_ends.livekit.check_admission(&admission).await.is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    server.front_ends.livekit.open(Box::new(admission)).await.unwrap();
}

const STRANGER: &str = "198.51.100.1";

async fn own(server: &Server, headers: HeaderMap) -> Response<Body> {
    server.get(STRANGER, "/api/receivers/me", headers).await
}

async fn all(server: &Server, room: Option<&str>, headers: HeaderMap) -> Response<Body> {
    let query = room.map(|room| format!("?room={room}")).unwrap_or_default();
    server.get(STRANGER, &format!("/api/receivers{query}"), headers).await
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
    let http = server("{}");
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
    let http = server("{}");
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
async fn metrics_are_whole_and_for_this_machine() {
    let server = server("{}");
    let accept = map(&[(header::ACCEPT, "application/openmetrics-text")]);
    let text = text(server.get("127.0.0.1", "/metrics", accept).await).await;
    assert!(text.contains("\nweir_rooms 0\n"), "{text}");
    assert!(text.ends_with("# EOF\n") && text.matches("# EOF").count() == 1);
    assert!(text.contains("\nweir_receivers 0\n"), "{text}");
    assert!(
        text.contains("\nweir_http_connections_closed_total{reason=\"address_limit\"} 0\n"),
        "{text}"
    );
    assert!(text.contains("\nweir_log_lines_lost_total 0\n"), "{text}");
}

#[tokio::test]
async fn only_this_machine_has_access_to_operators_pages() {
    let server = server("{}");
    for path in ["/metrics", "/api/entries", "/api/cluster"] {
        let status =
            async |peer, headers: &[(HeaderName, &'static str)]| server.get(peer, path, map(headers)).await.status();
        let seen = [StatusCode::OK, StatusCode::NOT_FOUND];
        for peer in ["127.0.0.1", "::1", "::ffff:127.0.0.2", "192.0.2.1"] {
            assert!(seen.contains(&status(peer, &[]).await), "{path} {peer}");
        }
        assert_eq!(status(STRANGER, &[]).await, StatusCode::UNAUTHORIZED);
        assert_eq!(
            status(STRANGER, &[(FORWARDED_FOR, "127.0.0.1")]).await,
            StatusCode::UNAUTHORIZED
        );
        assert_eq!(
            status("10.0.0.1", &[(FORWARDED_FOR, "127.0.0.1")]).await,
            StatusCode::UNAUTHORIZED
        );
        assert_eq!(status("10.0.0.1", &[]).await, StatusCode::UNAUTHORIZED);
        assert_eq!(
            status("127.0.0.1", &[(FORWARDED_FOR, "198.51.100.2")]).await,
            StatusCode::UNAUTHORIZED
        );
        let page = [
            (header::HOST, "localhost:7880"),
            (header::ORIGIN, "https://evil.example"),
        ];
        assert_eq!(status("127.0.0.1", &page).await, StatusCode::UNAUTHORIZED);
        assert_eq!(
            status("127.0.0.1", &[(header::HOST, "rebound.example")]).await,
            StatusCode::UNAUTHORIZED
        );
    }
}

#[tokio::test]
async fn a_configured_token_is_required_of_everybody() {
    let server = server("{token: 0123456789abcdef, names: true}");
    for path in ["/metrics", "/api/entries", "/api/cluster"] {
        for peer in ["127.0.0.1", STRANGER] {
            let status = async |headers| server.get(peer, path, headers).await.status();
            assert_eq!(status(HeaderMap::new()).await, StatusCode::UNAUTHORIZED);
            assert_eq!(status(bearer("0123456789abcdee")).await, StatusCode::UNAUTHORIZED);
            assert_ne!(status(bearer("0123456789abcdef")).await, StatusCode::UNAUTHORIZED);
        }
    }
}

#[tokio::test]
async fn open_metrics_are_readable_by_anybody_and_entries_are_not() {
    let server = server("{open: true}");
    let status = async |path| server.get(STRANGER, path, HeaderMap::new()).await.status();
    assert_eq!(status("/metrics").await, StatusCode::OK);
    assert_eq!(status("/api/entries").await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn the_page_of_this_server_gets_tokens_and_no_other() {
    let server = server("{}");
    let host = |host| (header::HOST, host);
    for allowed in [
        &[][..],
        &[host("localhost:7880"), (header::ORIGIN, "http://localhost:7880")],
        &[host("192.0.2.1:7880"), (header::ORIGIN, "http://192.0.2.1:7880")],
        &[host("203.0.113.7:7880"), (header::ORIGIN, "http://203.0.113.7:7880")],
    ] {
        assert_eq!(server.dev_token(allowed).await, StatusCode::OK, "{allowed:?}");
    }
    for refused in [
        [host("localhost:7880"), (header::ORIGIN, "https://evil.example")],
        [
            host("rebound.example:7880"),
            (header::ORIGIN, "http://rebound.example:7880"),
        ],
        [
            host("localhost:7880"),
            (HeaderName::from_static("sec-fetch-site"), "cross-site"),
        ],
    ] {
        assert_eq!(server.dev_token(&refused).await, StatusCode::FORBIDDEN, "{refused:?}");
    }
    let mut without_key = settings("{}");
    without_key.dev_key = None;
    server.settings.replace(without_key);
    assert_eq!(server.dev_token(&[]).await, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_token_of_a_removed_key_is_refused_from_then_on() {
    let server = server("{}");
    let token = access_token(&[]);
    join(&server, &token).await;
    assert_eq!(own(&server, bearer(&token)).await.status(), StatusCode::OK);
    let mut others = settings("{}");
    others.keys = ApiKeys::default().with("other", "secret");
    server.settings.replace(others);
    assert_eq!(own(&server, bearer(&token)).await.status(), StatusCode::UNAUTHORIZED);
    let path = format!("/rtc/validate?access_token={token}");
    let answer = server.get(STRANGER, &path, HeaderMap::new()).await;
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
}
