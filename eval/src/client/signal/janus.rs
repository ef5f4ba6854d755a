//! The protocol of Janus' VideoRoom, behind the messages of LiveKit that a participant uses.
//!
//! One handle publishes. A second one receives the streams of all other publishers. Steps that only
//! Janus has (a session, handles, a room, subscriptions) are done here.
//!
//! Source: Janus' documentation, "RESTful, WebSockets [...] JSON API" and "VideoRoom plugin",
//! multistream (1.x).

use std::collections::VecDeque;

use livekit_protocol::{
    AddTrackRequest, JoinResponse, SessionDescription, TrackInfo, TrackPublishedResponse, signal_request,
    signal_response,
};
use serde_json::{Value, json};
use tungstenite::Message;

use super::connection::Connection;
use super::{Admission, SignalError};

/// The subprotocol of its WebSockets.
pub(crate) const PROTOCOL: &str = "janus-protocol";
const PLUGIN: &str = "janus.plugin.videoroom";
/// The room exists already: another participant of this run made it.
const ROOM_EXISTS: u64 = 427;
const PUBLISHERS_MAX: u32 = 10_000;

/// One participant's conversation with a Janus.
pub(crate) struct Janus {
    room: String,
    name: String,
    subscribes: bool,
    has_begun: bool,
    session: Value,
    publisher: Value,
    subscriber: Subscriber,
    /// Publishers that are still to be subscribed to.
    feeds: Vec<Value>,
    outgoing: Vec<Value>,
    translated: VecDeque<(signal_response::Message, usize)>,
}

/// The state of receiving.
#[derive(Debug, PartialEq)]
enum Subscriber {
    /// Nobody has published anything.
    Unneeded,
    /// A handle was asked for.
    Attaching,
    /// There is a handle without requests.
    Attached(Value),
    /// An offer is awaited, or its answer's acceptance.
    Negotiating(Value),
    /// All that was asked for is received.
    Settled(Value),
}

/// Names of requests, which Janus repeats in its replies.
mod step {
    pub(crate) const SESSION: &str = "session";
    pub(crate) const PUBLISHER: &str = "publisher";
    pub(crate) const ROOM: &str = "room";
    pub(crate) const JOIN: &str = "join";
    pub(crate) const PUBLISH: &str = "publish";
    pub(crate) const SUBSCRIBER: &str = "subscriber";
    pub(crate) const SUBSCRIBE: &str = "subscribe";
    pub(crate) const START: &str = "start";
    pub(crate) const ALIVE: &str = "alive";
    pub(crate) const LEAVE: &str = "leave";
}

impl Janus {
    /// Of a participant that has yet to join.
    pub(crate) fn new(admission: Admission<'_>, subscribes: bool) -> Self {
        Self {
            room: admission.room.into(),
            name: admission.identity.into(),
            subscribes,
            has_begun: false,
            session: Value::Null,
            publisher: Value::Null,
            subscriber: Subscriber::Unneeded,
            feeds: Vec::new(),
            outgoing: Vec::new(),
            translated: VecDeque::new(),
        }
    }

