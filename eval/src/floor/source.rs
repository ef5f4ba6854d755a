//! The ideal server's packets, and those that publishers would have sent to it.

use std::time::{Duration, Instant};

use super::Orders;
use crate::clock;
use crate::media::{
    AUDIO_INTERVAL, AUDIO_PAYLOAD_LEN, AUDIO_TICKS, Camera, Negotiated, Outbound, Place, write_audio, write_video,
};

/// The payload types of the floor's packets.
pub(crate) const VIDEO: u8 = 96;
pub(crate) const AUDIO: u8 = 111;
/// Room for any packet.
pub(crate) const SLOT: usize = 1400;

/// Packets that are sent together, unencrypted: as an ideal server would have received them.
#[derive(Default)]
pub(crate) struct Template {
    bytes: Vec<u8>,
    pub(super) packets: Vec<Packet>,
}

/// One of them.
#[derive(Clone, Copy)]
pub(crate) struct Packet {
    /// Bytes of header and payload.
    pub len: usize,
    /// Bytes of header.
    pub header_len: usize,
    /// The number by which it is sealed.
    pub index: u64,
}

impl Template {
    /// The bytes of the packet with this place in the frame.
    pub(crate) fn packet(&self, place: usize) -> &[u8] {
        &self.bytes[place * SLOT..][..self.packets[place].len]
    }

    fn write(&mut self, stream: &mut Outbound, place: Place, fill: impl FnOnce(&mut [u8], &crate::media::Stamp)) {
        let start = self.packets.len() * SLOT;
        if self.bytes.len() < start + SLOT {
            self.bytes.resize(start + SLOT, 0);
        }
        let written = stream.write(&mut self.bytes[start..start + SLOT], &mut 0, place, fill);
        self.packets.push(Packet {
            len: written.len,
            header_len: written.header_len,
            index: written.index,
        });
    }
}

/// A source of packets, due by its schedule.
pub(crate) struct Source {
    pub(super) stream: Outbound,
    schedule: Schedule,
}

enum Schedule {
    Video(Box<Camera>),
    Audio { due: Instant },
}

impl Source {
    /// The source with this number; its first frame is due this many microseconds after `start`.
    pub(crate) fn new((source, phase): (u32, u64), orders: &Orders, start: Instant) -> Self {
        let due = start + Duration::from_micros(phase);
        let (payload_type, schedule) = match orders.camera(source, due) {
            Some(camera) => (VIDEO, Schedule::Video(Box::new(camera))),
            None => (AUDIO, Schedule::Audio { due }),
        };
        let negotiated = Negotiated {
            payload_type,
            ..Negotiated::default()
        };
        Self {
            stream: Outbound::new(source, "", negotiated),
            schedule,
        }
    }

    /// When its next packets are due.
    pub(crate) fn due(&self) -> Instant {
        match &self.schedule {
            Schedule::Video(camera) => camera.due(),
            Schedule::Audio { due } => *due,
        }
    }

    /// Frames that left late.
    pub(crate) fn late(&self) -> u64 {
        match &self.schedule {
            Schedule::Video(camera) => camera.late(),
            Schedule::Audio { .. } => 0,
        }
    }

    /// Writes the packets that are due.
    pub(crate) fn write_due(&mut self, template: &mut Template) {
        template.packets.clear();
        match &mut self.schedule {
            Schedule::Audio { due } => {
                *due += AUDIO_INTERVAL;
                let timestamp = (self.stream.next_number() as u32).wrapping_mul(AUDIO_TICKS);
                let place = Place {
                    timestamp,
                    marker: false,
                    payload_len: AUDIO_PAYLOAD_LEN,
                    audio_level: Place::SPEECH,
                    ..Place::default()
                };
                template.write(&mut self.stream, place, write_audio);
            }
            Schedule::Video(camera) => {
                for (fragment, place) in camera.leaving(clock::now()) {
                    template.write(&mut self.stream, place, |payload, stamp| {
                        write_video(payload, fragment, stamp)
                    });
                }
            }
        }
    }
}
