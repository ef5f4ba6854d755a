//! Replies to proxies: those that wait for the media node, and those that are repeated.

mod cookies;
mod waiting;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use crate::limits::REQUESTS_WAITING_MAX;
use crate::messages::{Output, RequestId};
use cookies::Cookies;
use waiting::Waiting;
pub(crate) use waiting::{Continuation, NoticeKind, PendingRequest, Wait};

/// The control protocol of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Ng,
    Rtpproxy,
}

/// All replies, before and after they are sent.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    waiting: Waiting,
    ng: Cookies,
    rtpproxy: Cookies,
}

impl Replies {
    /// When a request will have waited [long enough](Self::take_due).
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.waiting.next_deadline()
    }

    /// Whether a request waits.
    pub(crate) fn is_waiting(&self, id: RequestId) -> bool {
        self.waiting.holds(id)
    }

    /// Whether no more requests may wait.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting.len() >= REQUESTS_WAITING_MAX
    }

    /// Whether the same request waits already, under its cookie.
    pub(crate) fn has(&self, request: &PendingRequest) -> bool {
        self.waiting.has(request)
    }

    /// Whether a request with this cookie waits already.
    pub(crate) fn is_under_way(&self, protocol: Protocol, from: Option<IpAddr>, cookie: &[u8]) -> bool {
        self.waiting.has_cookie(protocol, from, cookie)
    }

    /// The reply to an earlier request with this cookie.
    pub(crate) fn known(
        &mut self,
        now: Instant,
        protocol: Protocol,
        from: Option<IpAddr>,
        cookie: &[u8],
    ) -> Option<Arc<[u8]>> {
        self.cookies(protocol).reply(now, from, cookie)
    }

    /// A request waits for notices.
    pub(crate) fn wait(&mut self, request: PendingRequest, wait: Wait) {
        self.waiting.insert(request, wait);
    }

    /// A port answered. Returns the requests that wait for nothing more.
    pub(crate) fn on_notice(&mut self, at: SocketAddr, kind: NoticeKind) -> Vec<(PendingRequest, Wait)> {
        self.waiting.on_notice(at, kind)
    }

    /// All requests that wait for a notice of this port.
    pub(crate) fn take_at(&mut self, at: SocketAddr) -> Vec<(PendingRequest, Wait)> {
        self.waiting.take_at(at)
    }

    /// The next request that has waited long enough.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<(PendingRequest, Wait)> {
        self.waiting.take_due(now)
    }

    /// The reply to a request, which is kept for its cookie.
    pub(crate) fn reply(&mut self, now: Instant, request: PendingRequest, payload: &[u8]) -> Output {
        let to = request.id;
        let bytes = match request.cookie {
            None => payload.into(),
            Some((from, cookie)) => {
                let bytes: Arc<[u8]> = [&cookie, &b" "[..], payload].concat().into();
                self.cookies(request.protocol)
                    .remember(now, from, &cookie, bytes.clone());
                bytes
            }
        };
        Output::Reply { to, bytes }
    }

    fn cookies(&mut self, protocol: Protocol) -> &mut Cookies {
        match protocol {
            Protocol::Ng => &mut self.ng,
            Protocol::Rtpproxy => &mut self.rtpproxy,
        }
    }
}
