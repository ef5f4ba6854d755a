//! The connection to one of etcd's members, and the next member where one fails.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Request, Response, Status};

use crate::config::{EtcdConfig, OpenError, deadline};
use crate::etcd::protocol::etcdserverpb as pb;
use crate::etcd::protocol::etcdserverpb::auth_client::AuthClient;
use crate::etcd::protocol::etcdserverpb::kv_client::KvClient;
use crate::etcd::protocol::etcdserverpb::lease_client::LeaseClient;
use crate::etcd::protocol::etcdserverpb::watch_client::WatchClient;
use crate::store::StoreError;

/// The time of one attempt to connect. A deadline has room for more than one member.
const CONNECT: Duration = Duration::from_millis(500);

/// The most bytes of an answer: a page of the longest entries.
const ANSWER_MAX: usize = 32 * 1024 * 1024;

/// The members of a cluster of etcd.
pub(super) struct Members {
    endpoints: Vec<Endpoint>,
    user: Option<pb::AuthenticateRequest>,
    deadline: Duration,
    current: Mutex<Current>,
}

#[derive(Default)]
struct Current {
    /// The place of the member that is tried next.
    next: usize,
    /// Counts connections, so that a late failure does not end a new one.
    nth: u64,
    connection: Option<Connection>,
}

/// A connection to one member, with the user's token.
#[derive(Clone)]
pub(super) struct Connection {
    channel: Channel,
    token: Token,
    nth: u64,
}

/// The user's token, which goes along with every call.
#[derive(Clone)]
pub(super) struct Token(Option<MetadataValue<Ascii>>);

impl Interceptor for Token {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            request.metadata_mut().insert("token", token.clone());
        }
        // A member that is cut off from the others says so instead of being silent.
        request
            .metadata_mut()
            .insert("hasleader", MetadataValue::from_static("true"));
        Ok(request)
    }
}

type Service = InterceptedService<Channel, Token>;

impl Connection {
    fn service(&self) -> Service {
        InterceptedService::new(self.channel.clone(), self.token.clone())
    }

    pub(super) fn kv(&self) -> KvClient<Service> {
        KvClient::new(self.service()).max_decoding_message_size(ANSWER_MAX)
    }

    pub(super) fn lease(&self) -> LeaseClient<Service> {
        LeaseClient::new(self.service())
    }

    pub(super) fn watch(&self) -> WatchClient<Service> {
        WatchClient::new(self.service()).max_decoding_message_size(ANSWER_MAX)
    }
}

impl Members {
    pub(super) fn new(config: &EtcdConfig) -> Result<Self, OpenError> {
        if config.endpoints.is_empty() {
            return Err(OpenError("`etcd` needs at least one of `endpoints`".into()));
        }
        let user = match (&config.username, &config.password) {
            (None, None) => None,
            (Some(name), Some(password)) => Some(pb::AuthenticateRequest {
                name: name.clone(),
                password: password.clone(),
            }),
            _ => return Err(OpenError("`etcd` needs both `username` and `password`, or none".into())),
        };
        let tls = tls(config)?;
        let endpoints = config.endpoints.iter().map(|url| endpoint(url, tls.as_ref()));
        Ok(Self {
            endpoints: endpoints.collect::<Result<_, _>>()?,
            user,
            deadline: deadline(config.deadline_ms)?,
            current: Mutex::default(),
        })
    }

    /// Runs within the deadline.
    pub(super) async fn timed<T>(&self, run: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        time::timeout(self.deadline, run)
            .await
            .unwrap_or(Err(StoreError::TimedOut))
    }

    /// Makes a call that reads, at each member once until one answers.
    pub(super) async fn read<T, F: Future<Output = Result<Response<T>, Status>>>(
        &self,
        call: impl Fn(Connection) -> F,
    ) -> Result<T, StoreError> {
        let part = self.deadline / u32::try_from(self.endpoints.len()).unwrap_or(u32::MAX);
        let mut answer = Err(StoreError::TimedOut);
        for _ in 0..self.endpoints.len() {
            answer = self.once(&call, part).await;
            if !matches!(answer, Err(StoreError::Unavailable(_) | StoreError::TimedOut)) {
                break;
            }
        }
        answer
    }

    /// Makes a call that writes. It is not made again: the first may have had its effect.
    pub(super) async fn write<T, F: Future<Output = Result<Response<T>, Status>>>(
        &self,
        call: impl Fn(Connection) -> F,
    ) -> Result<T, StoreError> {
        self.once(&call, self.deadline).await
    }

    async fn once<T, F: Future<Output = Result<Response<T>, Status>>>(
        &self,
        call: &impl Fn(Connection) -> F,
        limit: Duration,
    ) -> Result<T, StoreError> {
        let end = time::Instant::now() + limit;
        // The second time is for a token that has expired: etcd has done nothing then.
        for last in [false, true] {
            let connected = time::timeout_at(end, self.connection()).await;
            let connection = connected.unwrap_or(Err(StoreError::TimedOut))?;
            let nth = connection.nth;
            let failure = match time::timeout_at(end, call(connection)).await {
                Ok(Ok(answer)) => return Ok(answer.into_inner()),
                Ok(Err(status)) if is_stale(&status) && self.user.is_some() && !last => {
                    self.leave(nth, false).await;
                    continue;
                }
                Ok(Err(status)) => error(&status),
                Err(_) => StoreError::TimedOut,
            };
            if matches!(failure, StoreError::Unavailable(_) | StoreError::TimedOut) {
                self.leave(nth, true).await;
            }
            return Err(failure);
        }
        Err(StoreError::TimedOut)
    }

