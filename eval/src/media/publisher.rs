//! Everything one participant sends: its sources, due packets, sender reports, answers to feedback.

use std::io::IoSlice;
use std::time::Instant;

use super::Stamp;
use super::camera::Camera;
use super::layers::Dependency;
use super::ledger::{Ledger, Sent};
use super::outbound::{Negotiated, Outbound, Place, Written};
use super::payload::{write_audio, write_video};
use super::publish_plan::PublishPlan;
use super::speech::{Speech, SpeechSchedule, Utterance};
use crate::impairment::Dice;
use crate::transport::Transport;

/// Room for header, extensions, payload and tag of any packet.
const SLOT: usize = 1400;
/// The payload of an Opus packet of 20 ms at 32 kbit/s.
pub const AUDIO_PAYLOAD_LEN: usize = 80;
/// The payload of a packet of silence: a byte or two in practice, here followed by the stamp.
const SILENCE_PAYLOAD_LEN: usize = 1 + Stamp::LEN;
/// Their length on the 48 kHz clock.
pub const AUDIO_TICKS: u32 = 960;

/// One participant's sources, over one transport.
pub struct Publisher {
    video: Option<Video>,
    audio: Option<Audio>,
    transport_sequence: u16,
    arena: Vec<u8>,
    /// Bytes of each sealed packet in the arena, a `SLOT` each.
    sealed: Vec<usize>,
    unsent: u64,
    dice: Dice,
}

struct Video {
    camera: Camera,
    stream: Outbound,
    last: LastSent,
}

struct Audio {
    schedule: SpeechSchedule,
    stream: Outbound,
    last: LastSent,
}

/// The times in a sender report: an instant and the RTP timestamp of that instant.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastSent {
    /// Nanoseconds since 1970.
    pub wall_ns: u64,
    /// On the stream's clock.
    pub timestamp: u32,
}

impl Publisher {
    /// A publisher that sends nothing yet, whose network loses packets by `dice`.
    pub fn new(dice: Dice) -> Self {
        let (arena, sealed) = (Vec::new(), Vec::new());
        Self {
            video: None,
            audio: None,
            transport_sequence: 0,
            arena,
            sealed,
            unsent: 0,
            dice,
        }
    }

    /// Begins sending video at `start`, if there is any.
    pub fn start_video(
        &mut self,
        source: u32,
        publish: PublishPlan,
        mid: &str,
        negotiated: Negotiated,
        start: Instant,
    ) {
        let Some(plan) = publish.video else { return };
        self.video = Some(Video {
            camera: Camera::new(plan, &publish, start),
            stream: Outbound::new(source, mid, negotiated),
            last: LastSent::default(),
        });
    }

    /// Begins sending audio at `start`.
    pub fn start_audio(&mut self, source: u32, speech: Speech, mid: &str, negotiated: Negotiated, start: Instant) {
        let stream = Outbound::new(source, mid, negotiated);
        self.audio = Some(Audio {
            schedule: SpeechSchedule::new(speech, start),
            stream,
            last: LastSent::default(),
        });
    }

    /// When the next packet is due.
    pub fn due(&self) -> Option<Instant> {
        let video = self.video.as_ref().map(|video| video.camera.due());
        let audio = self.audio.as_ref().map(|audio| audio.schedule.due());
        video.into_iter().chain(audio).min()
    }

    /// The streams, each with the instant and timestamp last sent.
    pub fn streams(&self) -> impl Iterator<Item = (&Outbound, LastSent)> {
        let video = self.video.iter().map(|video| (&video.stream, video.last));
        video.chain(self.audio.iter().map(|audio| (&audio.stream, audio.last)))
    }

    /// Frames that left late or never.
    pub fn late(&self) -> u64 {
        self.video.as_ref().map_or(0, |video| video.camera.late())
    }

    /// Packets that the kernel did not take.
    pub fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Sends due packets, and records them. None are due before the transport has keys.
    pub fn send_due(&mut self, now: Instant, transport: &mut Transport, ledger: &mut Ledger) {
        if transport.profile().is_none() {
            return;
        }
        while let Some(utterance) = self.audio.as_mut().and_then(|audio| audio.schedule.poll(now)) {
            self.prepare_audio(utterance, transport, ledger);
        }
        self.prepare_video(now, transport, ledger);
        self.flush(transport);
    }

