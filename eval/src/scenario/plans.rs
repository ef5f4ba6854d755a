//! Turns a scenario into the plan of each participant.

use std::time::Duration;

use super::{Behaviour, Scenario};
use crate::client::Plan;
use crate::media::{PublishPlan, Speech};

impl Scenario {
    /// The participants, publishers first in each room; `run` distinguishes this run's rooms from
    /// those of others.
    pub fn plans(&self, run: &str, behaviour: &Behaviour) -> Vec<Plan> {
        (0..self.participants())
            .map(|number| match *self {
                Self::Rooms {
                    rooms,
                    publishers,
                    receivers: _,
                } => self.in_a_room(number, self.participants() / rooms, publishers, run, behaviour),
                Self::Crowd { publishers, .. } => self.in_a_crowd(number, publishers, run, behaviour),
            })
            .collect()
    }

    fn in_a_room(&self, number: u32, in_room: u32, publishers: u32, run: &str, behaviour: &Behaviour) -> Plan {
        let publish = behaviour.publish;
        let (room, place) = (number / in_room, number % in_room);
        let receives = self.is_meeting() || place >= publishers;
        let first = room * in_room;
        let others = (first..first + publishers).filter(|&other| receives && other != number);
        Plan {
            room: format!("bench-{run}-{room}"),
            publish: (place < publishers).then_some(publish),
            hears: others.flat_map(|other| sources(other, &publish)).collect(),
            phase: self.spread(behaviour) * (room * publishers + place.min(publishers - 1)),
            ..plan(number, behaviour)
        }
    }

    /// Everybody hears all publishers; the shown ones depend on a client's number, so that all are
    /// shown equally often.
    fn in_a_crowd(&self, number: u32, publishers: u32, run: &str, behaviour: &Behaviour) -> Plan {
        let publish = behaviour.publish;
        let others: Vec<u32> = (0..publishers)
            .map(|offset| (number + offset) % publishers)
            .filter(|&other| other != number)
            .collect();
        let (watched, hidden) = others.split_at(others.len().min(behaviour.watched as usize));
        let only_heard = PublishPlan { video: None, ..publish };
        let only_seen = PublishPlan {
            audio: false,
            ..publish
        };
        let shown = watched.iter().flat_map(|&other| sources(other, &publish));
        let heard = hidden.iter().flat_map(|&other| sources(other, &only_heard));
        Plan {
            room: format!("bench-{run}"),
            publish: (number < publishers).then_some(publish),
            hears: shown.chain(heard).collect(),
            disables: hidden.iter().flat_map(|&other| sources(other, &only_seen)).collect(),
            light: number >= publishers,
            speech: Speech::Turns {
                place: number,
                of: publishers,
                at_once: behaviour.speaking,
            },
            phase: self.spread(behaviour) * number.min(publishers - 1),
            ..plan(number, behaviour)
        }
    }

    /// The frame interval, shared by the publishers.
    fn spread(&self, behaviour: &Behaviour) -> Duration {
        behaviour.publish.video.map_or(Duration::from_millis(20), |video| {
            Duration::from_secs(1) / video.frame_rate / self.publishers().max(1)
        })
    }
}

/// The parts that all plans share.
fn plan(number: u32, behaviour: &Behaviour) -> Plan {
    Plan {
        number,
        room: String::new(),
        publish: None,
        hears: Vec::new(),
        disables: Vec::new(),
        light: false,
        speech: Speech::Always,
        mode: behaviour.mode,
        dtls_client: behaviour.dtls_client,
        single_datagrams: behaviour.single_datagrams,
        route: behaviour.route,
        impairment: behaviour.impairment,
        phase: Duration::ZERO,
    }
}

fn sources(participant: u32, publish: &PublishPlan) -> impl Iterator<Item = u32> + use<> {
    let video = publish.video.map(|_| 2 * participant);
    let audio = publish.audio.then_some(2 * participant + 1);
    video.into_iter().chain(audio)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Mode;
    use crate::impairment::Impairment;
    use crate::media::VideoPlan;
    use crate::transport::RouteKind;

    const BEHAVIOUR: Behaviour = Behaviour {
        publish: PublishPlan {
            video: None,
            layered: false,
            paced: false,
            audio: true,
        },
        mode: Mode::V0,
        dtls_client: true,
        single_datagrams: false,
        route: RouteKind::Udp,
        impairment: Impairment {
            up: 0.0,
            down: 0.0,
            downlink: None,
        },
        watched: 1,
        speaking: 1,
    };

    fn plans(text: &str, behaviour: &Behaviour) -> Vec<Plan> {
        text.parse::<Scenario>().expect("a scenario").plans("t", behaviour)
    }

    #[test]
    fn one_to_many() {
        let plans = plans("1x3", &BEHAVIOUR);
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
        let plans = plans("2*3x3", &BEHAVIOUR);
        assert_eq!(plans.len(), 6);
        assert_eq!(plans[1].hears, [1, 5]);
        assert_eq!(plans[3].hears, [9, 11]);
        assert_ne!(plans[2].room, plans[3].room);
        assert!(plans.windows(2).all(|pair| pair[0].phase < pair[1].phase));
    }

    #[test]
    fn a_crowd_hears_all_publishers_and_shows_some() {
        let video = VideoPlan {
            bitrate: 100_000,
            frame_rate: 15,
            key_interval: Duration::from_secs(10),
        };
        let behaviour = Behaviour {
            publish: PublishPlan {
                video: Some(video),
                layered: false,
                paced: false,
                audio: true,
            },
            ..BEHAVIOUR
        };
        let plans = plans("3of7", &behaviour);
        assert_eq!(
            (plans[0].hears.as_slice(), plans[0].disables.as_slice()),
            (&[2, 3, 5][..], &[4][..])
        );
        assert_eq!(
            (plans[4].hears.as_slice(), plans[4].disables.as_slice()),
            (&[2, 3, 5, 1][..], &[4, 0][..])
        );
        assert!(plans.iter().all(|plan| plan.light == plan.publish.is_none()));
        assert_eq!(plans.iter().filter(|plan| plan.light).count(), 4);
    }
}
