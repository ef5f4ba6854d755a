//! Rooms, participants and tracks as the server API shows them (docs/use/api.md). Fields that
//! no command prints are left out.

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error as _};
use serde_json::Value;

use super::refusal::Refusal;
use crate::os::clock;

/// A room, as `ListRooms` has it.
#[derive(Debug, Deserialize)]
pub(crate) struct RoomView {
    pub sid: String,
    pub name: String,
    #[serde(default)]
    pub empty_timeout: u64,
    #[serde(default)]
    pub departure_timeout: u64,
    #[serde(default)]
    pub max_participants: u64,
    /// When it was created, in seconds since 1970.
    #[serde(default, deserialize_with = "number")]
    pub creation_time: u64,
    #[serde(default)]
    pub metadata: String,
    #[serde(default)]
    pub num_participants: u64,
    #[serde(default)]
    pub num_publishers: u64,
}

/// A participant, as `ListParticipants` has it.
#[derive(Debug, Deserialize)]
pub(crate) struct ParticipantView {
    pub sid: String,
    pub identity: String,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub state: String,
    #[serde(default)]
    pub kind: String,
    /// When it joined, in seconds since 1970.
    #[serde(default, deserialize_with = "number")]
    pub joined_at: u64,
    #[serde(default)]
    pub metadata: String,
    #[serde(default)]
    pub tracks: Vec<TrackView>,
}

/// A track that a participant publishes.
#[derive(Debug, Deserialize)]
pub(crate) struct TrackView {
    pub sid: String,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub source: String,
    #[serde(default)]
    pub mime_type: String,
    #[serde(default)]
    pub muted: bool,
    #[serde(default)]
    pub width: u32,
    #[serde(default)]
    pub height: u32,
}

/// The answer to `ListRooms`.
#[derive(Debug, Deserialize)]
pub(crate) struct RoomList {
    #[serde(default)]
    pub rooms: Vec<RoomView>,
}

/// The answer to `ListParticipants`.
#[derive(Debug, Deserialize)]
pub(crate) struct ParticipantList {
    #[serde(default)]
    pub participants: Vec<ParticipantView>,
}

/// The view in an answer.
///
/// Errors: the answer is of another form.
pub(crate) fn view<T: DeserializeOwned>(answer: &Value) -> Result<T, Refusal> {
    T::deserialize(answer)
        .map_err(|error| Refusal::Failed(format!("the server's answer is of another version of Weir: {error}")))
}

/// A number of 64 bits, which JSON of protobuf writes as a text.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let number = match Value::deserialize(deserializer)? {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.as_u64(),
        Value::Null => Some(0),
        _ => None,
    };
    number.ok_or_else(|| D::Error::custom("this is no number"))
}

/// How long ago a Unix time was; nothing for none.
pub(crate) fn age(since: u64) -> String {
    match since {
        0 => String::new(),
        since => duration(clock::unix().as_secs().saturating_sub(since)),
    }
}

/// A time in its two largest units.
pub(crate) fn duration(seconds: u64) -> String {
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    match hours {
        0 if minutes == 0 => format!("{seconds} s"),
        0 => format!("{minutes} min {} s", seconds % 60),
        1..48 => format!("{hours} h {} min", minutes % 60),
        _ => format!("{} d {} h", hours / 24, hours % 24),
    }
}

/// A rate with its unit.
pub(crate) fn rate(bits_per_second: u64) -> String {
    match bits_per_second {
        0..1_000 => format!("{bits_per_second} bit/s"),
        1_000..1_000_000 => format!("{} kbit/s", bits_per_second / 1_000),
        1_000_000..1_000_000_000 => format!("{:.1} Mbit/s", bits_per_second as f64 / 1e6),
        _ => format!("{:.1} Gbit/s", bits_per_second as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn views_read_the_answers_of_the_api() {
        let answer = json!({"rooms": [{"sid": "RM_1", "name": "lobby", "creation_time": "1700000000",
            "num_participants": 2, "enabled_codecs": []}]});
        let list: RoomList = view(&answer).unwrap();
        assert_eq!(
            (list.rooms[0].creation_time, list.rooms[0].num_participants),
            (1_700_000_000, 2)
        );
        let answer = json!({"rooms": [{"sid": "RM_1", "name": "lobby", "creation_time": []}]});
        assert!(view::<RoomList>(&answer).is_err());
    }

    #[test]
    fn views_write_times_and_rates_with_units() {
        for (seconds, text) in [
            (5, "5 s"),
            (65, "1 min 5 s"),
            (3_700, "1 h 1 min"),
            (190_000, "2 d 4 h"),
        ] {
            assert_eq!(duration(seconds), text);
        }
        assert_eq!(
            (age(0), age(clock::unix().as_secs() - 7_200).as_str()),
            (String::new(), "2 h 0 min")
        );
        for (bits, text) in [(0, "0 bit/s"), (310_400, "310 kbit/s"), (2_540_000, "2.5 Mbit/s")] {
            assert_eq!(rate(bits), text);
        }
    }
}
