//! Random histories through the model, and through a switch with its base: the same bytes.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use backend_p4::Replication;
use conformance::copies::{Compared, follow};
use conformance::device::SwitchDevice;
use conformance::differential::Difference;
use conformance::random::{Network, Options, Srtp, history, plain, with_feedback};
use conformance::shrink::shrink;
use conformance::step::{path_of, peer_at};
use conformance::text::print_history;
use conformance::{Injection, Send, Step};
use dataplane::{LegId, Path, Rewriting, Update};
use wire::codec::Layer;
use wire::{Codec, ExtensionKind, ExtensionMap, RtpPacket};

use crate::real::Real;
use crate::{MODES, device, is_p4_check, now};

/// The time between two packets.
const INTERVAL: Duration = Duration::from_millis(20);

/// The id of dependency descriptors.
const DESCRIPTOR: u8 = 3;

/// The most elements of a header extension that the program reads.
const ELEMENTS_MAX: usize = 8;

/// The largest packet that fits a receiver with any extensions, in bytes.
const SIZE_MAX: usize = 1_400;

/// The greatest ids that the program keeps, and writes in the one-byte form.
const ID_MAX: u8 = 15;
const ONE_BYTE_ID_MAX: u8 = 14;

/// The header extensions of a map that satisfy a condition, under its ids.
fn limited(map: &ExtensionMap, is_left: impl Fn(ExtensionKind, u8) -> bool) -> ExtensionMap {
    let mut left = ExtensionMap::default();
    for (kind, id) in map.iter().filter(|(kind, id)| is_left(*kind, *id)) {
        left.insert(kind, id).expect("as it was");
    }
    left
}

/// The header extensions that a receiver of described streams has negotiated: those of the
/// publishers, or some of them under other ids.
fn negotiated(leg: LegId, publishers: ExtensionMap) -> ExtensionMap {
    use ExtensionKind::{AbsCaptureTime, AbsSendTime, ColorSpace, DependencyDescriptor, Mid};
    let ids: &[(ExtensionKind, u8)] = match leg.0 % 4 {
        0 => return publishers,
        // The publishers' ids, exchanged.
        1 => &[
            (Mid, 4),
            (AbsSendTime, 3),
            (DependencyDescriptor, 2),
            (AbsCaptureTime, 1),
            (ColorSpace, 15),
        ],
        2 => &[
            (Mid, 9),
            (DependencyDescriptor, 14),
            (AbsCaptureTime, 3),
            (ColorSpace, 4),
        ],
        _ => &[(Mid, 2), (AbsSendTime, 1), (AbsCaptureTime, 5)],
    };
    let mut map = ExtensionMap::default();
    for (kind, id) in ids {
        map.insert(*kind, *id).expect("each id is taken once");
    }
    map
}

/// The family of a history's peers.
#[derive(Clone, Copy)]
enum Family {
    V4,
    V6,
    Both,
}

impl Family {
    fn of(seed: u64) -> Self {
        [Family::V4, Family::V6, Family::Both][seed as usize % 3]
    }

    /// The path of another peer, in this family; half of all are behind each port.
    fn moved(self, path: Path) -> Path {
        let Some(peer) = peer_at(path) else { return path };
        let family = match self {
            Family::V4 => 0,
            Family::V6 => 3,
            Family::Both => peer % 4,
        };
        path_of((peer % 2) << 15 | peer << 2 | family)
    }

    fn step(self, step: Step) -> Step {
        match step {
            Step::Send(send) => Step::Send(Send {
                path: self.moved(send.path),
                ..send
            }),
            Step::Inject(Injection::Datagram(path, bytes)) => {
                Step::Inject(Injection::Datagram(self.moved(path), bytes))
            }
            Step::Write(Update::SetLeg(id, mut leg)) => {
                leg.paths.iter_mut().for_each(|path| *path = self.moved(*path));
                Step::Write(Update::SetLeg(id, leg))
            }
            other => other,
        }
    }
}

/// A step of a room that the switch can send. Each leg has header extensions of its own, without
/// descriptors. A receiver gets all layers, since those of VP8 are in the payload.
fn for_the_switch(step: Step) -> Step {
    use ExtensionKind::{DependencyDescriptor, TransportSequence};
    if let Step::Write(Update::SetLeg(id, mut leg)) = step {
        leg.extensions_in = limited(&leg.extensions_in, |kind, id| {
            kind != DependencyDescriptor && id <= ID_MAX
        });
        leg.extensions_out = limited(&leg.extensions_out, |kind, id| {
            ![DependencyDescriptor, TransportSequence].contains(&kind) && id <= ONE_BYTE_ID_MAX
        });
        return Step::Write(Update::SetLeg(id, leg));
    }
    match plain(step) {
        Step::Write(Update::SetStream(key, mut stream)) => {
            // The switch cannot read VP9 without descriptors.
            let of_vp9 = stream.formats.iter_mut().filter(|format| format.codec == Codec::Vp9);
            of_vp9.for_each(|format| format.codec = Codec::Av1);
            Step::Write(Update::SetStream(key, stream))
        }
        Step::Write(Update::SetReplica(id, mut replica)) => {
            replica.target = Layer::HIGHEST;
            Step::Write(Update::SetReplica(id, replica))
        }
        other => other,
    }
}

