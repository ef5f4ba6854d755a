//! Finds the controller of a request, and has it answered there.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{Request, Response, StatusCode};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tracing::debug;

use super::connection::{Connection, Unanswered};
use super::head::{self, ClientLink};
use super::pool::Pool;
use super::splice::Splice;
use crate::cluster::location::{Location, Locator, RoomQuery};
use crate::cluster::tls::ClusterTls;
use crate::metrics::forwarded::{ForwardCounts, ForwardFailure, Kind};

/// How long a controller may take for an answer, beside what the request needs.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// How often a request is sent at most. The controller may have changed since it was asked for.
const ATTEMPTS_MAX: u32 = 2;

/// Requests at once that ask all controllers: their answers may be long. The rest waits.
const ASKING_MAX: usize = 4;

/// The answer for a client while its controller is lost, and no other one serves the room yet.
const NO_ANSWER: &str = "the controller of the room does not answer";

/// Passes requests on. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Forwarder {
    locator: Locator,
    /// How others are reached, where there are any.
    reach: Option<Arc<Reach>>,
}

#[derive(Debug)]
struct Reach {
    tls: ClusterTls,
    pool: Pool,
    counts: ForwardCounts,
    /// Those who ask all controllers.
    asking: Semaphore,
}

/// A request with its whole body, for one room.
#[derive(Debug)]
pub(crate) struct ForwardRequest<'a> {
    /// The kind that it is counted as.
    pub kind: Kind,
    /// The name of the room.
    pub room: &'a str,
    /// Whether this controller shall claim the room if there is none.
    pub is_new_allowed: bool,
    /// The request as the client made it. An upgrade is taken out of it where another controller
    /// agrees to it.
    pub head: &'a mut Parts,
    /// The part of it that was read.
    pub body: Bytes,
    /// The connection that it came over.
    pub link: ClientLink,
    /// The region of the client, if it is known.
    pub region: Option<String>,
    /// How long it takes beyond what every request does.
    pub takes: Duration,
}

/// The outcome of a request.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// This controller serves the room.
    Here,
    /// There is no such room.
    Nowhere,
    /// Another controller has answered.
    Answered(Response<Body>),
    /// Another controller has upgraded the connection. The two connections become one with the
    /// answer, while the splice runs.
    Upgraded(Response<Body>, Splice),
    /// No controller answers now, for this reason.
    Unavailable(String),
}

/// A request to another controller that failed.
struct Failure {
    why: ForwardFailure,
    /// Whether it may have been carried out.
    is_sent: bool,
}

impl Failure {
    fn unsent(why: ForwardFailure) -> Self {
        Self { why, is_sent: false }
    }
}

impl Forwarder {
    /// For one machine, where each room is here.
    pub(crate) fn local() -> Self {
        Self {
            locator: Locator::local(),
            reach: None,
        }
    }

    /// For a controller among others.
    pub(crate) fn new(locator: Locator, tls: ClusterTls, counts: ForwardCounts) -> Self {
        let reach = Some(Arc::new(Reach {
            tls,
            pool: Pool::default(),
            counts,
            asking: Semaphore::new(ASKING_MAX),
        }));
        Self { locator, reach }
    }

    /// Whether each room is here.
    pub(crate) fn is_local(&self) -> bool {
        self.reach.is_none()
    }

    /// Whether this controller serves a room, for a request that another one has passed on.
    pub(crate) async fn is_here(&self, room: &str) -> bool {
        let query = RoomQuery {
            room,
            is_new_allowed: false,
            denied_by: None,
        };
        self.locator.locate(query).await == Location::Here
    }

