//! Claims from JSON, as Go's decoder reads them: tokens are made for servers written in Go, and
//! what those take is a good token.
//!
//! Names are matched without regard to case, the last of several equal names counts, objects that
//! come twice are merged, `null` is as if nothing had been said, and a lone surrogate is the
//! replacement character. Nesting in claims that nobody reads is not followed.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::{AgentGrant, Claims, InferenceGrant, ObservabilityGrant, SipGrant, VideoGrant};

/// Times from here on do not fit Go's calendar.
const TIME_END: f64 = (1_u64 << 62) as f64;

/// Not the JSON of claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unreadable;

impl From<serde_json::Error> for Unreadable {
    fn from(_: serde_json::Error) -> Self {
        Self
    }
}

pub(crate) fn claims(json: &[u8]) -> Result<Claims, Unreadable> {
    let json = text(json);
    let mut claims = Claims::default();
    for (name, value) in fields(&json)? {
        match folded(&name).as_str() {
            "iss" => set(&mut claims.iss, value)?,
            "sub" => set(&mut claims.sub, value)?,
            "jti" => set(&mut claims.jti, value)?,
            "exp" => claims.exp = time(value)?,
            "nbf" => claims.nbf = time(value)?,
            "iat" => _ = time(value)?,
            "aud" => audience(value)?,
            "name" => set(&mut claims.name, value)?,
            "metadata" => set(&mut claims.metadata, value)?,
            "attributes" => merge(&mut claims.attributes, value)?,
            "kind" => set(&mut claims.kind, value)?,
            "kinddetails" => claims.kind_details = texts(value)?,
            "video" => video(&mut claims.video, value)?,
            "roomconfig" => set_some::<Map<String, Value>>(&mut claims.room_config, value)?,
            "roompreset" => set(&mut claims.room_preset, value)?,
            "sha256" => set(&mut claims.sha256, value)?,
            "identity" => set(&mut String::new(), value)?,
            "sip" => sip(&mut claims.sip, value)?,
            "agent" => agent(&mut claims.agent, value)?,
            "inference" => inference(&mut claims.inference, value)?,
            "observability" => observability(&mut claims.observability, value)?,
            _ => {}
        }
    }
    Ok(claims)
}

/// The `alg` of a token's header; `None` when it names an extension that must be understood (RFC
/// 7515 section 4.1.11): none is.
pub(crate) fn algorithm(json: &[u8]) -> Result<Option<String>, Unreadable> {
    let json = text(json);
    let fields = fields(&json)?;
    if fields.iter().any(|(name, _)| name == "crit") {
        return Ok(None);
    }
    let said = fields.iter().rfind(|(name, _)| name == "alg");
    Ok(Some(serde_json::from_str(said.ok_or(Unreadable)?.1.get())?))
}

fn video(grant: &mut VideoGrant, value: &RawValue) -> Result<(), Unreadable> {
    if is_null(value) {
        *grant = VideoGrant::default();
        return Ok(());
    }
    for (name, value) in fields(value.get())? {
        match folded(&name).as_str() {
            "roomjoin" => set(&mut grant.room_join, value)?,
            "room" => set(&mut grant.room, value)?,
            "canpublish" => grant.can_publish = optional(value)?,
            "cansubscribe" => grant.can_subscribe = optional(value)?,
            "canpublishdata" => grant.can_publish_data = optional(value)?,
            "canpublishsources" => grant.can_publish_sources = texts(value)?,
            "canupdateownmetadata" => grant.can_update_own_metadata = optional(value)?,
            "hidden" => set(&mut grant.hidden, value)?,
            "recorder" => set(&mut grant.recorder, value)?,
            "agent" => set(&mut grant.agent, value)?,
            "cansubscribemetrics" => grant.can_subscribe_metrics = optional(value)?,
            "canmanageagentsession" => grant.can_manage_agent_session = optional(value)?,
            "roomcreate" => set(&mut grant.room_create, value)?,
            "roomlist" => set(&mut grant.room_list, value)?,
            "roomrecord" => set(&mut grant.room_record, value)?,
            "roomadmin" => set(&mut grant.room_admin, value)?,
            "ingressadmin" => set(&mut grant.ingress_admin, value)?,
            "destinationroom" => set(&mut grant.destination_room, value)?,
            _ => {}
        }
    }
    Ok(())
}