    /// Ends a connection; the next is to the next member, if `on`.
    async fn leave(&self, nth: u64, on: bool) {
        let mut current = self.current.lock().await;
        if current.connection.take_if(|connection| connection.nth == nth).is_some() && on {
            current.next += 1;
        }
    }

    /// The connection there is, or one to the first member that lets itself be connected to.
    pub(super) async fn connection(&self) -> Result<Connection, StoreError> {
        let mut current = self.current.lock().await;
        if let Some(connection) = &current.connection {
            return Ok(connection.clone());
        }
        let mut failure = StoreError::TimedOut;
        for _ in 0..self.endpoints.len() {
            let place = current.next % self.endpoints.len();
            let endpoint = &self.endpoints[place];
            // A caller whose deadline ends this attempt does not begin with the same member again.
            current.next = place + 1;
            let connected = time::timeout(CONNECT, self.connect(endpoint)).await;
            match connected.unwrap_or(Err(StoreError::TimedOut)) {
                Ok((channel, token)) => {
                    current.next = place;
                    current.nth += 1;
                    let connection = Connection {
                        channel,
                        token,
                        nth: current.nth,
                    };
                    current.connection = Some(connection.clone());
                    return Ok(connection);
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    async fn connect(&self, endpoint: &Endpoint) -> Result<(Channel, Token), StoreError> {
        let failed = |error: tonic::transport::Error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            StoreError::Unavailable(format!(
                "{}: {}",
                endpoint.uri(),
                cause.unwrap_or_else(|| error.to_string())
            ))
        };
        let channel = endpoint.connect().await.map_err(failed)?;
        let Some(user) = &self.user else {
            return Ok((channel, Token(None)));
        };
        let answer = AuthClient::new(channel.clone()).authenticate(user.clone()).await;
        let token = answer.map_err(|status| error(&status))?.into_inner().token;
        let token = token
            .parse()
            .map_err(|_| StoreError::Malformed("etcd's token is no text".into()))?;
        Ok((channel, Token(Some(token))))
    }
}

fn endpoint(url: &str, tls: Option<&ClientTlsConfig>) -> Result<Endpoint, OpenError> {
    let refused = |error: &dyn std::fmt::Display| OpenError(format!("`endpoints`: {url:?}: {error}"));
    let secure = url.starts_with("https://");
    if !secure && !url.starts_with("http://") {
        return Err(refused(&"it has to begin with http:// or https://"));
    }
    let endpoint = Endpoint::from_shared(url.to_owned()).map_err(|error| refused(&error))?;
    let endpoint = endpoint
        .connect_timeout(CONNECT)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(Duration::from_secs(1))
        .keep_alive_timeout(Duration::from_secs(2))
        .keep_alive_while_idle(true);
    match (secure, tls) {
        (true, Some(tls)) => endpoint.tls_config(tls.clone()).map_err(|error| refused(&error)),
        (true, None) => Err(refused(&"https:// needs `ca`")),
        (false, Some(_)) => Err(refused(&"`ca`, `certificate` and `key` need https://")),
        (false, None) => Ok(endpoint),
    }
}

fn tls(config: &EtcdConfig) -> Result<Option<ClientTlsConfig>, OpenError> {
    let read = |name: &str, path: &PathBuf| fs::read(path).map_err(|error| OpenError::file(name, path, error));
    let Some(ca) = &config.ca else {
        return match (&config.certificate, &config.key) {
            (None, None) => Ok(None),
            _ => Err(OpenError("`etcd` needs `ca` with `certificate` and `key`".into())),
        };
    };
    let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read("ca", ca)?));
    match (&config.certificate, &config.key) {
        (None, None) => Ok(Some(tls)),
        (Some(certificate), Some(key)) => {
            let identity = Identity::from_pem(read("certificate", certificate)?, read("key", key)?);
            Ok(Some(tls.identity(identity)))
        }
        _ => Err(OpenError("`etcd` needs both `certificate` and `key`, or none".into())),
    }
}

/// Whether etcd does not know the token, or the token is from before users were changed.
fn is_stale(status: &Status) -> bool {
    status.code() == Code::Unauthenticated || status.message().contains("revision of auth store is old")
}

fn error(status: &Status) -> StoreError {
    let text = status.message().to_owned();
    match status.code() {
        Code::NotFound if text.contains("lease") => StoreError::LeaseLost,
        Code::Unauthenticated | Code::PermissionDenied => StoreError::Refused(text),
        Code::InvalidArgument if text.contains("authentication") || text.contains("user name") => {
            StoreError::Refused(text)
        }
        Code::InvalidArgument if text.contains("too large") => StoreError::TooLong(text),
        Code::InvalidArgument => StoreError::Malformed(text),
        Code::DeadlineExceeded => StoreError::TimedOut,
        _ => StoreError::Unavailable(text),
    }
}
