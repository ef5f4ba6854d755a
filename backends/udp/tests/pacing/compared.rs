//! With a pace the same packets leave as without.

use std::time::Duration;

use dataplane::{Counter, DataPlane, Egress, Ingress, Inject, LegId, Model, Protection, ReplicaId, Update};
use proptest::prelude::*;
use wire::{RtpPacket, Ssrc};

use crate::call::*;
use crate::support::*;

/// The key by which a receiver can tell packets apart at any time: for retransmissions the packet
/// they repeat, since their own numbers are given when they are sent.
fn told_apart(clear: &[u8]) -> (Ssrc, u16, u32, Vec<u8>) {
    let view = RtpPacket::parse(clear).unwrap();
    let repeats = view.ssrc().0 % 2 == 1 && !view.payload().is_empty();
    let number = match repeats {
        true => u16::from_be_bytes([view.payload()[0], view.payload()[1]]),
        false => view.sequence().0,
    };
    (view.ssrc(), number, view.timestamp().0, view.payload().to_vec())
}

/// The model and a device with a pace, with the same entries and the same packets.
struct Compared {
    model: Model,
    call: Call,
    of_model: Vec<Egress>,
}

impl Compared {
    fn new(shards: usize) -> Self {
        let mut model = Model::new(clock());
        set_leg(&mut model, 0, publisher(), Protection::Clear);
        set_stream(&mut model, stream_key(0, VIDEO), video());
        set_stream(&mut model, stream_key(0, AUDIO), audio());
        for number in 1..=2 {
            set_leg(&mut model, number, receiver(number), Protection::Clear);
            set_replica(&mut model, number, replica(number, 1_000, stream_key(0, VIDEO)));
            set_replica(&mut model, 10 + number, replica(number, 2_000, stream_key(0, AUDIO)));
        }
        Compared {
            model,
            call: Call::new(shards, 500_000),
            of_model: Vec::new(),
        }
    }

    fn packet(&mut self, bytes: &[u8]) {
        let now = self.call.now;
        let path = publisher();
        let verdict = self.model.packet(now, Ingress { path, bytes }, &mut self.of_model);
        assert_eq!(self.call.plane.packet(now, 0, path, bytes), verdict);
        self.call.take();
    }

    fn write(&mut self, update: Update) {
        self.model.write(self.call.now, update.clone()).unwrap();
        self.call.write(update);
    }

    /// A leg with a pace has sent all it had to by now.
    fn check(&mut self) {
        self.of_model.extend(self.model.take_injected());
        let of_model = self.of_model.iter().filter(|egress| egress.leg == Some(LegId(1)));
        let mut expected: Vec<_> = of_model.map(|egress| told_apart(&egress.bytes)).collect();
        let mut got: Vec<_> = self.call.paced().iter().map(|got| told_apart(&got.clear)).collect();
        // Among those of one SSRC the order counts.
        expected.sort_by_key(|packet| packet.0);
        got.sort_by_key(|packet| packet.0);
        assert_eq!(got, expected);
        let (model, device) = (self.model.counters(), self.call.plane.counters());
        for counter in Counter::ALL {
            assert_eq!(device[*counter], model[*counter], "{}", counter.name());
        }
    }
}

proptest! {
    /// With a pace the same packets leave as without, later; each SSRC's in the same order.
    #[test]
    fn a_device_with_a_pacer_sends_the_same_as_the_model(
        shards in 1usize..4,
        steps in prop::collection::vec((0u8..16, any::<u16>()), 1..150),
    ) {
        let mut compared = Compared::new(shards);
        for (what, value) in steps {
            match what {
                0..=7 => {
                    compared.call.video += 1 + u16::from(value % 16 == 0);
                    let frame = if value % 3 == 0 { KEY_FRAME } else { DELTA_FRAME };
                    compared.packet(&vp8(VIDEO, compared.call.video, frame, 200 + usize::from(value % 1_000)));
                }
                8..=9 => {
                    compared.call.audio += 1;
                    compared.packet(&rtp(AUDIO, AUDIO_TYPE, compared.call.audio, b"sound"));
                }
                10 => {
                    let sequences = [100 + value % 50, 100 + value % 30];
                    let resend = Inject::Resend { replica: ReplicaId(1), sequences: &sequences };
                    compared.model.inject(compared.call.now, resend);
                    compared.call.inject(resend);
                }
                11 => {
                    let pace = 100_000 + 20 * u64::from(value);
                    let pace = Some(pace).filter(|_| value % 8 != 0);
                    compared.write(Update::SetPace(LegId(1), pace));
                }
                12 => {
                    let mut entry = replica(1, 1_000, stream_key(0, VIDEO));
                    entry.paused = value % 2 == 0;
                    compared.write(Update::SetReplica(ReplicaId(1), entry));
                }
                _ => {
                    let end = compared.call.now - compared.call.start + Duration::from_micros(u64::from(value));
                    compared.call.run_until(end);
                }
            }
        }
        let end = compared.call.now - compared.call.start + ms(600);
        compared.call.run_until(end);
        compared.check();
    }
}