fn sip(grant: &mut Option<SipGrant>, value: &RawValue) -> Result<(), Unreadable> {
    flags(grant, value, |grant, name| match name {
        "admin" => Some(&mut grant.admin),
        "call" => Some(&mut grant.call),
        _ => None,
    })
}

fn agent(grant: &mut Option<AgentGrant>, value: &RawValue) -> Result<(), Unreadable> {
    flags(grant, value, |grant, name| match name {
        "admin" => Some(&mut grant.admin),
        "simulationadmin" => Some(&mut grant.simulation_admin),
        _ => None,
    })
}

fn inference(grant: &mut Option<InferenceGrant>, value: &RawValue) -> Result<(), Unreadable> {
    flags(grant, value, |grant, name| {
        (name == "perform").then_some(&mut grant.perform)
    })
}

fn observability(grant: &mut Option<ObservabilityGrant>, value: &RawValue) -> Result<(), Unreadable> {
    flags(grant, value, |grant, name| {
        (name == "write").then_some(&mut grant.write)
    })
}

/// Reads a grant of which all fields are flags; `flag` finds the field of a name.
fn flags<G: Default>(
    grant: &mut Option<G>,
    value: &RawValue,
    flag: impl for<'a> Fn(&'a mut G, &str) -> Option<&'a mut bool>,
) -> Result<(), Unreadable> {
    if is_null(value) {
        *grant = None;
        return Ok(());
    }
    let grant = grant.get_or_insert_default();
    for (name, value) in fields(value.get())? {
        if let Some(place) = flag(grant, &folded(&name)) {
            set(place, value)?;
        }
    }
    Ok(())
}

fn set<T: DeserializeOwned>(place: &mut T, value: &RawValue) -> Result<(), Unreadable> {
    if !is_null(value) {
        *place = serde_json::from_str(value.get())?;
    }
    Ok(())
}

fn optional<T: DeserializeOwned>(value: &RawValue) -> Result<Option<T>, Unreadable> {
    Ok(serde_json::from_str(value.get())?)
}

fn set_some<T: DeserializeOwned>(place: &mut Option<T>, value: &RawValue) -> Result<(), Unreadable> {
    if !is_null(value) {
        *place = Some(serde_json::from_str(value.get())?);
    }
    Ok(())
}

fn merge(known: &mut BTreeMap<String, String>, value: &RawValue) -> Result<(), Unreadable> {
    match optional::<BTreeMap<String, Option<String>>>(value)? {
        Some(said) => known.extend(said.into_iter().map(|(name, value)| (name, value.unwrap_or_default()))),
        None => known.clear(),
    }
    Ok(())
}

fn texts(value: &RawValue) -> Result<Vec<String>, Unreadable> {
    let said = optional::<Vec<Option<String>>>(value)?.unwrap_or_default();
    Ok(said.into_iter().map(Option::unwrap_or_default).collect())
}

/// The audience of a token, which may be anybody, but has to have one of the forms there are.
fn audience(value: &RawValue) -> Result<(), Unreadable> {
    match serde_json::from_str(value.get())? {
        Value::Null | Value::String(_) => Ok(()),
        Value::Array(all) if all.iter().all(Value::is_string) => Ok(()),
        _ => Err(Unreadable),
    }
}

/// Seconds since 1970 as a number (RFC 7519 section 2), or as text with a number in it. Fractions
/// are cut off; before 1970 is 1970.
fn time(value: &RawValue) -> Result<Option<u64>, Unreadable> {
    if is_null(value) {
        return Ok(None);
    }
    let seconds: f64 = if value.get().starts_with('"') {
        serde_json::from_str(&serde_json::from_str::<String>(value.get())?)?
    } else {
        serde_json::from_str(value.get())?
    };
    (seconds < TIME_END).then_some(Some(seconds as u64)).ok_or(Unreadable)
}

