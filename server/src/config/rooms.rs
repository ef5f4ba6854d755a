//! The configuration of rooms.

use std::time::Duration;

use serde::Deserialize;

use super::sip::Seconds;

/// Room settings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Room {
    /// Whether joining a room creates it.
    pub auto_create: bool,
    /// Seconds a room stays while nobody has joined.
    pub empty_timeout: Seconds,
    /// Seconds a room stays after the last participant left.
    pub departure_timeout: Seconds,
    /// The most participants a room takes.
    pub max_participants: Option<usize>,
    /// Whether the server API may unmute tracks.
    pub enable_remote_unmute: bool,
    /// The participants of a room that are shown to the others.
    pub visible: Visible,
    /// Rooms that anybody may watch without a token, by name; a `*` at the end stands for any rest.
    pub watch: Vec<String>,
}

impl Default for Room {
    fn default() -> Self {
        Room {
            auto_create: true,
            empty_timeout: Seconds(Duration::from_secs(300)),
            departure_timeout: Seconds(Duration::from_secs(20)),
            max_participants: None,
            enable_remote_unmute: false,
            visible: Visible::Everybody,
            watch: Vec::new(),
        }
    }
}

impl Room {
    /// How long a room stays while nobody has joined.
    pub(crate) fn empty_timeout(&self) -> Duration {
        self.empty_timeout.0
    }

    /// How long a room stays after the last participant left.
    pub(crate) fn departure_timeout(&self) -> Duration {
        self.departure_timeout.0
    }
}

/// The participants of a room that are shown to the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Visible {
    /// All of them.
    #[default]
    Everybody,
    /// Participants that publish, or have since joining. The others are counted.
    Publishers,
}

impl From<Visible> for controller::Visible {
    fn from(visible: Visible) -> Self {
        match visible {
            Visible::Everybody => Self::Everybody,
            Visible::Publishers => Self::Publishers,
        }
    }
}

/// Which voices a large room hears.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Audio {
    /// So many at once, the loudest; 0 is all of them, in a room of any size.
    pub loudest: usize,
    /// All of them while no more than these publish audio.
    pub from: usize,
}

impl Default for Audio {
    fn default() -> Self {
        let defaults = controller::Loudest::default();
        Audio {
            loudest: defaults.voices,
            from: defaults.small_room,
        }
    }
}

impl Audio {
    /// The same in the terms of the controller.
    pub(crate) fn voices(&self) -> Option<controller::Loudest> {
        (self.loudest > 0).then(|| controller::Loudest {
            voices: self.loudest,
            small_room: self.from,
            ..controller::Loudest::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_show_everybody_and_hear_five_by_default() {
        let room: Room = serde_saphyr::from_str("auto_create: false").unwrap();
        assert_eq!((room.auto_create, room.visible), (false, Visible::Everybody));
        let room: Room = serde_saphyr::from_str("visible: publishers").unwrap();
        assert_eq!(room.visible, Visible::Publishers);
        assert_eq!(Audio::default().voices(), Some(controller::Loudest::default()));
        let audio: Audio = serde_saphyr::from_str("loudest: 3").unwrap();
        assert_eq!(
            audio.voices().map(|loudest| (loudest.voices, loudest.small_room)),
            Some((3, 12))
        );
        let audio: Audio = serde_saphyr::from_str("loudest: 0").unwrap();
        assert_eq!(audio.voices(), None);
    }
}
