//! The written forms of values that belong to other crates: ids are numbers, names are texts, and
//! what descriptions can say is a description.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use southbound::{SubscriptionId, TrackId};
use wire::sdp::{Format, MediaSection, Msid, SectionKind, SessionDescription};
use wire::{Codec, MediaKind, Mid, Ssrc};

/// Forms of types that are written as another type.
macro_rules! form {
    ($module:ident, $type:ty, $written:ty, $write:expr, $read:expr) => {
        pub(crate) mod $module {
            use super::*;

            pub(crate) fn serialize<S: Serializer>(value: &$type, to: S) -> Result<S::Ok, S::Error> {
                let write: fn(&$type) -> $written = $write;
                write(value).serialize(to)
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<$type, D::Error> {
                let read: fn($written) -> Option<$type> = $read;
                let written = <$written>::deserialize(from)?;
                read(written).ok_or_else(|| D::Error::custom(concat!("not a ", stringify!($module))))
            }
        }
    };
}

form!(track_id, TrackId, u64, |id| id.0, |id| Some(TrackId(id)));
form!(subscription_id, SubscriptionId, u64, |id| id.0, |id| Some(
    SubscriptionId(id)
));
form!(ssrc, Ssrc, u32, |ssrc| ssrc.0, |ssrc| Some(Ssrc(ssrc)));
form!(mid, Mid, String, |mid| mid.as_str().to_owned(), |text| Mid::new(&text));
form!(
    media_kind,
    MediaKind,
    String,
    |kind| kind.name().to_owned(),
    |name| match name.as_str() {
        "audio" => Some(MediaKind::Audio),
        "video" => Some(MediaKind::Video),
        _ => None,
    }
);
form!(codec, Codec, String, ToString::to_string, |name| Codec::from_name(
    &name
));
form!(
    codec_if_any,
    Option<Codec>,
    Option<String>,
    |codec| codec.as_ref().map(ToString::to_string),
    |name| name
        .map(|name| Codec::from_name(&name))
        .map_or(Some(None), |codec| codec.map(Some))
);
form!(
    msid,
    Msid,
    (String, Option<String>),
    |msid| (msid.stream.clone(), msid.track.clone()),
    |(stream, track)| Some(Msid { stream, track })
);
form!(
    formats,
    Vec<Format>,
    String,
    |formats| {
        // The numbers and names of formats mean the same in sections of both kinds.
        let section = MediaSection::new(SectionKind::Media(MediaKind::Video), nameless());
        write_section(MediaSection {
            formats: formats.clone(),
            ..section
        })
    },
    |text| Some(read_section(&text)?.formats)
);

/// The name of a section whose own one is kept elsewhere.
pub(crate) fn nameless() -> Mid {
    Mid::new("0").expect("a number is a token")
}

/// A media section as the description that has it alone.
pub(crate) fn write_section(section: MediaSection) -> String {
    let description = SessionDescription {
        sections: vec![section],
        ..SessionDescription::default()
    };
    description.to_string()
}

/// The only media section of a description; `None` for anything else.
pub(crate) fn read_section(text: &str) -> Option<MediaSection> {
    let mut description = SessionDescription::parse(text).ok()?;
    let section = description.sections.pop()?;
    description.sections.is_empty().then_some(section)
}
