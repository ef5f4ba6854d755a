//! LiveKit's server API: Twirp version 7 over HTTP.
//!
//! A request is `POST /twirp/livekit.SERVICE/METHOD` with a message in JSON or in protobuf, and the
//! answer is in the same form. A [`Call`] is made of the request line, before the body is read. It
//! checks the grants of a token, makes an administrator's request of the body, and writes the
//! reply. Every error is JSON.
//!
//! Sources: the Twirp wire protocol, and LiveKit's `RoomService` and `AgentDispatchService` of
//! server version 1.13.4.

mod dispatches;
mod error;
mod replies;
mod requests;
mod room_list;
mod route;

use std::time::Duration;

use access::{ApiKeys, Claims, RoomNames, verify};
use controller::{AdminReply, AdminRequest};

pub use error::{ApiError, Code};
use requests::ApiRequest;
pub use requests::set_up;
pub use room_list::RoomList;
use route::{Grant, Target};

use crate::agents::{DispatchReply, DispatchRequest};
pub use crate::form::DESCRIPTORS;
use crate::form::Form;
use crate::query::Query;

/// The request of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// For the controller.
    Admin(AdminRequest),
    /// For the workers of agents.
    Dispatch(DispatchRequest),
}

impl Request {
    /// How long the answer may take beyond what the server needs.
    pub fn takes(&self) -> Duration {
        match self {
            Self::Admin(request) => request.takes(),
            Self::Dispatch(_) => Duration::ZERO,
        }
    }

    /// The room that it is about; `None` if it is about all, or names none.
    pub fn room(&self) -> Option<&str> {
        let room = match self {
            Self::Admin(request) => request.room()?,
            Self::Dispatch(
                DispatchRequest::Create { room, .. }
                | DispatchRequest::Delete { room, .. }
                | DispatchRequest::List { room, .. },
            ) => room,
        };
        (!room.is_empty()).then_some(room)
    }

    /// Whether it may create its room.
    pub fn may_create(&self) -> bool {
        matches!(
            self,
            Self::Admin(AdminRequest::CreateRoom(_)) | Self::Dispatch(DispatchRequest::Create { .. })
        )
    }
}

impl From<AdminRequest> for Request {
    fn from(request: AdminRequest) -> Self {
        Self::Admin(request)
    }
}

/// The answer to a call that was done.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// Of the controller.
    Admin(Box<AdminReply>),
    /// Of the workers of agents.
    Dispatch(DispatchReply),
    /// Rooms of several servers.
    Rooms(RoomList),
}

impl Reply {
    /// The same without rooms that are not of an API key.
    #[must_use]
    pub fn of_key(mut self, rooms: &RoomNames) -> Self {
        match &mut self {
            Self::Admin(reply) => {
                if let AdminReply::Rooms(infos) = &mut **reply {
                    infos.retain(|info| rooms.admits(&info.name));
                }
            }
            Self::Rooms(list) => list.retain(|name| rooms.admits(name)),
            Self::Dispatch(_) => {}
        }
        self
    }

    /// About how many bytes the answer takes.
    pub fn told_len(&self) -> usize {
        match self {
            Self::Admin(reply) => reply.told_len(),
            Self::Dispatch(reply) => reply.told_len(),
            Self::Rooms(list) => list.told_len(),
        }
    }
}

impl From<AdminReply> for Reply {
    fn from(reply: AdminReply) -> Self {
        Self::Admin(Box::new(reply))
    }
}

impl From<DispatchReply> for Reply {
    fn from(reply: DispatchReply) -> Self {
        Self::Dispatch(reply)
    }
}

/// One call of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    target: Target,
    form: Form,
}

impl Call {
    /// Whether a path belongs to the API.
    pub fn is_path(path: &str) -> bool {
        route::parts(path).is_some()
    }

    /// The call of a request line and a `Content-Type`.
    ///
    /// Errors: `bad_route`.
    pub fn new(method: &str, path: &str, content_type: &str) -> Result<Self, ApiError> {
        let bad = |message| ApiError::bad_route(message, method, path);
        if method != "POST" {
            return Err(bad(format!("unsupported method {method:?} (only POST is allowed)")));
        }
        let target = Target::of_path(path).ok_or_else(|| bad(format!("no handler for path {path:?}")))?;
        let form = Form::of(content_type);
        let form = form.ok_or_else(|| bad(format!("unexpected Content-Type: {content_type:?}")))?;
        Ok(Self { target, form })
    }

    /// Checks the part of the grants that does not depend on the request's body.
    ///
    /// Errors: `unauthenticated` without the grant, as LiveKit answers; `unimplemented` for a
    /// service that is not there.
    pub fn check(&self, claims: &Claims) -> Result<(), ApiError> {
        let grant = match self.target {
            Target::Room(method) => method.grant(),
            Target::Dispatch(_) => Grant::RoomAdmin,
            Target::Absent(grant) => grant,
        };
        if !grant.is_given(claims) {
            return Err(ApiError::denied());
        }
        match self.target {
            Target::Room(_) | Target::Dispatch(_) => Ok(()),
            Target::Absent(_) => Err(ApiError::new(Code::Unimplemented, "this service is not implemented")),
        }
    }

    /// The request in a body.
    ///
    /// Errors: `malformed` for a body that cannot be read, `unauthenticated` if the token is for
    /// another room, and `invalid_argument`.
    pub fn read(&self, claims: &Claims, body: &[u8]) -> Result<Request, ApiError> {
        self.check(claims)?;
        let form = self.form;
        let asked = ApiRequest { claims, form, body };
        match self.target {
            Target::Room(method) => asked.read(method),
            Target::Dispatch(method) => asked.dispatch(method).map(Request::Dispatch),
            Target::Absent(_) => Err(ApiError::denied()),
        }
    }

    /// The answer's body.
    pub fn write(&self, reply: impl Into<Reply>) -> Vec<u8> {
        match reply.into() {
            Reply::Admin(reply) => replies::write(*reply, self.form),
            Reply::Dispatch(reply) => dispatches::write(reply, self.form),
            Reply::Rooms(list) => list.write(self.form),
        }
    }

    /// The answer's `Content-Type`.
    pub fn content_type(&self) -> &'static str {
        self.form.content_type()
    }
}

/// The claims of a request's token, from its `Authorization` header or the parameter
/// `access_token`. `unix` is the time since 1970.
///
/// Errors: `unauthenticated`.
pub fn authorize(authorization: Option<&str>, query: &str, keys: &ApiKeys, unix: Duration) -> Result<Claims, ApiError> {
    let query = Query::parse(query);
    let token = match authorization {
        Some(header) => {
            let (scheme, token) = header.split_once(' ').unwrap_or((header, ""));
            let is_bearer = scheme.eq_ignore_ascii_case("bearer");
            is_bearer.then(|| token.trim()).ok_or_else(|| {
                let message = "invalid authorization header. Must start with Bearer ";
                ApiError::new(Code::Unauthenticated, message)
            })?
        }
        None => query.text("access_token").ok_or_else(ApiError::denied)?,
    };
    verify(token, keys, unix).map_err(|error| ApiError::new(Code::Unauthenticated, error.to_string()))
}

#[cfg(test)]
mod tests;
