//! Receivers that answer well, badly and not at all.

use std::sync::Arc;

use controller::{RoomChange, RoomEvent, RoomInfo};
use livekit::webhook::Receiver;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use super::*;

/// A receiver of any number of requests. It answers each with these bytes, and goes on with
/// `endless` for ever.
struct Answering {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Answering {
    async fn new(answer: &'static str, endless: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook?a=b", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = requests.clone();
        let task = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = vec![0; 64 << 10];
                let mut len = 0;
                while !is_whole(&request[..len]) {
                    let read = stream.read(&mut request[len..]).await.unwrap();
                    assert_ne!(read, 0, "the request has an end");
                    len += read;
                }
                let text = String::from_utf8_lossy(&request[..len]).into_owned();
                seen.lock().await.push(text);
                let mut written = stream.write_all(answer.as_bytes()).await;
                while !endless.is_empty() && written.is_ok() {
                    written = stream.write_all(endless.as_bytes()).await;
                }
            }
        });
        Self { url, requests, task }
    }

    async fn ids(&self) -> Vec<String> {
        let requests = self.requests.lock().await;
        let ids = requests.iter().map(|request| {
            let (_, body) = request.split_once("\r\n\r\n").unwrap();
            let body: serde_json::Value = serde_json::from_str(body).unwrap();
            body["id"].as_str().unwrap().to_owned()
        });
        ids.collect()
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Whether a request is there with its body.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let len = head
        .split("content-length: ")
        .nth(1)
        .and_then(|rest| rest.lines().next());
    body.len() >= len.and_then(|len| len.parse().ok()).unwrap_or(0)
}

async fn posted(receiver: &Answering) -> Result<Outcome, String> {
    let tls = Tls::default();
    let posting = post::post(&tls, &receiver.url, "token".to_owned(), "{}".into());
    let posted = tokio::time::timeout(Duration::from_secs(5), posting).await;
    posted.expect("it ends").map_err(|error| error.to_string())
}

fn answered(status: u16, retry_after: Option<u64>) -> Outcome {
    let retry_after = retry_after.map(Duration::from_secs);
    Outcome::Answered { status, retry_after }
}

#[tokio::test]
async fn a_request_is_what_receivers_of_livekit_expect() {
    let receiver = Answering::new("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "").await;
    assert_eq!(posted(&receiver).await, Ok(answered(200, None)));
    let requests = receiver.requests.lock().await;
    let host = format!("host: {}", receiver.url.split('/').nth(2).unwrap());
    for line in [
        "POST /hook?a=b HTTP/1.1",
        host.as_str(),
        "authorization: token",
        "content-type: application/webhook+json",
        "content-length: 2",
    ] {
        let mut lines = requests[0].lines();
        assert!(
            lines.any(|found| found.eq_ignore_ascii_case(line)),
            "{line}: {requests:?}"
        );
    }
    assert!(requests[0].ends_with("\r\n\r\n{}"));
}

#[tokio::test]
async fn only_the_head_of_an_answer_is_read_and_no_redirection_is_followed() {
    let endless = "1000\r\n".to_owned() + &"x".repeat(0x1000) + "\r\n";
    for (answer, endless, outcome) in [
        ("HTTP/1.1 204 No Content\r\n\r\n", "", answered(204, None)),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            &*endless.leak(),
            answered(200, None),
        ),
        (
            "HTTP/1.1 307 Temporary Redirect\r\nLocation: /hook?a=b\r\nContent-Length: 0\r\n\r\n",
            "",
            answered(307, None),
        ),
        (
            "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n",
            "",
            answered(503, Some(7)),
        ),
        (
            "HTTP/1.0 429 Too Many Requests\r\nRetry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n\r\n",
            "",
            answered(429, None),
        ),
    ] {
        let receiver = Answering::new(answer, endless).await;
        assert_eq!(posted(&receiver).await, Ok(outcome), "{answer}");
        assert_eq!(receiver.requests.lock().await.len(), 1, "{answer}");
    }
}

#[tokio::test]
async fn an_answer_that_is_not_http_or_has_no_end_is_a_failure() {
    for (answer, endless) in [
        ("", ""),
        ("SSH-2.0-OpenSSH_9.6\r\n\r\n", ""),
        (
            "HTTP/1.1 200 OK\r\n",
            "X-Endless: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n",
        ),
        (
            "HTTP/1.1 200 OK\r\nX-Endless: ",
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        ),
    ] {
        let receiver = Answering::new(answer, endless).await;
        assert!(posted(&receiver).await.is_err(), "{answer}");
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let tls = Tls::default();
    let posted = post::post(&tls, &nobody, "token".to_owned(), "{}".into()).await;
    assert!(posted.is_err());
}

fn event(room: &str, id: &str) -> Box<RoomEvent> {
    let room = RoomInfo {
        sid: "RM_a".to_owned(),
        name: room.to_owned(),
        empty_timeout: Duration::ZERO,
        departure_timeout: Duration::ZERO,
        max_participants: 0,
        created: Duration::ZERO,
        metadata: String::new(),
        num_participants: 0,
        num_publishers: 0,
        active_recording: false,
    };
    Box::new(RoomEvent {
        id: id.to_owned(),
        room,
        at: Duration::ZERO,
        change: RoomChange::Started(Vec::new()),
    })
}

#[tokio::test]
async fn a_receiver_that_hangs_delays_no_other() {
    let hanging = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let good = Answering::new("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "").await;
    let metrics = Metrics::default();
    let (webhooks, _running) = start(metrics.clone());
    let urls = [good.url.clone(), format!("http://{}/", hanging.local_addr().unwrap())];
    let receivers = urls.into_iter().map(|url| Receiver {
        url,
        key: "key".to_owned(),
    });
    let settings = |receivers| Settings {
        receivers,
        age_max: Duration::from_secs(60),
        depth_max: 200,
        ..Settings::default()
    };
    let receivers: Vec<_> = receivers.collect();
    let keys = ApiKeys::default().with("key", "secret");
    webhooks.configure(settings(receivers.clone()), keys.clone()).await;
    for id in ["1", "2", "3"] {
        webhooks
            .events()
            .send(ToReceivers::Event(event("lobby", id)))
            .await
            .unwrap();
    }
    let drained = tokio::time::timeout(Duration::from_millis(500), webhooks.drain());
    assert!(
        drained.await.is_err(),
        "three messages wait for the receiver that hangs"
    );
    assert_eq!(good.ids().await, ["1", "2", "3"]);

    webhooks.configure(settings(vec![receivers[0].clone()]), keys).await;
    webhooks.drain().await;
    let text = metrics.encode().finish();
    for line in [
        "weir_webhooks_total{result=\"delivered\"} 3",
        "weir_webhooks_total{result=\"receiver_removed\"} 3",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}
