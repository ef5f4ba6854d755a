use serde::Deserialize;

use crate::design::{Demand, Design};
use crate::device::{Device, Resource};
use crate::limits::{AUDIO_BITS, AUDIO_PACKETS, FRAMES, VIDEO_PACKET_BYTES};
use crate::supply::Supply;

/// Meetings that are alike, by their numbers.
///
/// All senders send at one rate and all receivers get it, so the bandwidth is the most that such a
/// meeting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Participants of one meeting.
    pub participants: u64,
    /// Those who send.
    pub senders: u64,
    /// Bits a second of a sender's video.
    pub video: u64,
    /// Whether senders also send audio.
    pub has_audio: bool,
    /// Whether media is encrypted between each client and the device.
    pub is_encrypted: bool,
    /// The adaptation of rates that the meeting has to have room for.
    pub adaptation: Adaptation,
}

/// The differences of quality between receivers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Adaptation {
    /// Every receiver gets all that a sender sends (NRA).
    #[default]
    None,
    /// A receiver gets one quality from all senders (RA-R).
    Receivers,
    /// A receiver gets another quality from each sender (RA-SR).
    Pairs,
}

impl Kind {
    /// The tree design of a switch.
    pub fn design(&self) -> Design {
        match self.adaptation {
            _ if self.participants <= 2 => Design::TwoParty,
            Adaptation::None => Design::Nra,
            Adaptation::Receivers => Design::RaR,
            Adaptation::Pairs => Design::RaSr,
        }
    }

    /// Bits a second of one sender.
    fn stream(&self) -> u64 {
        self.video + if self.has_audio { AUDIO_BITS } else { 0 }
    }

    /// Packets of one frame of video, or the one of audio.
    pub(crate) fn packets_of_frame(&self) -> u64 {
        self.video.div_ceil(8 * VIDEO_PACKET_BYTES * FRAMES).max(1)
    }

    /// Streams of a sender: of video and of audio.
    pub(crate) fn tracks(&self) -> u64 {
        u64::from(self.video > 0) + u64::from(self.has_audio)
    }

    /// Streams of one sender each to one receiver.
    pub(crate) fn copies(&self) -> u64 {
        self.senders * self.participants.saturating_sub(1)
    }

    /// Bits a second received and sent.
    pub fn bits(&self) -> u64 {
        self.senders * self.stream() + self.bits_sent()
    }

    /// Bits a second sent.
    pub fn bits_sent(&self) -> u64 {
        self.copies() * self.stream()
    }

    /// Tracks to one participant each.
    pub(crate) fn subscriptions(&self) -> u64 {
        self.copies() * self.tracks()
    }

    /// The cost of all packets received in a second, if each costs so much; rounded up.
    pub(crate) fn packets_received(&self, cost: u64) -> u64 {
        self.senders * self.packets(cost)
    }

    /// The cost of all packets sent in a second.
    pub(crate) fn packets_sent(&self, cost: u64) -> u64 {
        self.copies() * self.packets(cost)
    }

    /// The cost of the packets of one sender.
    fn packets(&self, cost: u64) -> u64 {
        let audio = if self.has_audio { AUDIO_PACKETS * cost } else { 0 };
        (self.video * cost).div_ceil(8 * VIDEO_PACKET_BYTES) + audio
    }

    /// The resources of a switch, and the units of each that a meeting of this kind needs.
    pub fn supplies(&self, device: &Device) -> Vec<Supply> {
        let demand = Demand::new(device, self.design(), self.participants, self.senders, self.bits());
        let of = |resource: Resource| {
            let (name, unit) = resource.name();
            Supply {
                adds_up: resource != Resource::ReplicaIds,
                ..Supply::new(name, unit, device.supply(resource), demand.units(resource))
            }
        };
        let encryption = Supply::new("encryption", "meetings", 0, self.is_encrypted.into());
        Resource::ALL.into_iter().map(of).chain([encryption]).collect()
    }
}
