//! Requests about calls that another machine of the cluster may have.
//!
//! A request about a call of this machine never leaves it. One about an unknown call is held until
//! its machine is found, and comes back here where no machine has the call.

use std::time::Instant;

use southbound::NodeId;

use super::CallController;
use crate::counters::Counter;
use crate::limits::NAME_MAX;
use crate::messages::{Form, Output, PassedRequest, PeerEvent, PeerMessage, Request, RequestId};
use crate::peers::{PassFailure, Peers, Step, Turn};
use crate::replies::Protocol;
use crate::subject::Subject;
use crate::{cookie, ng, rtpproxy};

impl CallController {
    /// How many other machines are connected.
    pub fn peers(&self) -> usize {
        self.peers.as_ref().map_or(0, Peers::len)
    }

    /// A proxy asks for something.
    pub(super) fn request(&mut self, now: Instant, id: RequestId, request: Request<'_>, out: &mut Vec<Output>) {
        let subject = Some(request).filter(|_| self.peers.is_some()).and_then(subject);
        match subject.filter(|subject| !self.is_here(now, subject, request)) {
            None => self.perform(now, id, request, out),
            Some(subject) => self.turn(now, out, |peers, turn| {
                peers.hold(id, PassedRequest::of(request), subject, None, turn);
            }),
        }
    }

    /// Another machine passes on what a proxy asked it for.
    pub(super) fn passed(
        &mut self,
        now: Instant,
        (id, by): (RequestId, NodeId),
        request: Request<'_>,
        out: &mut Vec<Output>,
    ) {
        let Some(subject) = subject(request) else {
            self.calls.counters.count(Counter::PeerRefused);
            return out.push(Output::Unanswered(id));
        };
        if self.is_here(now, &subject, request) {
            self.calls.counters.count(Counter::PeerTaken);
            return self.perform_held(now, id, request, out);
        }
        if !self.peers.as_ref().is_some_and(|peers| peers.begins(&subject.call)) {
            self.calls.counters.count(Counter::PeerUnknown);
            return out.push(Output::Elsewhere(id));
        }
        let request = PassedRequest::of(request);
        self.turn(now, out, |peers, turn| peers.hold(id, request, subject, Some(by), turn));
    }

    /// Something happened to another machine.
    pub(super) fn on_peer(&mut self, now: Instant, event: PeerEvent, out: &mut Vec<Output>) {
        let asked = match &event {
            PeerEvent::Said(_, PeerMessage::Ask { call, .. }) => self.calls.get(call).is_some(),
            _ => false,
        };
        self.turn(now, out, |peers, turn| match event {
            PeerEvent::Known(known) => peers.known(&known, turn),
            PeerEvent::Joined(peer) => peers.joined(peer, turn),
            PeerEvent::Unreached(peer) => peers.unreached(peer, turn),
            PeerEvent::Left(peer) => peers.left(peer, turn),
            PeerEvent::Said(peer, message) => match message {
                PeerMessage::Ask { question, call, begins } => {
                    peers.asked(peer, (question, &call, begins), asked, turn);
                }
                PeerMessage::Answer { question, has } => peers.told(peer, question, has, turn),
                PeerMessage::Passed { request, outcome } => peers.passed(peer, request, outcome, turn),
                PeerMessage::Hello { .. } | PeerMessage::Ping | PeerMessage::Pass { .. } => {
                    turn.counters.count(Counter::PeerRefused);
                }
            },
        });
    }

    /// Handles what has taken other machines too long.
    pub(super) fn stop_waiting_for_peers(&mut self, now: Instant, out: &mut Vec<Output>) {
        self.turn(now, out, Peers::handle_timeout);
    }

    /// Whether this machine has the call, or has answered or begun this very request.
    fn is_here(&mut self, now: Instant, subject: &Subject, request: Request<'_>) -> bool {
        if self.calls.get(&subject.call).is_some() {
            return true;
        }
        let (protocol, from, message) = match request {
            Request::Ng { from, message } => (Protocol::Ng, from, message),
            Request::Rtpproxy { from, message } => (Protocol::Rtpproxy, from, message),
            Request::NgPlain(_) | Request::RtpproxyPlain(_) => return false,
        };
        let cookie = cookie::split(message).map(|(cookie, _)| cookie);
        cookie.is_some_and(|cookie| {
            // One that is not usable is refused here.
            !cookie::is_usable(cookie)
                || self.replies.known(now, protocol, from, cookie).is_some()
                || self.replies.is_under_way(protocol, from, cookie)
        })
    }

    fn turn(&mut self, now: Instant, out: &mut Vec<Output>, work: impl FnOnce(&mut Peers, &mut Turn<'_>)) {
        let Some(peers) = &mut self.peers else {
            return;
        };
        let mut steps = Vec::new();
        let counters = &mut self.calls.counters;
        work(
            peers,
            &mut Turn {
                now,
                counters,
                steps: &mut steps,
            },
        );
        for step in steps {
            match step {
                Step::Out(output) => out.push(output),
                Step::Perform(id, held) => self.perform_held(now, id, held.request(), out),
                Step::Refuse(id, held, why) => {
                    self.calls.counters.count(Counter::Errors);
                    let bytes = refusal(&held, why).into();
                    out.push(Output::Reply { to: id, bytes });
                }
            }
        }
    }

    /// Carries out a request whose caller does not look whether it waits.
    fn perform_held(&mut self, now: Instant, id: RequestId, request: Request<'_>, out: &mut Vec<Output>) {
        let before = out.len();
        self.perform(now, id, request, out);
        let is_reply = |output: &Output| matches!(output, Output::Reply { to, .. } if *to == id);
        if !out[before..].iter().any(is_reply) && !self.replies.is_waiting(id) {
            out.push(Output::Unanswered(id));
        }
    }
}

/// The call that a request is about; `None` if it is about none, or cannot be read. Any machine
/// answers such a request by itself.
fn subject(request: Request<'_>) -> Option<Subject> {
    let subject = match request {
        Request::Ng { message, .. } => ng::subject(cookie::split(message)?.1),
        Request::NgPlain(payload) => ng::subject(payload),
        Request::Rtpproxy { message, .. } => rtpproxy::subject(cookie::split(message)?.1),
        Request::RtpproxyPlain(line) => rtpproxy::subject(line),
    };
    subject.filter(|subject| (1..=NAME_MAX).contains(&subject.call.len()))
}

/// The answer to a request that another machine should have carried out. It is not kept: the same
/// request may succeed a moment later.
fn refusal(held: &PassedRequest, why: PassFailure) -> Vec<u8> {
    let (cookie, payload) = held.split();
    let answer = match held.form {
        Form::Ng | Form::NgPlain => ng::failed(payload, why.reason()),
        Form::Rtpproxy | Form::RtpproxyPlain => rtpproxy::ErrorCode::Overload.reply().into_bytes(),
    };
    match cookie {
        [] => answer,
        cookie => [cookie, b" ", &answer].concat(),
    }
}