    /// Finds the controller of a request's room. If that is another one, it answers.
    ///
    /// A controller that cannot be reached, or that does not serve the room, costs one more attempt
    /// with the next answer of the cluster. A request that may have been carried out is only
    /// repeated if it asks for a WebSocket or for reading.
    pub(crate) async fn pass(&self, request: ForwardRequest<'_>) -> Outcome {
        let Some(reach) = &self.reach else {
            return Outcome::Here;
        };
        let mut request = request;
        let (mut denied_by, mut attempts) = (None, 0);
        loop {
            let address = match self.locate(&request, denied_by.as_deref()).await {
                Location::Here => return Outcome::Here,
                Location::Nowhere => return Outcome::Nowhere,
                Location::Elsewhere { address } if attempts < ATTEMPTS_MAX => address,
                Location::Elsewhere { .. } => return Outcome::Unavailable(NO_ANSWER.to_owned()),
                Location::Unavailable(why) => {
                    reach.counts.failed(ForwardFailure::Unavailable);
                    return Outcome::Unavailable(why);
                }
            };
            attempts += 1;
            match reach.send(&address, &mut request).await {
                Ok(Some(outcome)) => return outcome,
                Ok(None) => {
                    reach.counts.failed(ForwardFailure::Elsewhere);
                    denied_by = Some(address);
                }
                Err(Failure { why, is_sent }) => {
                    debug!(address, room = request.room, ?why, "a request was not passed on");
                    reach.counts.failed(why);
                    self.locator.suspect(&address);
                    if is_sent && !request.head.method.is_safe() {
                        return Outcome::Unavailable(NO_ANSWER.to_owned());
                    }
                }
            }
        }
    }

    /// The answers of all other controllers to a request about no room, each of at most `len_max`
    /// bytes. A controller that does not answer and that the cluster then counts among those that
    /// run no more has no part in them.
    ///
    /// Errors: the reason, for the client, if a controller that runs does not answer: part of the
    /// answers would look like all.
    pub(crate) async fn ask_others(
        &self,
        head: &Parts,
        body: Bytes,
        link: ClientLink,
        len_max: usize,
    ) -> Result<Vec<Bytes>, String> {
        let Some(reach) = &self.reach else {
            return Ok(Vec::new());
        };
        let _turn = reach.asking.acquire().await;
        let mut asked = JoinSet::new();
        for address in self.controllers().await? {
            let reach = reach.clone();
            let Some(request) = head::request(head, link, None, body.clone()) else {
                return Err("the path is none".to_owned());
            };
            asked.spawn(async move { (reach.read(&address, request, len_max).await, address) });
        }
        let (mut answers, mut silent) = (Vec::new(), Vec::new());
        while let Some(Ok((answer, address))) = asked.join_next().await {
            match answer {
                Ok(answer) => answers.push(answer),
                Err(Failure { why, .. }) => {
                    debug!(address, ?why, "a controller does not answer for its rooms");
                    reach.counts.failed(why);
                    self.locator.suspect(&address);
                    silent.push(address);
                }
            }
        }
        if !silent.is_empty() {
            let running = self.controllers().await?;
            if silent.iter().any(|address| running.contains(address)) {
                return Err("a controller does not answer for its rooms".to_owned());
            }
        }
        Ok(answers)
    }

    /// A WebSocket to the controller at an address, by the request of a client; `None` if there is
    /// none to be had.
    pub(crate) async fn open(&self, address: &str, head: &Parts, link: ClientLink) -> Option<TokioIo<Upgraded>> {
        let reach = self.reach.as_ref()?;
        let request = head::request(head, link, None, Bytes::new())?;
        let answered = reach.exchange(address, request, ANSWER_MAX).await;
        let (_, mut answer) = answered
            .inspect_err(|failure| {
                reach.counts.failed(failure.why);
                self.locator.suspect(address);
            })
            .ok()?;
        if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
            reach.counts.failed(ForwardFailure::Refused);
            return None;
        }
        reach.counts.sent(Kind::Worker);
        let stream = timeout(ANSWER_MAX, hyper::upgrade::on(&mut answer)).await;
        stream.ok()?.ok().map(TokioIo::new)
    }

    /// The addresses of the other controllers that run.
    ///
    /// Errors: the cluster does not say, for the client.
    pub(crate) async fn controllers(&self) -> Result<Vec<String>, String> {
        let controllers = self.locator.controllers().await;
        controllers.ok_or_else(|| "the cluster does not say which controllers run".to_owned())
    }

    async fn locate(&self, request: &ForwardRequest<'_>, denied_by: Option<&str>) -> Location {
        let query = RoomQuery {
            room: request.room,
            is_new_allowed: request.is_new_allowed,
            denied_by,
        };
        self.locator.locate(query).await
    }
}

