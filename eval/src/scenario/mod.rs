//! Rooms, their participants, and the streams between them.

mod plans;

use std::fmt;
use std::str::FromStr;

use crate::client::Mode;
use crate::impairment::Impairment;
use crate::media::PublishPlan;
use crate::transport::RouteKind;

/// The rooms and participants of a run.
///
/// Shape: `1x50` is one publisher and fifty receivers; `10x10`, equal numbers above one, is a
/// meeting in which each of ten publishes to the nine others; `4*5x5` is four such rooms;
/// `10of1000` is a crowd of a thousand, ten of whom publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// Rooms of equal shape in which everybody receives everything.
    Rooms {
        /// How many rooms.
        rooms: u32,
        /// Publishers in each.
        publishers: u32,
        /// Receivers in each; in a meeting they are the publishers.
        receivers: u32,
    },
    /// One room of light clients: each hears all publishers and shows a few of them.
    Crowd {
        /// Everybody.
        participants: u32,
        /// The publishers, the first to join.
        publishers: u32,
    },
}

/// Behaviour that all participants share.
#[derive(Clone, Copy, Debug)]
pub struct Behaviour {
    /// The media of publishers.
    pub publish: PublishPlan,
    /// The protocol's form.
    pub mode: Mode,
    /// Whether clients take the DTLS client's part where they may choose, as browsers do.
    pub dtls_client: bool,
    /// Whether the kernel delivers each datagram of a run by itself to clients.
    pub single_datagrams: bool,
    /// The route of clients' media.
    pub route: RouteKind,
    /// Loss and delay in the clients' own networks.
    pub impairment: Impairment,
    /// In a crowd: publishers that each client shows.
    pub watched: u32,
    /// In a crowd: publishers who speak at the same time, by turns.
    pub speaking: u32,
}

/// No single machine carries more clients than this in one run.
const PARTICIPANTS_MAX: u32 = 4000;

impl Scenario {
    /// Whether this is a crowd.
    pub fn is_crowd(&self) -> bool {
        matches!(self, Self::Crowd { .. })
    }

    /// Whether everybody publishes and receives.
    pub fn is_meeting(&self) -> bool {
        matches!(*self, Self::Rooms { publishers, receivers, .. } if publishers == receivers && publishers > 1)
    }

    /// Participants in all rooms.
    pub fn participants(&self) -> u32 {
        match *self {
            Self::Rooms { rooms, publishers, .. } if self.is_meeting() => rooms * publishers,
            Self::Rooms {
                rooms,
                publishers,
                receivers,
            } => rooms * (publishers + receivers),
            Self::Crowd { participants, .. } => participants,
        }
    }

    /// Publishers in all rooms.
    pub fn publishers(&self) -> u32 {
        match *self {
            Self::Rooms { rooms, publishers, .. } => rooms * publishers,
            Self::Crowd { publishers, .. } => publishers,
        }
    }

    fn rooms(text: &str) -> Option<Self> {
        let (rooms, shape) = text.split_once('*').unwrap_or(("1", text));
        let (publishers, receivers) = shape.split_once('x')?;
        Some(Self::Rooms {
            rooms: number(rooms)?,
            publishers: number(publishers)?,
            receivers: number(receivers)?,
        })
    }

    fn crowd(text: &str) -> Option<Self> {
        let (publishers, participants) = text.split_once("of")?;
        let (publishers, participants) = (number(publishers)?, number(participants)?);
        (publishers <= participants).then_some(Self::Crowd {
            participants,
            publishers,
        })
    }
}

fn number(text: &str) -> Option<u32> {
    text.parse()
        .ok()
        .filter(|&value| value > 0 && value <= PARTICIPANTS_MAX)
}

impl FromStr for Scenario {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::crowd(text)
            .or_else(|| Self::rooms(text))
            .filter(|scenario| scenario.participants() <= PARTICIPANTS_MAX)
            .ok_or_else(|| {
                format!(
                    "expected PUBLISHERSxRECEIVERS, ROOMS*NxN or PUBLISHERSofALL of at most {PARTICIPANTS_MAX} participants"
                )
            })
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rooms {
                rooms: 1,
                publishers,
                receivers,
            } => write!(f, "{publishers}x{receivers}"),
            Self::Rooms {
                rooms,
                publishers,
                receivers,
            } => write!(f, "{rooms}*{publishers}x{receivers}"),
            Self::Crowd {
                participants,
                publishers,
            } => write!(f, "{publishers}of{participants}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips_and_nonsense_is_refused() {
        for text in ["1x50", "10x10", "4*5x5", "10of1000"] {
            assert_eq!(text.parse::<Scenario>().map(|it| it.to_string()), Ok(text.into()));
        }
        for text in [
            "",
            "x",
            "0x5",
            "5",
            "1x9999",
            "100*100x100",
            "ax1",
            "11of10",
            "of",
            "10of9999",
        ] {
            assert!(text.parse::<Scenario>().is_err(), "{text}");
        }
    }

    #[test]
    fn participants_are_counted_once() {
        for (text, participants, publishers) in [("1x50", 51, 1), ("4*5x5", 20, 20), ("10of1000", 1000, 10)] {
            let scenario: Scenario = text.parse().expect("a scenario");
            assert_eq!(
                (scenario.participants(), scenario.publishers()),
                (participants, publishers)
            );
        }
    }
}