    fn prepare_audio(&mut self, utterance: Utterance, transport: &mut Transport, ledger: &mut Ledger) {
        let Some(audio) = &mut self.audio else { return };
        let slot = next_slot(&mut self.arena, self.sealed.len());
        let timestamp = (utterance.number as u32).wrapping_mul(AUDIO_TICKS);
        let (payload_len, audio_level) = if utterance.speaking {
            (AUDIO_PAYLOAD_LEN, Place::SPEECH)
        } else {
            (SILENCE_PAYLOAD_LEN, Place::SILENCE)
        };
        let place = Place {
            timestamp,
            marker: utterance.begins,
            payload_len,
            audio_level,
            dependency: Dependency::NONE,
        };
        let written = audio
            .stream
            .write(slot, &mut self.transport_sequence, place, write_audio);
        ledger.note(audio.stream.source(), sent(&written, &place, false));
        audio.last = LastSent {
            wall_ns: written.sent_ns,
            timestamp,
        };
        self.sealed
            .extend(transport.seal_rtp(slot, written.len, written.header_len, written.index));
    }

    fn prepare_video(&mut self, now: Instant, transport: &mut Transport, ledger: &mut Ledger) {
        let Some(video) = &mut self.video else { return };
        for (fragment, place) in video.camera.leaving(now) {
            let slot = next_slot(&mut self.arena, self.sealed.len());
            let written = video
                .stream
                .write(slot, &mut self.transport_sequence, place, |payload, stamp| {
                    write_video(payload, fragment, stamp);
                });
            self.sealed
                .extend(transport.seal_rtp(slot, written.len, written.header_len, written.index));
            let key_frame_start = fragment.key_frame && fragment.first;
            ledger.note(video.stream.source(), sent(&written, &place, key_frame_start));
            video.last = LastSent {
                wall_ns: written.sent_ns,
                timestamp: place.timestamp,
            };
        }
    }

    /// Sends the arena's packets in one system call.
    fn flush(&mut self, transport: &Transport) {
        if self.sealed.is_empty() {
            return;
        }
        let packets = self.arena.chunks(SLOT).zip(&self.sealed).filter(|_| !self.dice.lose());
        let slices: Vec<[IoSlice<'_>; 1]> = packets.map(|(slot, &len)| [IoSlice::new(&slot[..len])]).collect();
        let sent = crate::net::send_each(transport.socket(), &slices).unwrap_or(0);
        self.unsent += (slices.len() - sent) as u64;
        self.sealed.clear();
    }

    /// Makes the next frame of the stream a key frame.
    pub fn request_key_frame(&mut self, ssrc: u32) {
        if let Some(video) = &mut self.video
            && video.stream.ssrc() == ssrc
        {
            video.camera.request_key_frame();
        }
    }

    /// Sends packets of a stream again, those that are still remembered.
    pub fn send_again(&mut self, ssrc: u32, sequences: impl Iterator<Item = u16>, transport: &mut Transport) {
        let Some(video) = self.video.as_mut().filter(|video| video.stream.ssrc() == ssrc) else {
            return;
        };
        for sequence in sequences {
            let slot = next_slot(&mut self.arena, self.sealed.len());
            if let Some(written) = video.stream.write_again(slot, &mut self.transport_sequence, sequence) {
                self.sealed
                    .extend(transport.seal_rtp(slot, written.len, written.header_len, written.index));
            }
        }
        self.flush(transport);
    }
}

fn sent(written: &Written, place: &Place, key_frame_start: bool) -> Sent {
    Sent {
        number: written.number,
        sent_ns: written.sent_ns,
        timestamp: place.timestamp,
        payload_len: place.payload_len as u16,
        marker: place.marker,
        key_frame_start,
    }
}

/// The arena's slot with this index; the arena grows to the largest frame and stays.
fn next_slot(arena: &mut Vec<u8>, index: usize) -> &mut [u8] {
    if arena.len() < (index + 1) * SLOT {
        arena.resize((index + 1) * SLOT, 0);
    }
    &mut arena[index * SLOT..(index + 1) * SLOT]
}