/// A step of a room of described streams. A third of the replicas number in each way.
fn described(step: Step) -> Step {
    match step {
        Step::Write(Update::SetReplica(id, mut replica)) => {
            replica.rewriting = match id.0 % 3 {
                0 => Rewriting::Exact,
                1 => Rewriting::LowMemory,
                _ => Rewriting::LowRetransmission,
            };
            plain(Step::Write(Update::SetReplica(id, replica)))
        }
        Step::Write(Update::SetLeg(id, mut leg)) => {
            leg.extensions_out = negotiated(id, leg.extensions_out);
            Step::Write(Update::SetLeg(id, leg))
        }
        other => plain(other),
    }
}

/// How many elements the header extension of a packet has.
fn elements(bytes: &[u8]) -> usize {
    RtpPacket::parse(bytes).map_or(0, |packet| packet.extensions().count())
}

/// Packets that every side takes, each number once: repetitions have histories of their own.
fn usable(steps: Vec<Step>) -> Vec<Step> {
    let mut sent = HashSet::new();
    let mut is_usable = |step: &Step| match step {
        Step::Send(send) if send.bytes.len() > SIZE_MAX || elements(&send.bytes) > ELEMENTS_MAX => false,
        Step::Send(send) if send.bytes.len() < 12 || wire::classify(&send.bytes) != wire::PacketKind::Rtp => true,
        Step::Send(send) => sent.insert((send.bytes[8..12].to_vec(), send.bytes[2..4].to_vec())),
        // The base answers for packets that the switch has sent.
        Step::Inject(Injection::Resend(..)) => false,
        _ => true,
    };
    steps.into_iter().filter(|step| is_usable(step)).collect()
}

/// The SSRC and timestamp of a packet.
fn picture(step: &Step) -> Option<(u32, u32)> {
    let Step::Send(send) = step else { return None };
    let packet = RtpPacket::parse(&send.bytes).ok()?;
    Some((packet.ssrc().0, packet.timestamp().0))
}

/// The pictures that begin with a structure.
fn key_pictures(steps: &[Step]) -> HashSet<(u32, u32)> {
    let has_structure = |step: &&Step| match step {
        Step::Send(send) => RtpPacket::parse(&send.bytes).is_ok_and(|packet| {
            let descriptor = packet.extension(DESCRIPTOR).and_then(|descriptor| descriptor.get(3));
            descriptor.is_some_and(|flags| flags & 0x80 != 0)
        }),
        _ => false,
    };
    steps.iter().filter(has_structure).filter_map(picture).collect()
}

/// Makes a failing history small, in which key pictures are lost only at the end, and whole.
fn shrunk(
    steps: Vec<Step>,
    difference: Difference,
    run: impl Fn(&[Step]) -> Result<Compared, Difference>,
) -> (Vec<Step>, Difference) {
    let keys = key_pictures(&steps);
    let packets = |steps: &[Step]| -> Vec<Step> {
        let is_of_key = |step: &&Step| picture(step).is_some_and(|name| keys.contains(&name));
        steps.iter().filter(is_of_key).cloned().collect()
    };
    let all = packets(&steps);
    shrink(steps, difference, |steps| {
        let left = packets(steps);
        let is_cut = |next: &Step| left.last().is_some_and(|last| picture(last) == picture(next));
        let ends_there = left.last().is_some_and(|last| steps.last() == Some(last));
        let is_whole = all.starts_with(&left) && (ends_there || !all.get(left.len()).is_some_and(is_cut));
        is_whole.then(|| run(steps).err()).flatten()
    })
}

/// A history in which time passes before each packet, so that replicas move to the switch.
pub(crate) fn spread(steps: Vec<Step>, time: Duration) -> Vec<Step> {
    let wait = |step: &Step| matches!(step, Step::Send(_)).then_some(Step::Wait(time));
    steps
        .into_iter()
        .flat_map(|step| wait(&step).into_iter().chain([step]))
        .collect()
}

fn compare(mode: Replication, steps: &[Step], start: Instant) -> Result<Compared, Difference> {
    follow(steps, &mut device(mode, start), start)
}

