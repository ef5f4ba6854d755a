//! The parameters of an endpoint's URL.

use controller::TrackSource;

use crate::answer::Answer;
use crate::choice::Wanted;
use crate::limits::{NAME_MAX, TRACKS_MAX};

/// The parameters of an endpoint's URL.
#[derive(Debug, Default)]
pub(crate) struct Query {
    pub(crate) room: Option<String>,
    pub(crate) source: TrackSource,
    pub(crate) wanted: Wanted,
}

impl Query {
    pub(crate) fn parse(query: &str) -> Result<Self, Answer> {
        let mut read = Self {
            source: TrackSource::Camera,
            ..Self::default()
        };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let too_long = || Answer::refusal(400, format!("the parameter {name} is too long"));
            if matches!(&*name, "room" | "participant" | "track") && value.len() > NAME_MAX {
                return Err(too_long());
            }
            match &*name {
                "room" => read.room = Some(value.into_owned()),
                "participant" => read.wanted.participant = Some(value.into_owned()),
                "track" if read.wanted.tracks.len() < TRACKS_MAX => read.wanted.tracks.push(value.into_owned()),
                "track" => return Err(Answer::refusal(400, "too many tracks")),
                "source" => match TrackSource::from_name(&value) {
                    Some(source @ (TrackSource::Camera | TrackSource::ScreenShare)) => read.source = source,
                    _ => return Err(Answer::refusal(400, "a source is camera or screen_share")),
                },
                // Of the client's own.
                _ => {}
            }
        }
        Ok(read)
    }
}