fn is_null(value: &RawValue) -> bool {
    value.get() == "null"
}

/// A name in small letters. Two letters beyond ASCII are the same as one in it but for case.
fn folded(name: &str) -> String {
    let letters = name.chars().map(|letter| match letter {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    });
    letters.collect()
}

/// The fields of an object in their order, with values that are valid JSON and have not been read.
fn fields(json: &str) -> Result<Vec<(String, &RawValue)>, Unreadable> {
    Ok(serde_json::from_str::<Fields<'_>>(json)?.0)
}

struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(InOrder)
    }
}

struct InOrder;

impl<'de> Visitor<'de> for InOrder {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Fields(fields))
    }
}

/// JSON in which every text can be read: what is not UTF-8, or is half a surrogate pair, is the
/// replacement character.
fn text(json: &[u8]) -> Cow<'_, str> {
    let json = String::from_utf8_lossy(json);
    if !json.contains("\\ud") && !json.contains("\\uD") {
        return json;
    }
    let mut mended = String::with_capacity(json.len());
    let mut rest: &str = &json;
    while let Some(at) = rest.find('\\') {
        mended.push_str(&rest[..at]);
        rest = &rest[at..];
        let len = match (surrogate(rest), rest.get(6..).and_then(surrogate)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(_), _) => {
                mended.push_str("\\ufffd");
                rest = &rest[6..];
                continue;
            }
            // An escape is a backslash and one character, whatever follows.
            (None, _) => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        mended.push_str(&rest[..len]);
        rest = &rest[len..];
    }
    mended.push_str(rest);
    Cow::Owned(mended)
}

