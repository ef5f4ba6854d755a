//! Requests of proxies, including those that wait for the media node.
//!
//! A reply with ports is sent when they are open, and one that starts media when it is forwarded:
//! media may arrive the moment the reply is read. A port that could not be opened is given up, and
//! the request gets another. Before a call's counts are reported, its ports are asked for them.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Instant;

use southbound::relay::{Refusal, RelayCommand};

use super::CallController;
use crate::counters::Counter;
use crate::limits::{NODE_WAIT, PORTS_TRIED_MAX};
use crate::messages::{Output, Request, RequestId};
use crate::replies::{Continuation, NoticeKind, PendingRequest, Protocol, Wait};
use crate::{cookie, ng, rtpproxy};

impl CallController {
    /// Carries out what a proxy asks for.
    pub(super) fn perform(&mut self, now: Instant, id: RequestId, request: Request<'_>, out: &mut Vec<Output>) {
        let (protocol, from, message) = match request {
            Request::NgPlain(payload) => {
                let request = PendingRequest::new(now, id, Protocol::Ng, None, payload);
                return self.begin(now, request, out);
            }
            Request::RtpproxyPlain(line) => {
                let request = PendingRequest::new(now, id, Protocol::Rtpproxy, None, line);
                return self.begin(now, request, out);
            }
            Request::Ng { from, message } => (Protocol::Ng, from, message),
            Request::Rtpproxy { from, message } => (Protocol::Rtpproxy, from, message),
        };
        let Some((cookie, payload)) = cookie::split(message) else {
            return self.calls.counters.count(Counter::CookieMissing);
        };
        if !cookie::is_usable(cookie) {
            return self.calls.counters.count(Counter::CookieRefused);
        }
        if let Some(bytes) = self.replies.known(now, protocol, from, cookie) {
            self.calls.counters.count(Counter::CookieRepeated);
            return out.push(Output::Reply { to: id, bytes });
        }
        let request = PendingRequest::new(now, id, protocol, Some((from, cookie.into())), payload);
        if self.replies.has(&request) {
            // It gets its answer when the first one does.
            return self.calls.counters.count(Counter::CookieRepeated);
        }
        self.begin(now, request, out);
    }

    /// A port is open.
    pub(super) fn opened(&mut self, now: Instant, at: SocketAddr, out: &mut Vec<Output>) {
        for (request, wait) in self.replies.on_notice(at, NoticeKind::Opened) {
            self.go_on(now, request, wait.then, out);
        }
    }

    /// A port reported its counts.
    pub(super) fn reported(&mut self, now: Instant, at: SocketAddr, out: &mut Vec<Output>) {
        for (request, wait) in self.replies.on_notice(at, NoticeKind::Traffic) {
            self.go_on(now, request, wait.then, out);
        }
    }

    /// A port could not be opened. Its pair is returned to the end of the list, and its request
    /// gets another.
    pub(super) fn refused(&mut self, now: Instant, at: SocketAddr, why: Refusal, out: &mut Vec<Output>) {
        if !self.calls.refused(at, why, out) {
            return;
        }
        for (mut request, wait) in self.replies.take_at(at) {
            request.refused += 1;
            request.notices = wait.notices;
            request.notices.retain(|(at, _)| self.calls.has_port(*at));
            self.carry_out(now, request, out);
        }
    }

    /// Continues requests that have waited long enough.
    pub(super) fn stop_waiting(&mut self, now: Instant, out: &mut Vec<Output>) {
        while let Some((request, wait)) = self.replies.take_due(now) {
            self.calls.counters.count(Counter::NodeSilent);
            // A port that may not be open is not reported. The proxy repeats its request.
            if wait.notices.iter().all(|(_, kind)| *kind == NoticeKind::Traffic) {
                self.go_on(now, request, wait.then, out);
            } else if self.peers.is_some() {
                // It may be another machine's.
                out.push(Output::Unanswered(request.id));
            }
        }
    }

    fn go_on(&mut self, now: Instant, request: PendingRequest, then: Continuation, out: &mut Vec<Output>) {
        match then {
            Continuation::Execution => self.carry_out(now, request, out),
            Continuation::Reply(payload) => self.answer(now, request, &payload, out),
        }
    }

    /// Executes a request. If it is about counts, its call's ports report first.
    fn begin(&mut self, now: Instant, request: PendingRequest, out: &mut Vec<Output>) {
        if self.replies.is_full() {
            // A proxy asks again.
            return self.calls.counters.count(Counter::RequestsFull);
        }
        let ports = self.reporting_ports(&request);
        if ports.is_empty() {
            return self.carry_out(now, request, out);
        }
        out.extend(ports.iter().map(|at| Output::Command(RelayCommand::Report(*at))));
        let wait = Wait {
            notices: ports.into_iter().map(|at| (at, NoticeKind::Traffic)).collect(),
            then: Continuation::Execution,
            until: now + NODE_WAIT,
        };
        self.replies.wait(request, wait);
    }

    fn carry_out(&mut self, now: Instant, mut request: PendingRequest, out: &mut Vec<Output>) {
        if request.refused > PORTS_TRIED_MAX {
            let payload = self.no_port_opens(&request);
            return self.answer(now, request, &payload, out);
        }
        let before = out.len();
        let (payload, outcome) = match request.protocol {
            Protocol::Ng => ng::execute(&mut self.calls, now, &request.payload, out),
            Protocol::Rtpproxy => rtpproxy::execute(&mut self.calls, now, &request.payload, out),
        };
        request.outcome = outcome;
        let mut notices = std::mem::take(&mut request.notices);
        let mut reports = Vec::new();
        for output in &out[before..] {
            match output {
                Output::Command(RelayCommand::Open(at)) => _ = notices.insert((*at, NoticeKind::Opened)),
                Output::Command(RelayCommand::Install(entry)) => {
                    notices.insert((entry.at, NoticeKind::Traffic));
                    reports.push(Output::Command(RelayCommand::Report(entry.at)));
                }
                _ => {}
            }
        }
        if notices.is_empty() {
            return self.answer(now, request, &payload, out);
        }
        out.append(&mut reports);
        let wait = Wait {
            notices,
            then: Continuation::Reply(payload),
            until: now + NODE_WAIT,
        };
        self.replies.wait(request, wait);
    }

    fn answer(&mut self, now: Instant, request: PendingRequest, payload: &[u8], out: &mut Vec<Output>) {
        let took = now.saturating_duration_since(request.begun);
        let calls = self.calls.len();
        self.calls
            .statistics
            .answered(now, request.from(), took, request.outcome, calls);
        out.push(self.replies.reply(now, request, payload));
    }

    /// The ports whose counts a request is about: those that forward media of its call.
    fn reporting_ports(&self, request: &PendingRequest) -> BTreeSet<SocketAddr> {
        let name = match request.protocol {
            Protocol::Ng => ng::call_reported_on(&request.payload),
            Protocol::Rtpproxy => rtpproxy::call_reported_on(&request.payload),
        };
        let call = name.and_then(|name| self.calls.get(&name));
        call.map(|call| call.installed.keys().copied().collect())
            .unwrap_or_default()
    }

    fn no_port_opens(&mut self, request: &PendingRequest) -> Vec<u8> {
        self.calls.counters.count(Counter::PortsExhausted);
        self.calls.counters.count(Counter::Errors);
        match request.protocol {
            Protocol::Ng => ng::out_of_ports(&request.payload),
            Protocol::Rtpproxy => rtpproxy::ErrorCode::NoPorts.reply().into_bytes(),
        }
    }
}
