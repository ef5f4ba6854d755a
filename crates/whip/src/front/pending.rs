//! Calls whose inputs the controller is handling.

use controller::{ConnectionId, Input, Request};
use wire::sdp::SessionDescription;

use super::accepted::{accept, tag};
use super::{CallId, Front, Output};
use crate::answer::{Answer, FRAGMENT, SDP};
use crate::etag::quoted;
use crate::fragment;
use crate::route::Route;
use crate::session::{Session, SessionUpdates, request};

/// A call that is not answered yet.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) call: CallId,
    pub(super) told: SessionUpdates,
    task: Task,
}

/// The purpose of a call.
#[derive(Debug)]
pub(super) enum Task {
    /// Opens a session, which lacks only what the controller says.
    Open {
        session: Box<Session>,
        has_token_in_url: bool,
    },
    /// Restarts the ICE session of an open one. `before` is the offer that holds if that fails.
    Restart { before: Box<SessionDescription> },
}

impl Pending {
    /// Nothing has been told yet.
    pub(super) fn new(call: CallId, task: Task) -> Self {
        let told = SessionUpdates::default();
        Self { call, told, task }
    }
}

impl Front {
    /// The answer to a call, now that the controller has said everything about it.
    pub(super) fn conclude(
        &mut self,
        connection: ConnectionId,
        pending: Pending,
        out: &mut Vec<Output>,
    ) -> Result<Answer, Answer> {
        let Pending { told, task, .. } = pending;
        match task {
            Task::Open {
                session,
                has_token_in_url,
            } => self.opened(connection, *session, has_token_in_url, told, out),
            Task::Restart { before } => self.restarted(connection, *before, &told),
        }
    }

    fn opened(
        &mut self,
        connection: ConnectionId,
        mut session: Session,
        has_token_in_url: bool,
        mut told: SessionUpdates,
        out: &mut Vec<Output>,
    ) -> Result<Answer, Answer> {
        match accept(session.protocol, &session.offer, &mut told) {
            Ok(accepted) => {
                (session.sid, session.tag) = (accepted.sid, accepted.tag);
                let mut location = Route::of_session(session.protocol, &session.room, &session.sid);
                if let Some(token) = session.token.as_ref().filter(|_| has_token_in_url) {
                    // A client that cannot set a header asks for this URL as it is.
                    location += &format!("?access_token={}", token.text());
                }
                let answer = Answer::of(201, SDP, accepted.sdp)
                    .with("location", location)
                    .with("etag", quoted(&session.tag))
                    .with("accept-patch", FRAGMENT)
                    .with_ice_servers(&accepted.ice_servers);
                self.remember(connection, session);
                Ok(answer)
            }
            Err(refusal) => {
                self.leave(&session.room, session.held);
                if !told.is_over {
                    out.push(Output::Input(request(connection, Request::Leave)));
                }
                out.push(Output::Input(Input::Ended { connection }));
                Err(refusal)
            }
        }
    }

    fn restarted(
        &mut self,
        connection: ConnectionId,
        before: SessionDescription,
        told: &SessionUpdates,
    ) -> Result<Answer, Answer> {
        let session = self.sessions.get_mut(&connection).ok_or_else(Answer::no_session)?;
        let sdp = told
            .answer
            .as_ref()
            .map(|answer| answer.sdp.as_str())
            .unwrap_or_default();
        let Some(tag) = tag(sdp) else {
            session.offer = before;
            return Err(Answer::refusal(422, "ICE cannot be restarted"));
        };
        session.tag = tag;
        self.unsaved.changed(connection);
        Ok(Answer::of(200, FRAGMENT, fragment::of_description(sdp)).with("etag", quoted(&session.tag)))
    }
}
