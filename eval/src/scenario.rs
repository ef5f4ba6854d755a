//! Who is in which room, and who sends to whom.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::media::PublishPlan;
use crate::peer::{Impairment, Mode, Plan};

/// Rooms of equal shape.
///
/// Shape: `1x50` is one publisher and fifty receivers; `10x10`, equal numbers above one, is a meeting in which each of ten
/// publishes to the nine others; `4*5x5` is four such rooms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scenario {
    rooms: u32,
    publishers: u32,
    receivers: u32,
}

/// What all participants have in common.
#[derive(Clone, Copy, Debug)]
pub struct Behaviour {
    /// What publishers send.
    pub publish: PublishPlan,
    /// The protocol's form.
    pub mode: Mode,
    /// Whether clients take the DTLS client's part where they may choose, as browsers do.
    pub dtls_client: bool,
    /// What the clients' own networks lose.
    pub impairment: Impairment,
}

/// No single machine carries more clients than this in one run.
const PARTICIPANTS_MAX: u32 = 2000;

impl Scenario {
    /// Whether everybody publishes and receives.
    pub fn is_meeting(&self) -> bool {
        self.publishers == self.receivers && self.publishers > 1
    }

    /// Participants in all rooms.
    pub fn participants(&self) -> u32 {
        let room = if self.is_meeting() {
            self.publishers
        } else {
            self.publishers + self.receivers
        };
        self.rooms * room
    }

    /// Receivers of each packet.
    pub fn replicas_per_packet(&self) -> u32 {
        if self.is_meeting() {
            self.receivers - 1
        } else {
            self.receivers
        }
    }

    /// Publishers in all rooms.
    pub fn publishers(&self) -> u32 {
        self.rooms * self.publishers
    }

    /// The participants, publishers first in each room; `run` tells this run's rooms from those of others.
    pub fn plans(&self, run: &str, behaviour: &Behaviour) -> Vec<Plan> {
        let Behaviour {
            publish,
            mode,
            dtls_client,
            impairment,
        } = *behaviour;
        let in_room = self.participants() / self.rooms;
        let phase = publish.video.map_or(Duration::from_millis(20), |video| {
            Duration::from_secs(1) / video.frame_rate / self.publishers().max(1)
        });
        (0..self.participants())
            .map(|number| {
                let (room, place) = (number / in_room, number % in_room);
                let receives = self.is_meeting() || place >= self.publishers;
                let first = room * in_room;
                let others = (first..first + self.publishers).filter(|&other| receives && other != number);
                Plan {
                    number,
                    room: format!("bench-{run}-{room}"),
                    publish: (place < self.publishers).then_some(publish),
                    hears: others.flat_map(|other| sources(other, &publish)).collect(),
                    mode,
                    dtls_client,
                    impairment,
                    phase: phase * (room * self.publishers + place.min(self.publishers - 1)),
                }
            })
            .collect()
    }
}

fn sources(participant: u32, publish: &PublishPlan) -> impl Iterator<Item = u32> + use<> {
    let video = publish.video.map(|_| 2 * participant);
    let audio = publish.audio.then_some(2 * participant + 1);
    video.into_iter().chain(audio)
}

impl FromStr for Scenario {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |part: &str| {
            part.parse::<u32>()
                .ok()
                .filter(|&value| value > 0 && value <= PARTICIPANTS_MAX)
        };
        let parse = || {
            let (rooms, shape) = text.split_once('*').unwrap_or(("1", text));
            let (publishers, receivers) = shape.split_once('x')?;
            let scenario = Self {
                rooms: number(rooms)?,
                publishers: number(publishers)?,
                receivers: number(receivers)?,
            };
            (scenario.participants() <= PARTICIPANTS_MAX).then_some(scenario)
        };
        parse().ok_or_else(|| {
            format!("expected PUBLISHERSxRECEIVERS or ROOMS*NxN of at most {PARTICIPANTS_MAX} participants")
        })
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rooms > 1 {
            write!(f, "{}*", self.rooms)?;
        }
        write!(f, "{}x{}", self.publishers, self.receivers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEHAVIOUR: Behaviour = Behaviour {
        publish: PublishPlan {
            video: None,
            audio: true,
        },
        mode: Mode::V0,
        dtls_client: true,
        impairment: Impairment { up: 0.0, down: 0.0 },
    };

    fn plans(text: &str) -> Vec<Plan> {
        text.parse::<Scenario>().expect("a scenario").plans("t", &BEHAVIOUR)
    }

    #[test]
    fn one_to_many() {
        let plans = plans("1x3");
        assert_eq!(plans.len(), 4);
        assert!(plans[0].publish.is_some() && plans[0].hears.is_empty());
        assert!(
            plans[1..]
                .iter()
                .all(|plan| plan.publish.is_none() && plan.hears == [1])
        );
    }

    #[test]
    fn a_meeting_hears_all_others_and_no_other_room() {
        let plans = plans("2*3x3");
        assert_eq!(plans.len(), 6);
        assert_eq!(plans[1].hears, [1, 5]);
        assert_eq!(plans[3].hears, [9, 11]);
        assert_ne!(plans[2].room, plans[3].room);
        assert!(plans.windows(2).all(|pair| pair[0].phase < pair[1].phase));
    }

    #[test]
    fn text_round_trips_and_nonsense_is_refused() {
        for text in ["1x50", "10x10", "4*5x5"] {
            assert_eq!(text.parse::<Scenario>().map(|it| it.to_string()), Ok(text.into()));
        }
        for text in ["", "x", "0x5", "5", "1x9999", "100*100x100", "ax1"] {
            assert!(text.parse::<Scenario>().is_err(), "{text}");
        }
    }
}
