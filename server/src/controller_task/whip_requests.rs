//! Requests of WHIP and WHEP, between HTTP and the controller.

use controller::ConnectionId;
use livekit::agents::AgentRequest;
use tokio::sync::oneshot;

use super::{ControllerRequest, ControllerTask, Handle};
use crate::clients::places::Place;

/// A request of WHIP or WHEP that was read.
pub(super) struct WhipRequest {
    call: Box<whip::Call>,
    /// The place of a session that it opens.
    place: Option<Place>,
    answer: oneshot::Sender<whip::Answer>,
}

impl Handle {
    /// The answer to a request of WHIP or WHEP with this body, which is read here; `None` if the
    /// server is shutting down. A session that it opens has the place until it ends.
    pub(crate) async fn whip(&self, judged: whip::Judged, body: &[u8], place: Option<Place>) -> Option<whip::Answer> {
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
            // A token whose set-up cannot be read sets nothing up.
            open.room = livekit::api::set_up(open.claims()).unwrap_or_default();
        }
        let (answer, answered) = oneshot::channel();
        let request = WhipRequest { call, place, answer };
        let ask = ControllerRequest::Whip(request, description);
        self.requests.send(ask).await.ok()?;
        answered.await.ok()
    }
}

impl ControllerTask {
    /// Carries a request out and answers it. A session that it opens keeps the place.
    pub(super) fn whip(&mut self, request: WhipRequest) {
        let WhipRequest { call, place, answer } = request;
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
        if let Some(place) = place.filter(|_| self.whip.is_open(connection)) {
            self.whip_places.insert(connection, place);
        }
        self.give_places_back();
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
        self.give_places_back();
        self.front.translate(outputs, &mut self.out);
    }

    /// Gives the places of ended sessions back.
    pub(super) fn give_places_back(&mut self) {
        for connection in self.whip.take_ended() {
            self.whip_places.remove(&connection);
        }
    }
}