    /// Begins, unless it has.
    pub(crate) fn begin(&mut self) {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.outgoing
                .push(json!({"janus": "create", "transaction": step::SESSION}));
        }
    }

    /// Sends pending requests.
    pub(crate) fn drain(&mut self, connection: &mut Connection) {
        for request in self.outgoing.drain(..) {
            connection.send(Message::text(request.to_string()));
        }
    }

    /// The next message of the server, in LiveKit's form, and its length in Janus' form.
    pub(crate) fn translated(&mut self) -> Option<(signal_response::Message, usize)> {
        self.translated.pop_front()
    }

    /// Sends a participant's request. Requests that Janus does not have are not sent: muting, and
    /// the size at which a track is shown.
    pub(crate) fn ask(&mut self, message: signal_request::Message) {
        use signal_request::Message;
        match message {
            Message::AddTrack(request) => self.confirm(&request),
            Message::Offer(offer) => {
                let body = json!({"request": "publish"});
                let handle = self.publisher.clone();
                self.tell(step::PUBLISH, &handle, &body, Some(("offer", &offer.sdp)));
            }
            Message::Answer(answer) => {
                if let Subscriber::Negotiating(handle) = &self.subscriber {
                    let handle = handle.clone();
                    let body = json!({"request": "start"});
                    self.tell(step::START, &handle, &body, Some(("answer", &answer.sdp)));
                }
            }
            Message::PingReq(_) => self.order("keepalive", step::ALIVE, json!({})),
            Message::Leave(_) => self.order("destroy", step::LEAVE, json!({})),
            _ => {}
        }
    }

    /// Tracks are published by an offer alone, without an announcement before it.
    fn confirm(&mut self, request: &AddTrackRequest) {
        let track = TrackInfo {
            sid: request.cid.clone(),
            name: request.name.clone(),
            ..TrackInfo::default()
        };
        let published = TrackPublishedResponse {
            cid: request.cid.clone(),
            track: Some(track),
        };
        self.say(signal_response::Message::TrackPublished(published), 0);
    }

    /// Handles a message of the server.
    ///
    /// Errors: it refused something, or the session or a media connection is over.
    pub(crate) fn hear(&mut self, text: &str) -> Result<(), SignalError> {
        let said: Value = serde_json::from_str(text).map_err(|error| SignalError::Malformed(error.to_string()))?;
        match said["janus"].as_str().unwrap_or_default() {
            "success" => self.succeeded(&said),
            "event" => self.happened(&said, text.len()),
            "error" => Err(SignalError::Refused(said["error"]["reason"].to_string())),
            "hangup" => Err(SignalError::Closed(format!("hangup: {}", said["reason"]))),
            "timeout" => Err(SignalError::Closed("the session timed out".into())),
            _ => Ok(()),
        }
    }

    fn succeeded(&mut self, said: &Value) -> Result<(), SignalError> {
        let id = said["data"]["id"].clone();
        match said["transaction"].as_str().unwrap_or_default() {
            step::SESSION => {
                self.session = id;
                self.order("attach", step::PUBLISHER, json!({"plugin": PLUGIN}));
            }
            step::PUBLISHER => {
                self.publisher = id;
                let body = json!({
                    "request": "create", "room": self.room, "publishers": PUBLISHERS_MAX,
                    "audiocodec": "opus", "videocodec": "vp8",
                });
                let handle = self.publisher.clone();
                self.tell(step::ROOM, &handle, &body, None);
            }
            step::ROOM => {
                let data = &said["plugindata"]["data"];
                if let Some(code) = data["error_code"].as_u64().filter(|&code| code != ROOM_EXISTS) {
                    return Err(SignalError::Refused(format!("room: {code} {}", data["error"])));
                }
                let body = json!({"request": "join", "ptype": "publisher", "room": self.room, "display": self.name});
                let handle = self.publisher.clone();
                self.tell(step::JOIN, &handle, &body, None);
            }
            step::SUBSCRIBER => {
                self.subscriber = Subscriber::Attached(id);
                self.subscribe();
            }
            _ => {}
        }
        Ok(())
    }

    fn happened(&mut self, said: &Value, bytes: usize) -> Result<(), SignalError> {
        let data = &said["plugindata"]["data"];
        if let Some(code) = data["error_code"].as_u64() {
            return Err(SignalError::Refused(format!("{code} {}", data["error"])));
        }
        if data["videoroom"] == "joined" {
            self.say(signal_response::Message::Join(JoinResponse::default()), bytes);
        }
        if let (Some(kind), Some(sdp)) = (said["jsep"]["type"].as_str(), said["jsep"]["sdp"].as_str()) {
            let description = SessionDescription {
                r#type: kind.into(),
                sdp: sdp.into(),
                ..SessionDescription::default()
            };
            let message = match kind {
                "answer" => signal_response::Message::Answer(description),
                _ => signal_response::Message::Offer(description),
            };
            self.say(message, bytes);
        }
        if data["started"] == "ok"
            && let Subscriber::Negotiating(handle) = &self.subscriber
        {
            self.subscriber = Subscriber::Settled(handle.clone());
        }
        let publishers = data["publishers"].as_array().into_iter().flatten();
        self.feeds.extend(publishers.map(|publisher| publisher["id"].clone()));
        self.subscribe();
        Ok(())
    }

    /// Subscribes to new publishers, if no earlier request is pending.
    fn subscribe(&mut self) {
        if !self.subscribes || self.feeds.is_empty() {
            return;
        }
        let streams: Vec<Value> = self.feeds.iter().map(|feed| json!({"feed": feed})).collect();
        let (handle, body) = match &self.subscriber {
            Subscriber::Unneeded => {
                self.subscriber = Subscriber::Attaching;
                return self.order("attach", step::SUBSCRIBER, json!({"plugin": PLUGIN}));
            }
            Subscriber::Attaching | Subscriber::Negotiating(_) => return,
            Subscriber::Attached(handle) => (
                handle.clone(),
                json!({"request": "join", "ptype": "subscriber", "room": self.room, "streams": streams}),
            ),
            Subscriber::Settled(handle) => (handle.clone(), json!({"request": "subscribe", "streams": streams})),
        };
        self.feeds.clear();
        self.tell(step::SUBSCRIBE, &handle, &body, None);
        self.subscriber = Subscriber::Negotiating(handle);
    }

    fn say(&mut self, message: signal_response::Message, bytes: usize) {
        self.translated.push_back((message, bytes));
    }

    /// Asks Janus itself.
    fn order(&mut self, what: &str, step: &str, mut request: Value) {
        request["janus"] = what.into();
        request["transaction"] = step.into();
        request["session_id"] = self.session.clone();
        self.outgoing.push(request);
    }

    /// Sends a request to the plugin. Candidates are in the descriptions only.
    fn tell(&mut self, step: &str, handle: &Value, body: &Value, description: Option<(&str, &str)>) {
        let mut request = json!({"handle_id": handle, "body": body});
        if let Some((kind, sdp)) = description {
            request["jsep"] = json!({"type": kind, "sdp": sdp, "trickle": false});
        }
        self.order("message", step, request);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun() -> Janus {
        let admission = Admission {
            room: "r",
            identity: "ada",
            publishes: true,
        };
        let mut janus = Janus::new(admission, true);
        janus.begin();
        janus
    }

    /// The requests since the last call, each in short: the request to Janus, or to the plugin.
    fn asked(janus: &mut Janus) -> Vec<String> {
        let short = |request: Value| {
            let word = if request["janus"] == "message" {
                &request["body"]["request"]
            } else {
                &request["janus"]
            };
            word.as_str().unwrap_or_default().to_owned()
        };
        janus.outgoing.drain(..).map(short).collect()
    }

    fn hear(janus: &mut Janus, said: &Value) -> Vec<String> {
        janus.hear(&said.to_string()).expect("nothing refused");
        asked(janus)
    }

    fn success(step: &str, id: u64) -> Value {
        json!({"janus": "success", "transaction": step, "data": {"id": id}})
    }

    fn event(data: Value) -> Value {
        json!({"janus": "event", "plugindata": {"plugin": PLUGIN, "data": data}})
    }

    fn joined(janus: &mut Janus, publishers: &Value) -> Vec<String> {
        assert_eq!(asked(janus), ["create"]);
        assert_eq!(hear(janus, &success(step::SESSION, 1)), ["attach"]);
        assert_eq!(hear(janus, &success(step::PUBLISHER, 2)), ["create"]);
        let exists =
            json!({"janus": "success", "transaction": step::ROOM, "plugindata": {"data": {"error_code": 427}}});
        assert_eq!(hear(janus, &exists), ["join"]);
        let asked = hear(janus, &event(json!({"videoroom": "joined", "publishers": publishers})));
        assert!(matches!(
            janus.translated(),
            Some((signal_response::Message::Join(_), _))
        ));
        asked
    }

    #[test]
    fn a_client_subscribes_to_existing_and_to_new_publishers() {
        let mut janus = begun();
        assert_eq!(joined(&mut janus, &json!([{"id": 7}])), ["attach"]);
        assert_eq!(hear(&mut janus, &success(step::SUBSCRIBER, 3)), ["join"]);
        let mut offer = event(json!({"videoroom": "attached"}));
        offer["jsep"] = json!({"type": "offer", "sdp": "v=0"});
        assert!(hear(&mut janus, &offer).is_empty());
        assert!(matches!(
            janus.translated(),
            Some((signal_response::Message::Offer(_), _))
        ));
        // A publisher that joins while the first offer is open waits until that offer is answered.
        assert!(
            hear(
                &mut janus,
                &event(json!({"videoroom": "event", "publishers": [{"id": 8}]}))
            )
            .is_empty()
        );
        janus.ask(signal_request::Message::Answer(SessionDescription::default()));
        assert_eq!(asked(&mut janus), ["start"]);
        assert_eq!(
            hear(&mut janus, &event(json!({"videoroom": "event", "started": "ok"}))),
            ["subscribe"]
        );
    }

    #[test]
    fn a_track_is_published_by_an_offer_alone() {
        let mut janus = begun();
        joined(&mut janus, &json!([]));
        let request = AddTrackRequest {
            cid: "c".into(),
            ..AddTrackRequest::default()
        };
        janus.ask(signal_request::Message::AddTrack(request));
        assert!(asked(&mut janus).is_empty());
        assert!(matches!(
            janus.translated(),
            Some((signal_response::Message::TrackPublished(_), _))
        ));
        janus.ask(signal_request::Message::Offer(SessionDescription::default()));
        assert_eq!(asked(&mut janus), ["publish"]);
    }

    #[test]
    fn refusals_and_ends_are_told() {
        for said in [
            json!({"janus": "error", "error": {"reason": "no"}}),
            json!({"janus": "timeout"}),
            json!({"janus": "hangup", "reason": "ICE failed"}),
            event(json!({"error_code": 426, "error": "no such room"})),
        ] {
            assert!(begun().hear(&said.to_string()).is_err(), "{said}");
        }
        assert!(begun().hear("{").is_err());
    }
}