/// Runs seeds in all three modes, in which the switch is to send so many copies; a failure is made
/// small and printed. `WEIR_SEED=n` replays one seed, and `WEIR_CASES=n` runs so many.
fn run_seeds(seeds: std::ops::Range<u64>, least: u64, make: &dyn Fn(u64) -> Vec<Step>) {
    let from_environment = |name| {
        std::env::var(name)
            .ok()
            .map(|value| value.parse::<u64>().expect("a number"))
    };
    let alone = from_environment("WEIR_SEED").map(|seed| seed..seed + 1);
    let is_alone = alone.is_some();
    let seeds = alone.unwrap_or(seeds);
    let end = from_environment("WEIR_CASES").map_or(seeds.end, |cases| seeds.start + cases);
    let seeds = seeds.start..end;
    for mode in MODES {
        let mut of_mode = Compared::default();
        for seed in seeds.clone() {
            let (start, steps) = (now(), make(seed));
            match compare(mode, &steps, start) {
                Ok(compared) => of_mode.add(&compared),
                Err(difference) => {
                    let whole = difference.to_string();
                    eprintln!("{mode:?}, seed {seed} fails, and is made small");
                    let (steps, left) = shrunk(steps, difference, |steps| compare(mode, steps, start));
                    panic!(
                        "{mode:?}, seed {seed} fails {whole}\n\n{}\n{left}",
                        print_history("What is left of it.", &steps)
                    );
                }
            }
        }
        println!("{mode:?}: {of_mode:?}");
        assert!(of_mode.by_switch >= least || is_alone, "{mode:?}: {of_mode:?}");
    }
}

/// Steps of a history of streams without descriptors.
fn undescribed(seed: u64, steps: usize, shares_paths: bool) -> Vec<Step> {
    let options = Options {
        steps,
        srtp: Srtp::Never,
        network: Network::Rough,
        shares_paths,
    };
    let steps = history(seed, options).into_iter();
    let steps = steps.map(|step| Family::of(seed).step(for_the_switch(step))).collect();
    usable(steps)
}

/// A history of streams without descriptors.
fn undescribed_history(seed: u64, steps: usize, shares_paths: bool) -> Vec<Step> {
    spread(undescribed(seed, steps, shares_paths), INTERVAL)
}

/// The same, in which estimates go on to publishers.
fn history_with_feedback(seed: u64) -> Vec<Step> {
    spread(with_feedback(undescribed(seed, 600, false), seed, now()), INTERVAL)
}

/// A history of streams with descriptors.
fn described_history(seed: u64, steps: usize, shares_paths: bool) -> Vec<Step> {
    let options = Options {
        steps,
        srtp: Srtp::Never,
        network: Network::Described,
        shares_paths,
    };
    let steps = history(seed, options).into_iter();
    let steps = steps.map(|step| Family::of(seed).step(described(step))).collect();
    spread(steps, INTERVAL)
}

#[test]
fn the_switch_and_its_base_send_what_the_model_does() {
    run_seeds(1..25, 2_000, &|seed| undescribed_history(seed, 1_000, false));
}

#[test]
fn the_switch_and_its_base_send_what_the_model_does_where_legs_share_a_path() {
    run_seeds(1..25, 2_000, &|seed| undescribed_history(seed, 1_000, true));
}

#[test]
fn the_switch_sends_estimates_on_as_the_model_does() {
    run_seeds(31..43, 500, &history_with_feedback);
}

#[test]
fn the_switch_selects_and_numbers_described_frames_as_the_model_does() {
    run_seeds(1..25, 10_000, &|seed| described_history(seed, 1_500, false));
}

#[test]
fn the_switch_selects_and_numbers_described_frames_as_the_model_does_where_legs_share_a_path() {
    run_seeds(1..25, 10_000, &|seed| described_history(seed, 1_500, true));
}

/// The same through BMv2, which costs some milliseconds a packet: a short history of each kind and
/// mode, and more of them in `make p4-check`.
#[test]
fn bmv2_and_its_base_send_what_the_model_does() {
    let Some(real) = Real::or_skip() else { return };
    let (seeds, steps) = if is_p4_check() { (1..5, 600) } else { (1..2, 150) };
    for mode in MODES {
        let run =
            |steps: &[Step], start: Instant| follow(steps, &mut SwitchDevice::new(real.at(start), mode, start), start);
        let mut total = Compared::default();
        for seed in seeds.clone() {
            let shares_paths = seed % 2 == 0;
            for steps in [
                undescribed_history(seed, steps, shares_paths),
                described_history(seed, steps, shares_paths),
            ] {
                let compared = run(&steps, now()).unwrap_or_else(|difference| {
                    panic!(
                        "{mode:?}, seed {seed} fails {difference}\n\n{}",
                        print_history("All of it.", &steps)
                    )
                });
                total.add(&compared);
            }
        }
        println!("BMv2, {mode:?}: {total:?}");
        assert!(total.by_switch > 20, "{total:?}");
    }
}
