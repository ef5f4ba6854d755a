//! `GET /healthz`, and `/livez`: whether every part of the server still answers. `GET /readyz`:
//! whether somebody can join as well.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use crate::controller_task;
use crate::media::ReceiverQuery;
use crate::os::clock;
use crate::tls::Certificates;

/// How long a part may take to answer. A healthy one answers within milliseconds.
const ANSWER_MAX: Duration = Duration::from_secs(2);

/// How long an answer holds: asking more often costs the parts nothing.
const AGE_MAX: Duration = Duration::from_millis(200);

/// The parts that are asked. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Health {
    controller: Option<controller_task::Handle>,
    /// Those of the node in this process, if there is one.
    receiver_query: Option<ReceiverQuery>,
    /// The task of calls, if there is one.
    sip: Option<Probe>,
    certificates: Option<Certificates>,
    last: Arc<Mutex<Option<Answer>>>,
}

/// Asks a part whether it is alive: one that takes requests over HTTP itself, and so does not come
/// before them.
pub(crate) type Probe = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = bool> + Send>> + Send + Sync>;

/// The last answer, and when it was given.
type Answer = (Instant, Result<(), Unwell>);

/// Why nobody can join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unready {
    /// The server drains.
    Draining,
    /// No media node has said where it is.
    NoNode,
    /// There is HTTPS, and no certificate is valid.
    NoCertificate,
    /// A part did not answer.
    Unwell(Unwell),
}

/// The first part that did not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unwell(pub &'static str);

impl fmt::Display for Unwell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no answer from: {}", self.0)
    }
}

impl fmt::Display for Unready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unready::Draining => f.write_str("draining"),
            Unready::NoNode => f.write_str("no media node is ready"),
            Unready::NoCertificate => f.write_str("no certificate is valid"),
            Unready::Unwell(unwell) => unwell.fmt(f),
        }
    }
}

impl Health {
    /// Puts the parts together. `certificates` are those of HTTPS, if there is any.
    pub(crate) fn new(
        controller: controller_task::Handle,
        receiver_query: Option<ReceiverQuery>,
        sip: Option<Probe>,
        certificates: Option<Certificates>,
    ) -> Self {
        Health {
            controller: Some(controller),
            receiver_query,
            sip,
            certificates,
            last: Arc::default(),
        }
    }

    /// The parts of a media node, whose controllers are elsewhere.
    pub(crate) fn of_node(receiver_query: ReceiverQuery) -> Self {
        Health {
            controller: None,
            receiver_query: Some(receiver_query),
            sip: None,
            certificates: None,
            last: Arc::default(),
        }
    }

    /// Asks all parts.
    ///
    /// Errors: one did not answer in time.
    pub(crate) async fn check(&self) -> Result<(), Unwell> {
        // Held while the parts are asked, so that several at once ask once.
        let mut last = self.last.lock().await;
        if let Some((_, verdict)) = last.filter(|(at, _)| clock::now() < *at + AGE_MAX) {
            return verdict;
        }
        let verdict = self.ask().await;
        *last = Some((clock::now(), verdict));
        verdict
    }

    /// Whether somebody can join.
    ///
    /// Errors: the first reason why nobody can.
    pub(crate) async fn check_readiness(&self) -> Result<(), Unready> {
        let Some(controller) = &self.controller else {
            return self.check().await.map_err(Unready::Unwell);
        };
        if controller.is_draining() {
            return Err(Unready::Draining);
        }
        self.check().await.map_err(Unready::Unwell)?;
        match timeout(ANSWER_MAX, controller.is_ready()).await {
            Ok(true) => {}
            Ok(false) => return Err(Unready::NoNode),
            Err(_) => return Err(Unready::Unwell(Unwell("controller"))),
        }
        match &self.certificates {
            Some(certificates) if !certificates.has_valid_at(clock::unix()) => Err(Unready::NoCertificate),
            _ => Ok(()),
        }
    }

    async fn ask(&self) -> Result<(), Unwell> {
        let in_time = |part, answered: Result<bool, Elapsed>| match answered {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(Unwell(part)),
        };
        if let Some(controller) = &self.controller {
            in_time("controller", timeout(ANSWER_MAX, controller.is_alive()).await)?;
        }
        if let Some(query) = &self.receiver_query {
            in_time("agent", timeout(ANSWER_MAX, query.agent_is_alive()).await)?;
            in_time("data plane", timeout(ANSWER_MAX, query.plane_is_alive()).await)?;
        }
        if let Some(sip) = &self.sip {
            in_time("SIP", timeout(ANSWER_MAX, sip()).await)?;
        }
        Ok(())
    }
}
