//! A person with a token.

use std::time::Duration;

use access::{ApiKeys, Claims, VideoGrant, sign};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use livekit::{Admission, HttpRequest, Refusal, admit};
use livekit_protocol::{ClientInfo, ConnectionSettings, JoinRequest, SessionDescription, WrappedJoinRequest};
use prost::Message;

use crate::grants::Grants;
use crate::history::How;

const PROTOCOL: i32 = 17;

/// The name of a person.
pub(crate) fn identity(person: usize) -> String {
    format!("person-{person}")
}

/// A client's request to join.
pub(crate) struct Request<'a> {
    pub(crate) person: usize,
    pub(crate) grants: &'a Grants,
    pub(crate) how: How,
    /// The previous session, if it resumes.
    pub(crate) resume: Option<&'a str>,
    pub(crate) offer: Option<SessionDescription>,
}

impl Request<'_> {
    /// Through the real door: a signed token in a URL.
    pub(crate) fn admit(self, keys: &ApiKeys, unix: Duration) -> Result<Admission, Refusal> {
        let token = self.token(keys, unix);
        let (path, query) = if self.how.dual {
            ("/rtc", self.parameters())
        } else {
            ("/rtc/v1", self.join_request())
        };
        let query = format!("access_token={token}&{query}");
        let user_agent = Some(
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
        );
        admit(
            HttpRequest {
                path,
                query: &query,
                authorization: None,
                user_agent,
            },
            keys,
            unix,
        )
    }

    fn token(&self, keys: &ApiKeys, unix: Duration) -> String {
        let sources = if self.grants.only_microphone {
            vec!["microphone".to_owned()]
        } else {
            Vec::new()
        };
        let claims = Claims {
            iss: KEY.to_owned(),
            sub: identity(self.person),
            exp: Some(unix.as_secs() + 600),
            video: VideoGrant {
                room_join: true,
                room: self.grants.room.to_owned(),
                can_publish: Some(self.grants.publish),
                can_subscribe: Some(self.grants.subscribe),
                can_publish_data: Some(self.grants.publish_data),
                can_publish_sources: sources,
                can_update_own_metadata: Some(self.grants.update_metadata),
                hidden: self.grants.hidden,
                ..VideoGrant::default()
            },
            ..Claims::default()
        };
        sign(&claims, keys).expect("the key is known")
    }

    fn parameters(&self) -> String {
        let auto = u8::from(self.how.auto_subscribe);
        let mut query = format!("sdk=js&version=2.21.0&protocol={PROTOCOL}&auto_subscribe={auto}&adaptive_stream=1");
        if let Some(sid) = self.resume {
            query.push_str(&format!("&reconnect=1&sid={sid}"));
        }
        query
    }

    fn join_request(self) -> String {
        let settings = ConnectionSettings {
            auto_subscribe: self.how.auto_subscribe,
            ..ConnectionSettings::default()
        };
        let client = ClientInfo {
            protocol: PROTOCOL,
            version: "2.21.0".to_owned(),
            ..ClientInfo::default()
        };
        let request = JoinRequest {
            client_info: Some(client),
            connection_settings: Some(settings),
            publisher_offer: self.offer,
            reconnect: self.resume.is_some(),
            participant_sid: self.resume.unwrap_or_default().to_owned(),
            ..JoinRequest::default()
        };
        let wrapped = WrappedJoinRequest {
            join_request: request.encode_to_vec(),
            ..WrappedJoinRequest::default()
        };
        let packed = URL_SAFE.encode(wrapped.encode_to_vec());
        let packed: String = form_urlencoded::byte_serialize(packed.as_bytes()).collect();
        format!("join_request={packed}")
    }
}

/// The only API key there is.
pub(crate) const KEY: &str = "devkey";

pub(crate) fn keys() -> ApiKeys {
    ApiKeys::default().with(KEY, "secret")
}
