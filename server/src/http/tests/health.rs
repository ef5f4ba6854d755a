//! The answers of `/healthz` and `/readyz`.

use access::VideoGrant;
use dataplane::{Capabilities, Counters, Event, Inject, Update, WriteError};

use super::*;

#[tokio::test]
async fn a_healthy_server_reports_its_health() {
    for path in ["/healthz", "/livez"] {
        let answer = server("{}").get(STRANGER, path, HeaderMap::new()).await;
        assert_eq!(
            (answer.status(), text(answer).await),
            (StatusCode::OK, "ok\n".to_owned()),
            "{path}"
        );
    }
}

/// A data plane whose workers take no turns.
struct Stuck(dataplane::Model);

impl DataPlane for Stuck {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn write(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        self.0.write(now, update)
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        self.0.inject(now, what);
    }

    fn poll(&mut self) -> Option<Event> {
        self.0.poll()
    }

    fn counters(&mut self) -> Counters {
        self.0.counters()
    }

    fn workers_answered(&mut self) -> bool {
        false
    }
}

#[tokio::test]
async fn a_part_that_does_not_answer_is_named() {
    let unwell = async |server: &Server, part: &str| {
        let answer = server.get(STRANGER, "/healthz", HeaderMap::new()).await;
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(text(answer).await, format!("no answer from: {part}\n"));
    };
    let stuck = server_on(|clock| Stuck(dataplane::Model::new(clock)), "{}");
    unwell(&stuck, "data plane").await;
    let mut gone = server("{}");
    gone.task.abort();
    assert!((&mut gone.task).await.is_err());
    unwell(&gone, "controller").await;
}

#[tokio::test]
async fn a_server_that_drains_is_well_and_not_ready() {
    let server = server("{}");
    let participant = access_token(&[]);
    join(&server, &participant).await;
    let get = async |path: &str, headers| server.get(STRANGER, path, headers).await;
    let ready = get("/readyz", HeaderMap::new()).await;
    assert_eq!((ready.status(), text(ready).await), (StatusCode::OK, "ok\n".to_owned()));

    server.controller.drain().await;
    let draining = get("/readyz", HeaderMap::new()).await;
    assert_eq!(draining.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(draining.headers()[header::RETRY_AFTER], "5");
    assert_eq!(text(draining).await, "draining\n");
    assert_eq!(get("/healthz", HeaderMap::new()).await.status(), StatusCode::OK);
    let again = get("/rtc/validate", bearer(&participant)).await;
    assert_eq!(again.status(), StatusCode::OK, "a full reconnect");

    let mut claims = dev::claims("devkey", "lobby", "bob", Duration::from_secs(60));
    let stranger = bearer(&sign(&claims, &keys()).unwrap());
    claims.video = VideoGrant {
        agent: true,
        ..VideoGrant::default()
    };
    let worker = bearer(&sign(&claims, &keys()).unwrap());
    for (path, headers) in [("/rtc/validate", &stranger), ("/rtc", &stranger), ("/agent", &worker)] {
        let refused = get(path, headers.clone()).await;
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE, "{path}");
        assert_eq!(refused.headers()[header::RETRY_AFTER], "5");
    }
}