impl Reach {
    /// The outcome of a request that is sent to a controller; `None` if it does not serve the room.
    async fn send(&self, address: &str, request: &mut ForwardRequest<'_>) -> Result<Option<Outcome>, Failure> {
        let region = request.region.as_deref();
        let outgoing = head::request(request.head, request.link, region, request.body.clone());
        let outgoing = outgoing.ok_or_else(|| Failure::unsent(ForwardFailure::Malformed))?;
        let (connection, answer) = self.exchange(address, outgoing, ANSWER_MAX + request.takes).await?;
        Ok(head::answer(answer).map(|answer| self.outcome(request, answer, connection, address)))
    }

    /// The head of the answer to a request, and the connection that it came over.
    async fn exchange(
        &self,
        address: &str,
        request: Request<Full<Bytes>>,
        time_limit: Duration,
    ) -> Result<(Connection, Response<Incoming>), Failure> {
        let sent = |why| Failure { why, is_sent: true };
        let (mut waiting, mut outgoing) = (self.pool.take(address), request);
        loop {
            let is_new = waiting.is_none();
            let mut connection = match waiting.take() {
                Some(connection) => connection,
                None => {
                    let _turn = self.pool.turn(address).await;
                    Connection::open(address, &self.tls).await.map_err(Failure::unsent)?
                }
            };
            let answer = timeout(time_limit, connection.send(outgoing)).await;
            match answer.map_err(|_| sent(ForwardFailure::Silent))? {
                Ok(answer) => return Ok((connection, answer)),
                // The other end has closed it while it waited.
                Err(Unanswered::Unsent(request)) if !is_new => outgoing = *request,
                Err(Unanswered::Unsent(_)) => return Err(Failure::unsent(ForwardFailure::Broken)),
                Err(Unanswered::Broken) => return Err(sent(ForwardFailure::Broken)),
            }
        }
    }

    /// The whole answer to a request about no room, of at most `len_max` bytes.
    async fn read(&self, address: &str, request: Request<Full<Bytes>>, len_max: usize) -> Result<Bytes, Failure> {
        let sent = |why| Failure { why, is_sent: true };
        let (connection, answer) = self.exchange(address, request, ANSWER_MAX).await?;
        if answer.status() != StatusCode::OK {
            return Err(sent(ForwardFailure::Refused));
        }
        let read = Limited::new(answer.into_body(), len_max).collect();
        let read = timeout(ANSWER_MAX, read).await;
        let read = read.map_err(|_| sent(ForwardFailure::Silent))?;
        let read = read.map_err(|_| sent(ForwardFailure::Broken))?;
        self.counts.sent(Kind::Api);
        self.pool.give_back(address, connection);
        Ok(read.to_bytes())
    }

    fn outcome(
        &self,
        request: &mut ForwardRequest<'_>,
        mut answer: Response<Incoming>,
        connection: Connection,
        address: &str,
    ) -> Outcome {
        self.counts.sent(request.kind);
        if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
            self.pool.give_back(address, connection);
            return Outcome::Answered(answer.map(Body::new));
        }
        let controller = hyper::upgrade::on(&mut answer);
        match request.head.extensions.remove::<OnUpgrade>() {
            Some(client) => {
                let splice = Splice::new(client, controller, self.counts.open());
                Outcome::Upgraded(answer.map(|_| Body::empty()), splice)
            }
            None => Outcome::Unavailable("the connection cannot be upgraded".to_owned()),
        }
    }
}
