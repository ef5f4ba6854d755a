//! Actions of participants.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::Faults;
use crate::grants::Grants;

/// One simulated call: its participants, their actions with times, and their networks. All of it is
/// drawn from one number.
#[derive(Clone, Debug)]
pub struct History {
    /// The number it was drawn from, and from which faults and choices are drawn while it is
    /// played.
    pub seed: u64,
    /// Grants of each person.
    pub(crate) people: Vec<Grants>,
    /// Their actions, in order.
    pub steps: Vec<Step>,
    /// The number of media nodes that people are at.
    pub machines: usize,
    /// Faults meanwhile.
    pub faults: Faults,
    /// Transports are protected by real DTLS handshakes. They cost a thousand times as much as the
    /// rest of a handshake's history, so most histories are unencrypted.
    pub dtls: bool,
    /// When people stop doing things and networks heal.
    pub quiet_after: Duration,
}

/// One action of a person.
#[derive(Clone, Debug)]
pub struct Step {
    /// When.
    pub at: Duration,
    /// The person, as an index.
    pub person: usize,
    /// The action. One that is impossible at the time is skipped, so that any part of a history is
    /// a history.
    pub action: Action,
}

/// An action of a person, or an accident. A `pick` chooses among the existing objects.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// Joins the room. While in the room already it is a second client with the same identity.
    Join(How),
    /// Sends a leave message and goes.
    Leave,
    /// Is gone without a message.
    Vanish,
    /// Publishes a camera, a microphone or a screen.
    Publish(Device),
    /// Stops publishing one of its tracks.
    Unpublish(u32),
    /// Mutes or unmutes one of its tracks.
    Mute(u32, bool),
    /// Subscribes to a track of another person, or unsubscribes.
    Subscribe(u32, bool),
    /// Sets the quality of a track of another person.
    Settings(u32, Demand),
    /// Allows or forbids one person to have its tracks.
    Permit(u32, bool),
    /// Sends a message to everybody, or to one.
    Say {
        /// Over the reliable channel.
        reliable: bool,
        /// The receiver; all if none is picked.
        to: Option<u32>,
    },
    /// Changes its name, metadata and attributes.
    Rename(u32),
    /// Loses its signalling connection and resumes on a new one.
    LoseSignal,
    /// Starts over: a new client, the same person.
    StartOver,
    /// Appears at another address, as after a change of network or a forgetful NAT.
    Rebind,
    /// Its receiver asks for a key frame of everything it gets.
    AskKeyFrames,
    /// Sends a signalling message that is none.
    SayRubbish(u32),
    /// Sends meaningless datagrams.
    SendRubbish(u32),
    /// Asks the server for one of the protocol's accidents.
    Simulate(u32),
    /// Another controller goes on with all rooms.
    ReplaceController,
    /// A media node dies, and another one starts in its place.
    ReplaceMachine(u32),
    /// Nothing passes between media nodes for this time, which begins now.
    CutTrunks(Duration),
}

/// The form of a client's protocol.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// Two peer connections rather than one.
    pub dual: bool,
    /// Gets every track without asking.
    pub auto_subscribe: bool,
    /// Signals in JSON rather than protobuf.
    pub json: bool,
    /// As the answerer it waits for the handshake instead of starting it.
    pub passive: bool,
}

/// A published device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// A microphone.
    Microphone,
    /// A camera, as simulcast or as one encoding, in VP8 or H.264.
    Camera {
        /// Three encodings.
        simulcast: bool,
        /// H.264 rather than VP8.
        h264: bool,
    },
    /// A screen, as one encoding in VP8.
    Screen,
}

/// How well a track is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Not now.
    Nothing,
    /// In this quality: 0 is low, 2 is high.
    Quality(u8),
    /// To be shown at this width, 16 to 9.
    Width(u32),
}

/// Media nodes of histories in turn.
const MACHINES: [usize; 4] = [1, 1, 2, 3];

