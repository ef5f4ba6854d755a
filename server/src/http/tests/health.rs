//! The answer of `/healthz`.

use dataplane::{Capabilities, Counters, Event, Inject, Update, WriteError};

use super::*;

#[tokio::test]
async fn a_healthy_server_reports_its_health() {
    let answer = server("{}").get(STRANGER, "/healthz", HeaderMap::new()).await;
    assert_eq!(
        (answer.status(), text(answer).await),
        (StatusCode::OK, "ok\n".to_owned())
    );
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
