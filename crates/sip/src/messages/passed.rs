//! A request as it goes from one machine to another.

use std::net::IpAddr;
use std::sync::Arc;

use super::Request;
use crate::cookie;

/// The form in which a proxy spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Form {
    /// `ng` with a cookie.
    Ng,
    /// `ng` without one.
    NgPlain,
    /// rtpproxy's protocol with a cookie.
    Rtpproxy,
    /// rtpproxy's protocol without one.
    RtpproxyPlain,
}

/// A proxy's request, whole. The machine that carries it out treats it as its own proxy's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedRequest {
    /// How the proxy spoke.
    pub form: Form,
    /// The proxy's address, if it is known.
    pub from: Option<IpAddr>,
    /// The message, with the cookie where the form has one.
    pub message: Arc<[u8]>,
}

/// The name of a request that a proxy may repeat.
pub(crate) type RepeatKey = (Form, Option<IpAddr>, Box<[u8]>);

impl PassedRequest {
    pub(crate) fn of(request: Request<'_>) -> Self {
        let (form, from, message) = match request {
            Request::Ng { from, message } => (Form::Ng, from, message),
            Request::NgPlain(message) => (Form::NgPlain, None, message),
            Request::Rtpproxy { from, message } => (Form::Rtpproxy, from, message),
            Request::RtpproxyPlain(message) => (Form::RtpproxyPlain, None, message),
        };
        let message = message.into();
        Self { form, from, message }
    }

    /// The same for the state machine.
    pub fn request(&self) -> Request<'_> {
        let (from, message) = (self.from, &*self.message);
        match self.form {
            Form::Ng => Request::Ng { from, message },
            Form::NgPlain => Request::NgPlain(message),
            Form::Rtpproxy => Request::Rtpproxy { from, message },
            Form::RtpproxyPlain => Request::RtpproxyPlain(message),
        }
    }

    /// The cookie, which is empty where the form has none, and the rest.
    pub(crate) fn split(&self) -> (&[u8], &[u8]) {
        match self.form {
            Form::Ng | Form::Rtpproxy => cookie::split(&self.message).unwrap_or((&[], &self.message)),
            Form::NgPlain | Form::RtpproxyPlain => (&[], &self.message),
        }
    }

    /// The name under which a proxy repeats it; `None` for a form without cookies.
    pub(crate) fn repeat_key(&self) -> Option<RepeatKey> {
        let (cookie, _) = self.split();
        (!cookie.is_empty()).then(|| (self.form, self.from, cookie.into()))
    }

    /// Whether these bytes may be the answer to it: one to another cookie is none.
    pub(crate) fn is_answered_by(&self, bytes: &[u8]) -> bool {
        let (cookie, _) = self.split();
        cookie.is_empty()
            || bytes
                .strip_prefix(cookie)
                .is_some_and(|rest| rest.first() == Some(&b' '))
    }
}