/// The half of a surrogate pair that a text begins with: `\u` and four hexadecimal digits.
fn surrogate(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let unit = u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
    (0xd800..=0xdfff).contains(&unit).then_some(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Claims {
        claims(json.as_bytes()).unwrap_or_else(|_| panic!("readable: {json}"))
    }

    #[test]
    fn times_are_numbers_of_every_form() {
        for (said, exp) in [
            ("1900000000", Some(1_900_000_000)),
            ("1900000000.25", Some(1_900_000_000)),
            ("1.9e9", Some(1_900_000_000)),
            ("\"1900000000\"", Some(1_900_000_000)),
            ("-1", Some(0)),
            ("null", None),
        ] {
            assert_eq!(read(&format!(r#"{{"exp":{said},"iat":{said}}}"#)).exp, exp, "{said}");
        }
        for said in ["18446744073709551616", "1e400", "\"soon\"", "\"\"", "true", "[1]", "{}"] {
            for name in ["exp", "nbf", "iat"] {
                assert_eq!(
                    claims(format!(r#"{{"{name}":{said}}}"#).as_bytes()),
                    Err(Unreadable),
                    "{name} {said}"
                );
            }
        }
    }

    #[test]
    fn names_are_read_without_case_and_the_last_of_equals_counts() {
        let read = read(
            r#"{"ISS":"a","iss":"b","Sub":"c","video":{"ROOM":"x","roomJoin":true},"vıdeo":1,"Video":{"room":"y"}}"#,
        );
        assert_eq!((read.iss.as_str(), read.sub.as_str()), ("b", "c"));
        assert_eq!((read.video.room.as_str(), read.video.room_join), ("y", true));
        assert_eq!(super::claims("{\"i\u{17f}s\":\"k\"}".as_bytes()).unwrap().iss, "k");
    }

    #[test]
    fn null_says_nothing() {
        let json = r#"{"iss":null,"name":null,"metadata":null,"attributes":null,"kind":null,"kindDetails":null,"aud":null,
            "roomConfig":null,"roomPreset":null,"sip":null,"sha256":null,
            "video":{"roomJoin":true,"room":"r","canPublish":null,"canPublishSources":null,"hidden":null,"roomAdmin":null}}"#;
        let expected = Claims {
            video: VideoGrant {
                room_join: true,
                room: "r".to_owned(),
                ..VideoGrant::default()
            },
            ..Claims::default()
        };
        assert_eq!(read(json), expected);
        assert_eq!(read(r#"{"video":{"roomJoin":true},"video":null}"#), Claims::default());
        assert_eq!(read(r#"{"attributes":{"a":"b","c":null}}"#).attributes["c"], "");
    }

    #[test]
    fn values_of_the_wrong_kind_are_refused() {
        for json in [
            r#"{"iss":1}"#,
            r#"{"name":{}}"#,
            r#"{"attributes":{"a":1}}"#,
            r#"{"attributes":[]}"#,
            r#"{"aud":1}"#,
            r#"{"aud":["a",1]}"#,
            r#"{"video":[]}"#,
            r#"{"video":{"roomJoin":"true"}}"#,
            r#"{"video":{"canPublishSources":"camera"}}"#,
            r#"{"roomConfig":"x"}"#,
            r#"{"sip":{"admin":1}}"#,
            r#"{"kindDetails":"x"}"#,
            "[]",
            "null",
            "",
            "{",
            "{} {}",
        ] {
            assert_eq!(claims(json.as_bytes()), Err(Unreadable), "{json}");
        }
    }

    #[test]
    fn claims_of_others_are_not_looked_into_and_those_of_the_room_are_kept() {
        let deep = format!(r#"{{"z":{}{},"z":1,"aud":["a"]}}"#, "[".repeat(2000), "]".repeat(2000));
        assert_eq!(read(&deep), Claims::default());
        let kept =
            read(r#"{"roomPreset":"p","roomConfig":{"metadata":"m"},"video":{"roomAdmin":true,"x":1},"foreign":1}"#);
        let config = kept.room_config.expect("it was said");
        assert_eq!(config["metadata"], "m");
        assert_eq!(kept.room_preset, "p");
        assert!(kept.video.room_admin);
    }

    #[test]
    fn grants_of_every_service_are_read_and_written() {
        let json = r#"{"sip":{"Admin":true,"call":true},"agent":{"admin":true,"simulationAdmin":true},"inference":{"perform":true},
            "observability":{"write":true},"sha256":"h","video":{"roomCreate":true,"roomList":true,"roomRecord":true,
            "roomAdmin":true,"ingressAdmin":true,"destinationRoom":"d"}}"#;
        let grants = read(json);
        let sip = SipGrant {
            admin: true,
            call: true,
        };
        assert_eq!((grants.sip, grants.video.destination_room.as_str()), (Some(sip), "d"));
        let written = serde_json::to_string(&grants).unwrap();
        assert_eq!(read(&written), grants, "{written}");
        assert_eq!(read(r#"{"sip":{"admin":true},"sip":null}"#).sip, None);
    }

    #[test]
    fn halves_of_a_character_are_replaced() {
        for (said, name) in [
            (r"cut \ud83d", "cut \u{fffd}"),
            (r"\uD83D\uDE00", "\u{1f600}"),
            (r"\udE00\ud83dx", "\u{fffd}\u{fffd}x"),
            (r"\ud83d\u0041", "\u{fffd}A"),
            (r"\\ud83d", r"\ud83d"),
            (r#"\"\ud83d"#, "\"\u{fffd}"),
        ] {
            assert_eq!(read(&format!(r#"{{"name":"{said}"}}"#)).name, name, "{said}");
        }
        assert_eq!(claims(b"{\"name\":\"\xff\"}").unwrap().name, "\u{fffd}");
        assert_eq!(claims(br#"{"name":"\ud83"}"#), Err(Unreadable));
    }

    #[test]
    fn an_extension_that_must_be_understood_is_not() {
        let alg = |header: &str| algorithm(header.as_bytes());
        assert_eq!(
            alg(r#"{"alg":"none","alg":"HS256","kid":1}"#),
            Ok(Some("HS256".to_owned()))
        );
        assert_eq!(alg(r#"{"alg":"HS256","crit":["b64"]}"#), Ok(None));
        assert_eq!(alg(r#"{"ALG":"HS256"}"#), Err(Unreadable));
        assert_eq!(alg(r#"{"alg":1}"#), Err(Unreadable));
    }
}
