//! The connection to Redis, and the question to Sentinels for the master's address.

use std::time::Duration;

use redis::aio::{MultiplexedConnection, PubSub};
use redis::{AsyncConnectionConfig, IntoConnectionInfo, ScriptInvocation, cmd};
use redis::{Client, ConnectionAddr, ConnectionInfo, ErrorKind, FromRedisValue, RedisConnectionInfo, RedisError};
use tokio::sync::Mutex;
use tokio::time;

use crate::config::{OpenError, RedisConfig, deadline};
use crate::store::StoreError;

/// The time of one attempt to connect to Redis or to a Sentinel.
const CONNECT: Duration = Duration::from_millis(500);

/// The way to a server, and the connection to it while it works.
pub(super) struct Server {
    address: Option<(String, u16)>,
    sentinels: Vec<(String, u16)>,
    master: String,
    login: Login,
    sentinel_login: Login,
    tls: bool,
    pub(super) deadline: Duration,
    current: Mutex<(u64, Option<MultiplexedConnection>)>,
}

#[derive(Default)]
struct Login {
    username: Option<String>,
    password: Option<String>,
    db: i64,
}

impl Server {
    pub(super) fn new(config: &RedisConfig) -> Result<Self, OpenError> {
        if !config.cluster_addresses.is_empty() {
            let text = "`redis.cluster_addresses`: a Redis Cluster is not supported, use one server or Sentinels";
            return Err(OpenError(text.into()));
        }
        let sentinels = config
            .sentinel_addresses
            .iter()
            .map(|it| address("sentinel_addresses", it));
        let sentinels: Vec<_> = sentinels.collect::<Result<_, _>>()?;
        let (address, master) = match (&config.sentinel_master_name, sentinels.is_empty()) {
            (None, true) => (Some(address("address", &config.address)?), String::new()),
            (Some(master), false) => (None, master.clone()),
            _ => {
                let text = "`redis` needs both `sentinel_master_name` and `sentinel_addresses`, or none";
                return Err(OpenError(text.into()));
            }
        };
        if config.username.is_some() && config.password.is_none() {
            return Err(OpenError("`redis.username` needs `password`".into()));
        }
        Ok(Self {
            address,
            sentinels,
            master,
            login: Login {
                username: config.username.clone(),
                password: config.password.clone(),
                db: config.db,
            },
            sentinel_login: Login {
                username: config.sentinel_username.clone(),
                password: config.sentinel_password.clone(),
                db: 0,
            },
            tls: config.use_tls,
            deadline: deadline(config.deadline_ms)?,
            current: Mutex::default(),
        })
    }

    /// Runs a script. After a failure of the connection the next call makes a new one.
    pub(super) async fn run<T: FromRedisValue>(&self, script: &ScriptInvocation<'_>) -> Result<T, StoreError> {
        let end = time::Instant::now() + self.deadline;
        let connected = time::timeout_at(end, self.connection()).await;
        let (nth, mut connection) = connected.unwrap_or(Err(StoreError::TimedOut))?;
        let answer = match time::timeout_at(end, script.invoke_async(&mut connection)).await {
            Ok(answer) => answer.map_err(|failure| error(&failure)),
            Err(_) => Err(StoreError::TimedOut),
        };
        if matches!(answer, Err(StoreError::Unavailable(_) | StoreError::TimedOut)) {
            let mut current = self.current.lock().await;
            if current.0 == nth {
                current.1 = None;
            }
        }
        answer
    }

    /// A connection of its own for the changes that are published on a channel.
    pub(super) async fn subscribe(&self, channel: &str) -> Result<PubSub, StoreError> {
        let subscribing = async {
            let client = self.client().await?;
            let mut changes = client.get_async_pubsub().await.map_err(|failure| error(&failure))?;
            changes.subscribe(channel).await.map_err(|failure| error(&failure))?;
            Ok(changes)
        };
        time::timeout(self.deadline, subscribing)
            .await
            .unwrap_or(Err(StoreError::TimedOut))
    }

    async fn connection(&self) -> Result<(u64, MultiplexedConnection), StoreError> {
        let mut current = self.current.lock().await;
        if let (nth, Some(connection)) = &*current {
            return Ok((*nth, connection.clone()));
        }
        let client = self.client().await?;
        let connection = connect(&client, self.deadline).await?;
        *current = (current.0 + 1, Some(connection.clone()));
        Ok((current.0, connection))
    }

    async fn client(&self) -> Result<Client, StoreError> {
        let address = match &self.address {
            Some(address) => address.clone(),
            None => self.ask().await?,
        };
        client(&address, self.tls, &self.login)
    }

    /// The address of the master, as the first Sentinel that answers knows it.
    async fn ask(&self) -> Result<(String, u16), StoreError> {
        let mut failure = StoreError::TimedOut;
        for sentinel in &self.sentinels {
            let asking = async {
                let client = client(sentinel, self.tls, &self.sentinel_login)?;
                let mut connection = connect(&client, CONNECT).await?;
                let mut question = cmd("SENTINEL");
                question.arg("get-master-addr-by-name").arg(&self.master);
                let answer: Option<(String, u16)> = question
                    .query_async(&mut connection)
                    .await
                    .map_err(|failure| error(&failure))?;
                let unknown = || StoreError::Unavailable(format!("the Sentinels do not know {:?}", self.master));
                answer.ok_or_else(unknown)
            };
            match time::timeout(CONNECT, asking)
                .await
                .unwrap_or(Err(StoreError::TimedOut))
            {
                Ok(address) => return Ok(address),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }
}

fn client(address: &(String, u16), tls: bool, login: &Login) -> Result<Client, StoreError> {
    let (host, port) = address.clone();
    let address = if tls {
        ConnectionAddr::TcpTls {
            host,
            port,
            insecure: false,
            tls_params: None,
        }
    } else {
        ConnectionAddr::Tcp(host, port)
    };
    let mut settings = RedisConnectionInfo::default().set_db(login.db);
    if let Some(username) = &login.username {
        settings = settings.set_username(username);
    }
    if let Some(password) = &login.password {
        settings = settings.set_password(password);
    }
    let info: ConnectionInfo = address.into_connection_info().map_err(|failure| error(&failure))?;
    Client::open(info.set_redis_settings(settings)).map_err(|failure| error(&failure))
}

async fn connect(client: &Client, limit: Duration) -> Result<MultiplexedConnection, StoreError> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT))
        .set_response_timeout(Some(limit));
    let connection = client.get_multiplexed_async_connection_with_config(&config).await;
    connection.map_err(|failure| error(&failure))
}

fn address(name: &str, text: &str) -> Result<(String, u16), OpenError> {
    let parts = text.rsplit_once(':').filter(|(host, _)| !host.is_empty());
    let parsed = parts.and_then(|(host, port)| {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        Some((host.to_owned(), port.parse().ok()?))
    });
    parsed.ok_or_else(|| OpenError(format!("`redis.{name}`: {text:?} is not `host:port`")))
}

fn error(failure: &RedisError) -> StoreError {
    let text = failure.to_string();
    let code = failure.code().unwrap_or_default();
    if failure.is_timeout() {
        StoreError::TimedOut
    } else if failure.kind() == ErrorKind::AuthenticationFailed || matches!(code, "NOAUTH" | "NOPERM" | "WRONGPASS") {
        StoreError::Refused(text)
    } else if failure.kind() == ErrorKind::UnexpectedReturnType {
        StoreError::Malformed(text)
    } else {
        StoreError::Unavailable(text)
    }
}
