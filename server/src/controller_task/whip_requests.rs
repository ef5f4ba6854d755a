//! Requests of WHIP and WHEP, between HTTP and the controller.

use std::net::IpAddr;

use controller::ConnectionId;
use livekit::agents::AgentRequest;
use tokio::sync::oneshot;

use super::{ControllerRequest, ControllerTask, Handle};

/// A request of WHIP or WHEP that was read.
pub(super) struct WhipRequest {
    call: Box<whip::Call>,
    answer: oneshot::Sender<whip::Answer>,
}

impl Handle {
    /// The answer to a request of WHIP or WHEP with this body, which is read here; `None` if the
    /// server is shutting down. A session that it opens counts for the address.
    pub(crate) async fn whip(&self, judged: whip::Judged, body: &[u8], address: IpAddr) -> Option<whip::Answer> {
        let description = self.descriptions.clone().acquire_owned().await.ok()?;
        let call = {
            let _reader = self.readers.acquire().await.ok()?;
            judged.read(body)
        };
        let mut call = match call {
            Ok(call) => Box::new(call),
            Err(answer) => return Some(answer),
        };
        if let whip::Call::Open(open) = &mut *call {
            match livekit::api::set_up(open.claims()) {
                Ok(room) => open.room = room,
                Err(why) => return Some(whip::Answer::refusal(401, format!("invalid token: {why}"))),
            }
            open.address = Some(address);
        }
        let (answer, answered) = oneshot::channel();
        let request = WhipRequest { call, answer };
        let ask = ControllerRequest::Whip(request, description);
        self.requests.send(ask).await.ok()?;
        answered.await.ok()
    }
}

impl ControllerTask {
    /// Carries a request out and answers it.
    pub(super) fn whip(&mut self, request: WhipRequest) {
        let WhipRequest { call, answer } = request;
        if let whip::Call::Open(open) = &*call {
            self.founding = AgentRequest::of_claims(open.claims()).unwrap_or_default();
        }
        self.connections += 1;
        let connection = ConnectionId(self.connections);
        let now = self.read_clocks();
        let mut outputs = Vec::new();
        let reply = self
            .whip
            .handle(&mut self.controller, now, connection, *call, &mut outputs);
        self.front.translate(outputs, &mut self.out);
        // The agent knows a transport before its client does.
        self.flush();
        if answer.send(reply).is_err() {
            self.end_whip(connection);
        }
    }

    /// Ends a session, if it is open: its client has gone before the answer.
    fn end_whip(&mut self, connection: ConnectionId) {
        let now = self.read_clocks();
        let mut outputs = Vec::new();
        self.whip.end(&mut self.controller, now, connection, &mut outputs);
        self.front.translate(outputs, &mut self.out);
    }
}