impl History {
    /// The history of a number.
    pub fn random(seed: u64) -> Self {
        let rng = &mut StdRng::seed_from_u64(seed);
        let people: Vec<Grants> = (0..rng.random_range(2..=5)).map(|_| Grants::random(rng)).collect();
        let quiet_after = Duration::from_millis(rng.random_range(4_000..10_000));
        let mut steps: Vec<Step> = (0..people.len()).flat_map(|person| beginning(rng, person)).collect();
        for _ in 0..rng.random_range(5..30) {
            let at = rng.random_range(Duration::from_secs(1)..quiet_after);
            let person = rng.random_range(0..people.len());
            steps.push(Step {
                at,
                person,
                action: Action::random(rng),
            });
        }
        if seed % 5 == 3 {
            steps.push(Step {
                at: rng.random_range(Duration::from_secs(1)..quiet_after),
                person: 0,
                action: Action::ReplaceController,
            });
        }
        if seed % 7 == 2 {
            steps.push(Step {
                at: rng.random_range(Duration::from_secs(1)..quiet_after),
                person: 0,
                action: Action::ReplaceMachine(rng.random()),
            });
        }
        let mut quiet_after = quiet_after;
        if seed % 12 == 11 {
            // Beyond 10 s each end says that the other one is silent, and beyond 30 s it gives up.
            let time = Duration::from_millis(rng.random_range(1_000..40_000));
            let at = rng.random_range(Duration::from_secs(1)..quiet_after);
            quiet_after += time;
            steps.push(Step {
                at,
                person: 0,
                action: Action::CutTrunks(time),
            });
        }
        steps.sort_by_key(|step| step.at);
        Self {
            seed,
            people,
            steps,
            machines: MACHINES[(seed / 3) as usize % MACHINES.len()],
            faults: Faults::random(rng),
            dtls: seed.is_multiple_of(20),
            quiet_after,
        }
    }
}

/// People join early and publish.
fn beginning(rng: &mut StdRng, person: usize) -> Vec<Step> {
    let at = rng.random_range(Duration::ZERO..Duration::from_secs(2));
    let mut steps = vec![Step {
        at,
        person,
        action: Action::Join(How::random(rng)),
    }];
    for device in [Device::Microphone, Device::camera(rng), Device::Screen]
        .into_iter()
        .take(rng.random_range(0..=3))
    {
        let at = at + rng.random_range(Duration::ZERO..Duration::from_secs(1));
        steps.push(Step {
            at,
            person,
            action: Action::Publish(device),
        });
    }
    steps
}

impl Action {
    fn random(rng: &mut StdRng) -> Self {
        let pick = rng.random();
        match rng.random_range(0..100) {
            0..8 => Self::Join(How::random(rng)),
            8..10 => Self::Leave,
            10..12 => Self::Vanish,
            12..28 => Self::Publish(Device::random(rng)),
            28..36 => Self::Unpublish(pick),
            36..44 => Self::Mute(pick, rng.random_bool(0.6)),
            44..54 => Self::Subscribe(pick, rng.random_bool(0.5)),
            54..62 => Self::Settings(pick, Demand::random(rng)),
            62..65 => Self::Permit(pick, rng.random_bool(0.4)),
            65..71 => Self::Say {
                reliable: rng.random(),
                to: rng.random_bool(0.5).then_some(pick),
            },
            71..74 => Self::Rename(pick),
            74..82 => Self::LoseSignal,
            82..85 => Self::StartOver,
            85..89 => Self::Rebind,
            89..93 => Self::AskKeyFrames,
            93..95 => Self::SayRubbish(pick),
            95..97 => Self::SendRubbish(pick),
            _ => Self::Simulate(pick),
        }
    }
}

impl How {
    fn random(rng: &mut StdRng) -> Self {
        Self {
            dual: rng.random(),
            auto_subscribe: rng.random_bool(0.8),
            json: rng.random_bool(0.1),
            passive: rng.random_bool(0.3),
        }
    }
}

impl Device {
    fn random(rng: &mut StdRng) -> Self {
        match rng.random_range(0..3) {
            0 => Self::Microphone,
            1 => Self::camera(rng),
            _ => Self::Screen,
        }
    }

    fn camera(rng: &mut StdRng) -> Self {
        Self::Camera {
            simulcast: rng.random(),
            h264: rng.random_bool(0.3),
        }
    }
}

impl Demand {
    fn random(rng: &mut StdRng) -> Self {
        match rng.random_range(0..3) {
            0 => Self::Nothing,
            1 => Self::Quality(rng.random_range(0..3)),
            _ => Self::Width(rng.random_range(0..1_400)),
        }
    }
}
