//! Webhooks: sends what the queue of the `livekit` crate says.

mod post;
mod tls;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use access::ApiKeys;
use livekit::webhook::{Delivery, DeliveryId, Lost, Message, Outcome, Output, Queue, Settings, sign};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tracing::{debug, info, warn};

use self::tls::Tls;
use crate::frontends::webhooks::{Handle, SavedEvent, ToReceivers};
use crate::metrics::Metrics;
use crate::os::clock;

/// How many events may wait for the task. Further ones are dropped and counted, because rooms wait
/// for no receiver.
const EVENTS_MAX: usize = 1024;

/// How many changes of settings and questions may wait.
const REQUESTS_MAX: usize = 4;

/// How long an attempt may take, from the look-up of the name to the head of the answer.
const ATTEMPT_MAX: Duration = Duration::from_secs(10);

enum Request {
    Configure(Box<Settings>, ApiKeys, oneshot::Sender<()>),
    Drain(oneshot::Sender<()>),
    ReportTo(Handle),
}

/// A handle on the task.
pub(crate) struct Webhooks {
    events: mpsc::Sender<ToReceivers>,
    requests: mpsc::Sender<Request>,
}

impl Webhooks {
    /// The queue of events for all receivers.
    pub(crate) fn events(&self) -> mpsc::Sender<ToReceivers> {
        self.events.clone()
    }

    /// Tells the front end which events that nodes keep the receivers are done with.
    pub(crate) fn report_to(&self, front_end: Handle) {
        // There is a place, since this is the first request.
        let _ = self.requests.try_send(Request::ReportTo(front_end));
    }

    /// Sets the receivers and the keys that sign, for all events from then on.
    pub(crate) async fn configure(&self, settings: Settings, keys: ApiKeys) {
        let (answer, answered) = oneshot::channel();
        let request = Request::Configure(Box::new(settings), keys, answer);
        if self.requests.send(request).await.is_ok() {
            let _ = answered.await;
        }
    }

    /// Waits until no message waits. The caller sets the time limit.
    pub(crate) async fn drain(&self) {
        let (answer, answered) = oneshot::channel();
        if self.requests.send(Request::Drain(answer)).await.is_ok() {
            let _ = answered.await;
        }
    }
}

/// Starts the task, which ends when its handle is dropped.
pub(crate) fn start(metrics: Metrics) -> (Webhooks, JoinHandle<()>) {
    let (events, events_in) = mpsc::channel(EVENTS_MAX);
    let (requests, requests_in) = mpsc::channel(REQUESTS_MAX);
    let task = Task {
        queue: Queue::default(),
        keys: ApiKeys::default(),
        tls: Tls::default(),
        attempts: JoinSet::new(),
        failing: BTreeSet::new(),
        draining: Vec::new(),
        front_end: None,
        kept: BTreeMap::new(),
        done: Vec::new(),
        metrics,
        out: Vec::new(),
    };
    let running = tokio::spawn(task.run(events_in, requests_in));
    (Webhooks { events, requests }, running)
}

struct Task {
    queue: Queue,
    keys: ApiKeys,
    tls: Tls,
    attempts: JoinSet<Attempt>,
    /// The URLs of receivers whose last attempt failed. The log has a line when that changes, and
    /// none for each attempt.
    failing: BTreeSet<String>,
    /// Those who wait until no message waits.
    draining: Vec<oneshot::Sender<()>>,
    /// The front end that has nodes keep events.
    front_end: Option<Handle>,
    /// Events that nodes keep, by their rooms and ids: the part, and the receivers that are not
    /// done with it.
    kept: BTreeMap<(String, String), (String, usize)>,
    /// Those that receivers are done with: the room and the part.
    done: Vec<(String, String)>,
    metrics: Metrics,
    out: Vec<Output>,
}

/// An attempt that is over.
struct Attempt {
    id: DeliveryId,
    url: String,
    /// The answer, or why there is none.
    answer: Result<Outcome, String>,
}

impl Task {
    async fn run(mut self, mut events: mpsc::Receiver<ToReceivers>, mut requests: mpsc::Receiver<Request>) {
        loop {
            let timeout = self.queue.poll_timeout();
            tokio::select! {
                // Events first: a question whether all are sent is about those as well.
                biased;
                Some(told) = events.recv() => self.take(told),
                Some(ended) = self.attempts.join_next() => {
                    // An attempt without an end would hold up its room for ever.
                    self.ended(ended.expect("an attempt does not panic"));
                }
                request = requests.recv() => match request {
                    Some(request) => self.request(request),
                    None => return,
                },
                () = sleep_until(timeout) => {
                    self.queue.handle_timeout(clock::now(), &mut self.out);
                }
            }
            self.flush();
            self.report().await;
            if self.queue.is_empty() {
                for waiting in self.draining.drain(..) {
                    // An error means that the time limit has passed.
                    let _ = waiting.send(());
                }
            }
        }
    }

