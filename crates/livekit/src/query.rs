//! The query of a joining client: single parameters on `/rtc`, one packed `join_request` on
//! `/rtc/v1`.

use std::collections::BTreeMap;
use std::io::Read;

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use flate2::read::GzDecoder;
use livekit_protocol::client_info::{Capability, Sdk};
use livekit_protocol::wrapped_join_request::Compression;
use livekit_protocol::{ClientInfo, ConnectionSettings, JoinRequest, WrappedJoinRequest};
use prost::Message;

use crate::fields;
use crate::limits::JOIN_REQUEST_MAX;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Parameters of a URL; the first of a name counts.
pub(crate) struct Query(BTreeMap<String, String>);

impl Query {
    pub(crate) fn parse(query: &str) -> Self {
        let mut parameters = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            parameters
                .entry(name.into_owned())
                .or_insert_with(|| value.into_owned());
        }
        Self(parameters)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    fn flag(&self, name: &str) -> Option<bool> {
        self.text(name).map(|value| matches!(value, "1" | "true"))
    }

    fn number(&self, name: &str) -> i32 {
        self.text(name).and_then(|value| value.parse().ok()).unwrap_or(0)
    }

    fn owned(&self, name: &str) -> String {
        self.text(name).unwrap_or_default().to_owned()
    }

    /// The packed request, when there is one.
    ///
    /// Errors: the sentence for the client when it cannot be unpacked.
    pub(crate) fn join_request(&self) -> Option<Result<JoinRequest, &'static str>> {
        self.text("join_request").map(unpack)
    }

    /// The single parameters, as the packed request would have said them.
    pub(crate) fn join_parameters(&self) -> Result<JoinRequest, &'static str> {
        Ok(JoinRequest {
            client_info: Some(self.client_info()),
            connection_settings: Some(ConnectionSettings {
                auto_subscribe: self.flag("auto_subscribe").unwrap_or(true),
                adaptive_stream: self.flag("adaptive_stream").unwrap_or(false),
                subscriber_allow_pause: self.flag("subscriber_allow_pause"),
                disable_ice_lite: self.flag("disable_ice_lite").unwrap_or(false),
                auto_subscribe_data_track: self.flag("auto_subscribe_data_track"),
            }),
            participant_attributes: match self.text("attributes") {
                Some(packed) => attributes(packed).ok_or("invalid attributes")?,
                None => Default::default(),
            },
            reconnect: self.flag("reconnect").unwrap_or(false),
            reconnect_reason: self.number("reconnect_reason"),
            participant_sid: self.owned("sid"),
            ..JoinRequest::default()
        })
    }

    fn client_info(&self) -> ClientInfo {
        ClientInfo {
            sdk: self.text("sdk").map_or(Sdk::Unknown, sdk).into(),
            version: self.owned("version"),
            protocol: self.number("protocol"),
            client_protocol: self.number("client_protocol"),
            os: self.owned("os"),
            os_version: self.owned("os_version"),
            device_model: self.owned("device_model"),
            browser: self.owned("browser"),
            browser_version: self.owned("browser_version"),
            network: self.owned("network"),
            capabilities: self.text("capabilities").map(capabilities).unwrap_or_default(),
            ..ClientInfo::default()
        }
    }
}

/// Capabilities by name, with commas between; those without a name here are left out.
fn capabilities(names: &str) -> Vec<i32> {
    let named = names
        .split(',')
        .filter_map(|name| Capability::from_str_name(name.trim()));
    named.map(i32::from).collect()
}

fn sdk(name: &str) -> Sdk {
    let screaming = name.to_ascii_uppercase();
    match screaming.as_str() {
        "REACTNATIVE" => Sdk::ReactNative,
        "UNITYWEB" => Sdk::UnityWeb,
        "IOS" => Sdk::Swift,
        other => Sdk::from_str_name(other).unwrap_or(Sdk::Unknown),
    }
}

fn attributes(packed: &str) -> Option<std::collections::HashMap<String, String>> {
    serde_json::from_slice(&BASE64.decode(packed).ok()?).ok()
}

fn unpack(packed: &str) -> Result<JoinRequest, &'static str> {
    let bytes = BASE64.decode(packed).map_err(|_| "invalid join_request: not base64")?;
    let wrapped = WrappedJoinRequest::decode(&*bytes).map_err(|_| "invalid join_request: not a WrappedJoinRequest")?;
    let request = match Compression::try_from(wrapped.compression) {
        Ok(Compression::None) => wrapped.join_request,
        Ok(Compression::Gzip) => unzip(&wrapped.join_request)?,
        Err(_) => return Err("invalid join_request: unknown compression"),
    };
    if request.len() > JOIN_REQUEST_MAX {
        return Err("invalid join_request: too large");
    }
    if !fields::fit(&request, &fields::JOIN_REQUEST) {
        return Err("invalid join_request: too many values");
    }
    JoinRequest::decode(&*request).map_err(|_| "invalid join_request: not a JoinRequest")
}

fn unzip(zipped: &[u8]) -> Result<Vec<u8>, &'static str> {
    let mut plain = Vec::new();
    // One byte more than allowed tells "just fits" from "too large" without inflating a bomb.
    let mut reader = GzDecoder::new(zipped).take(JOIN_REQUEST_MAX as u64 + 1);
    reader
        .read_to_end(&mut plain)
        .map_err(|_| "invalid join_request: not gzip")?;
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn pack(request: &[u8], compression: Compression) -> String {
        let wrapped = WrappedJoinRequest {
            compression: compression.into(),
            join_request: request.to_vec(),
        };
        BASE64.encode(wrapped.encode_to_vec())
    }

    fn zip(plain: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_packed_request_is_read_plain_and_zipped() {
        let request = JoinRequest {
            participant_sid: "PA_x".to_owned(),
            reconnect: true,
            ..JoinRequest::default()
        };
        let bytes = request.encode_to_vec();
        assert_eq!(unpack(&pack(&bytes, Compression::None)), Ok(request.clone()));
        assert_eq!(unpack(&pack(&zip(&bytes), Compression::Gzip)), Ok(request));
    }

    #[test]
    fn a_request_that_inflates_without_end_is_refused() {
        let bomb = zip(&vec![0; 64 << 20]);
        assert_eq!(
            unpack(&pack(&bomb, Compression::Gzip)),
            Err("invalid join_request: too large")
        );
    }

    #[test]
    fn parameters_say_the_same_as_a_packed_request() {
        let query = Query::parse(
            "sdk=js&protocol=17&version=2.23.0&auto_subscribe=0&reconnect=1&sid=PA_x&attributes=eyJhIjoiYiJ9",
        );
        let request = query.join_parameters().unwrap();
        let client = request.client_info.unwrap();
        assert_eq!(
            (client.sdk(), client.protocol, client.version.as_str()),
            (Sdk::Js, 17, "2.23.0")
        );
        assert!(!request.connection_settings.unwrap().auto_subscribe);
        assert!(request.reconnect);
        assert_eq!(request.participant_sid, "PA_x");
        assert_eq!(request.participant_attributes["a"], "b");
        assert!(
            Query::parse("")
                .join_parameters()
                .unwrap()
                .connection_settings
                .unwrap()
                .auto_subscribe
        );
    }
}
