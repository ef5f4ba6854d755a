//! Administrators: requests of the server API for the controller.

use std::collections::HashMap;

use controller::{AdminRequest, AdminRequestId};
use tokio::sync::oneshot;

use super::{AdminAnswer, Context, FrontEnd, RequestHandler, Requests};

/// A request, and where its answer goes.
pub(crate) struct Request {
    request: Box<AdminRequest>,
    answer: oneshot::Sender<AdminAnswer>,
}

/// The handle on the front end.
#[derive(Clone)]
pub(crate) struct Handle(Requests<Request>);

impl Handle {
    /// On the front end with this queue.
    pub(super) fn new(requests: Requests<Request>) -> Self {
        Self(requests)
    }

    /// The answer to a request; `None` if the server is shutting down.
    pub(crate) async fn administer(&self, request: AdminRequest) -> Option<AdminAnswer> {
        let (answer, answered) = oneshot::channel();
        let request = Box::new(request);
        self.0.send(Request { request, answer }).await?;
        answered.await.ok()
    }
}

/// The front end.
#[derive(Default)]
pub(super) struct Administration {
    /// Administrators whose requests are not answered yet.
    waiting: HashMap<AdminRequestId, oneshot::Sender<AdminAnswer>>,
}

impl FrontEnd for Administration {
    fn reply(&mut self, request_id: AdminRequestId, reply: AdminAnswer, _: &mut Context<'_>) {
        if let Some(answer) = self.waiting.remove(&request_id) {
            // An error means that the administrator has given up waiting.
            let _ = answer.send(reply);
        }
    }
}

impl RequestHandler for Administration {
    type Request = Request;

    fn request(&mut self, Request { request, answer }: Request, ctx: &mut Context<'_>) {
        self.waiting.insert(ctx.administer(*request), answer);
    }
}