    fn take(&mut self, told: ToReceivers) {
        let now = clock::now();
        match told {
            ToReceivers::Event(event) => {
                self.queue
                    .push(now, Duration::ZERO, Message::new(*event), &mut self.out);
            }
            ToReceivers::Saved(kept) => {
                let SavedEvent { message, age, part } = *kept;
                let (room, id) = (message.room.clone(), message.id.clone());
                match self.queue.push(now, age, message, &mut self.out) {
                    0 => self.done.push((room, part)),
                    receivers => drop(self.kept.insert((room, id), (part, receivers))),
                }
            }
            ToReceivers::Released(room) => {
                self.queue.forget_room(&room);
                let from = (room.clone(), String::new());
                let of_room = self.kept.range(from..).take_while(|((name, _), _)| *name == room);
                for event in of_room.map(|(event, _)| event.clone()).collect::<Vec<_>>() {
                    self.kept.remove(&event);
                }
            }
        }
    }

    /// A receiver is done with a message.
    fn finished(&mut self, message: &Arc<Message>) {
        let event = (message.room.clone(), message.id.clone());
        if let Some((part, receivers)) = self.kept.get_mut(&event) {
            *receivers -= 1;
            if *receivers == 0 {
                self.done.push((event.0.clone(), std::mem::take(part)));
                self.kept.remove(&event);
            }
        }
    }

    /// Tells the front end of events that need not be kept.
    async fn report(&mut self) {
        for (room, part) in std::mem::take(&mut self.done) {
            if let Some(front_end) = &self.front_end {
                front_end.done(room, part).await;
            }
        }
    }

    fn request(&mut self, request: Request) {
        match request {
            Request::Configure(settings, keys, answer) => {
                let receivers = &settings.receivers;
                let needs_tls = receivers.iter().any(|receiver| receiver.url.starts_with("https:"));
                self.failing
                    .retain(|url| receivers.iter().any(|receiver| receiver.url == *url));
                self.queue.set_keys(keys.clone());
                self.keys = keys;
                self.tls = if needs_tls { Tls::load() } else { Tls::default() };
                self.queue.configure(*settings, &mut self.out);
                let _ = answer.send(());
            }
            Request::ReportTo(front_end) => self.front_end = Some(front_end),
            Request::Drain(answer) => self.draining.push(answer),
        }
    }

    fn ended(&mut self, attempt: Attempt) {
        let Attempt { id, url, answer } = attempt;
        let error = match &answer {
            Ok(Outcome::Answered { status: 200..=299, .. }) => None,
            Ok(Outcome::Answered { status, .. }) => Some(format!("status {status}")),
            Ok(Outcome::Failed) => Some("no answer".to_owned()),
            Err(error) => Some(error.clone()),
        };
        match error {
            None if self.failing.remove(&url) => info!(url, "webhooks are delivered again"),
            None => {}
            Some(error) => {
                debug!(url, error, "a webhook failed");
                if !self.failing.contains(&url) {
                    warn!(url, error, "webhooks fail");
                    self.failing.insert(url);
                }
            }
        }
        let outcome = answer.unwrap_or(Outcome::Failed);
        self.queue.finish(clock::now(), id, outcome, &mut self.out);
    }

    fn flush(&mut self) {
        for output in std::mem::take(&mut self.out) {
            match output {
                Output::Send(delivery) => self.send(delivery),
                Output::Count(counter) => self.metrics.webhook(counter),
                Output::Done(message) => self.finished(&message),
                Output::Lost(Lost { url, message, why }) => {
                    let (event, id, room) = (message.event, &message.id, &message.room);
                    warn!(url, event, id, room, why = why.name(), "a webhook is not delivered");
                }
            }
        }
    }

    fn send(&mut self, delivery: Delivery) {
        let Delivery { id, receiver, message } = delivery;
        let token = sign(&message.body, &receiver.key, &self.keys, clock::unix());
        let tls = self.tls.clone();
        self.attempts.spawn(async move {
            let url = receiver.url;
            let answer = match token {
                Some(token) => {
                    let posted = tokio::time::timeout(ATTEMPT_MAX, post::post(&tls, &url, token, message.body.clone()));
                    match posted.await {
                        Ok(answer) => answer.map_err(|error| error.to_string()),
                        Err(_) => Err("no answer in time".to_owned()),
                    }
                }
                None => Err(format!("there is no API key {} to sign with", receiver.key)),
            };
            Attempt { id, url, answer }
        });
    }
}

async fn sleep_until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant.into()).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
