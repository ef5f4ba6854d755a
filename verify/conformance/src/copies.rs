//! Compares what a switch and its base send with what the model sends, by bytes.
//!
//! The model is told when a replica moves between the base and the switch, and from which state
//! ([`Handover`]): it releases the replica and resumes it. So its numbers jump where theirs do, and
//! it waits for the same key frames. The timestamps and frame numbers of a replica that the switch
//! has begun at a key frame are the source's and the offsets of that state.
//!
//! After each step the same datagrams were sent, in any order. Two datagrams are the same if their
//! RTP headers, the values of their header extensions and their payloads are equal, with these
//! exceptions:
//!
//! * The elements of the header extension may be in another order and form. CSRCs and padding are
//!   not compared: the switch keeps them.
//! * The time of sending may differ by one unit of 2^-18 seconds. It is not compared if the switch
//!   has a clock of its own.
//! * Of a dependency descriptor the switch changes the frame's number only. The model may also tell
//!   the receiver which decode targets it gets.
//!
//! The switch keeps no record of numbers and frames, so more is allowed for packets that do not
//! arrive in order:
//!
//! * A packet older than another one of its stream may be sent to more or fewer receivers than the
//!   model sends it to. A receiver to which both send it gets the same from both, but for the
//!   marker of a described frame: the switch judges all frames by its present layers.
//! * A packet that arrives again is late, or may be sent again as it was sent before.

mod arrivals;
mod reported;
mod sent_copy;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use dataplane::{Inject, LegId, Path, ReplicaId, ReplicaSnapshot, Update};

use self::arrivals::{Arrival, Arrivals, Order};
use self::reported::Sent;
use self::sent_copy::SentCopy;
use crate::coverage::Coverage;
use crate::device::{Handover, ModelDevice, Ports, SwitchDevice};
use crate::differential::Difference;
use crate::invariants::Invariants;
use crate::peers::Opened;
use crate::rtp::hex;
use crate::text::print_datagram;
use crate::{Datagram, Device, Injection, Observation, Send, Step};

/// The counts of a comparison.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compared {
    /// Datagrams that arrived.
    pub packets: u64,
    /// Datagrams that were sent.
    pub copies: u64,
    /// Those of them that the switch sent.
    pub by_switch: u64,
    /// Of late packets: copies that only the model sent,
    pub missing: u64,
    /// and those that only the switch sent.
    pub extra: u64,
    /// Copies of packets that arrived again.
    pub repeated: u64,
    /// Moves of replicas between base and switch.
    pub moves: u64,
    /// Replicas whose statistics were compared with what was sent.
    pub reported: u64,
}

impl Compared {
    /// Adds those of another history.
    pub fn add(&mut self, other: &Compared) {
        self.packets += other.packets;
        self.copies += other.copies;
        self.by_switch += other.by_switch;
        self.missing += other.missing;
        self.extra += other.extra;
        self.repeated += other.repeated;
        self.moves += other.moves;
        self.reported += other.reported;
    }
}

/// Applies all steps to a switch with its base and to the model, and compares after each.
///
/// Errors: the first difference, or the first promise that was broken.
pub fn follow<S: Ports>(steps: &[Step], device: &mut SwitchDevice<S>, start: Instant) -> Result<Compared, Difference> {
    let mut pair = Pair {
        model: ModelDevice::new(start),
        arrivals: Arrivals::default(),
        invariants: Invariants::default(),
        replicas: BTreeMap::new(),
        began: BTreeMap::new(),
        has_model_time: device.stamps_virtual_time(),
        sent: Sent::default(),
        compared: Compared::default(),
        coverage: Coverage::new(device.plane()),
    };
    let mut now = start;
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::Wait(time) => {
                pair.coverage.note(step, &Ok(()));
                now += *time;
            }
            step => pair
                .step(now, step, device)
                .map_err(|what| Difference { step: at, what })?,
        }
    }
    pair.compared.by_switch = device.copies().0;
    let last = steps.len().saturating_sub(1);
    pair.reports(now, device)
        .map_err(|what| Difference { step: last, what })?;
    pair.coverage.finish();
    Ok(pair.compared)
}

/// The model beside the device, and what has arrived at both.
struct Pair {
    model: ModelDevice,
    arrivals: Arrivals,
    invariants: Invariants,
    /// The leg and SSRC of each replica,
    replicas: BTreeMap<ReplicaId, (LegId, u32)>,
    /// and the states of those that the switch has begun at a key frame.
    began: BTreeMap<(LegId, u32), ReplicaSnapshot>,
    /// Whether the time in packets is the model's.
    has_model_time: bool,
    sent: Sent,
    compared: Compared,
    coverage: Coverage,
}

impl Pair {
    fn step<S: Ports>(&mut self, now: Instant, step: &Step, device: &mut SwitchDevice<S>) -> Result<(), String> {
        let written = apply(device, now, step);
        self.coverage.note(step, &written);
        let mut answer = Ok(());
        let mut moved = Vec::new();
        for told in device.moves() {
            match told {
                Handover::Base(at, injection) => {
                    if let Injection::Resume(replica, _) = &injection {
                        moved.push((*replica, None));
                    }
                    self.coverage.note(&Step::Inject(injection.clone()), &Ok(()));
                    self.model.inject(at, injection.as_inject());
                }
                Handover::Switch(at, replica, from) => {
                    moved.push((replica, Some(from)));
                    self.model.inject(at, Inject::Resume { replica, from });
                }
                Handover::Step => {
                    moved.drain(..).for_each(|(replica, from)| self.moved(replica, from));
                    answer = apply(&mut self.model, now, step);
                }
            }
        }
        if answer != written {
            return Err(format!("the write gave {written:?}, not {answer:?}"));
        }
        let (expected, got) = (self.model.sent(), device.sent());
        let of_model = std::iter::from_fn(|| self.model.poll()).collect();
        let of_device = std::iter::from_fn(|| device.poll()).collect();
        if let Some(difference) = reported::difference(of_model, of_device, now) {
            return Err(difference);
        }
        let mut arrival = match step {
            Step::Send(send) => self.arrivals.arrived(send),
            Step::Write(update) if written.is_ok() => {
                self.arrivals.legs.apply(update);
                self.note(update);
                Arrival::new()
            }
            _ => Arrival::new(),
        };
        self.compared.packets += u64::from(matches!(step, Step::Send(_)));
        self.compared.copies += got.len() as u64;
        for datagram in &got {
            if let Some(leg) = self.arrivals.legs.of_departure(datagram.path, &datagram.bytes) {
                self.sent.add(leg, datagram);
            }
        }
        let first = self.compare(&mut arrival, expected, &got)?;
        self.arrivals.keep(arrival);
        let mut observed: BTreeMap<Path, Vec<_>> = BTreeMap::new();
        for datagram in first {
            let opened = Opened::in_clear(&datagram.bytes);
            observed.entry(datagram.path).or_default().push(Ok(opened));
        }
        let observation = Observation {
            written,
            got: observed,
            events: Vec::new(),
            counters: Default::default(),
        };
        self.invariants.observe(step, &observation)?;
        moved.into_iter().for_each(|(replica, from)| self.moved(replica, from));
        Ok(())
    }

    fn note(&mut self, update: &Update) {
        match update {
            Update::SetReplica(id, replica) => {
                let name = (replica.leg, replica.ssrc.0);
                if self.replicas.insert(*id, name).is_none() {
                    self.sent.begin(name.0, name.1);
                }
            }
            Update::RemoveReplica(id) => drop(self.replicas.remove(id)),
            Update::RemoveLeg(id) => self.replicas.retain(|_, (leg, _)| leg != id),
            _ => {}
        }
    }

    /// Compares the statistics of replicas with what was sent.
    fn reports<S: Ports>(&mut self, now: Instant, device: &mut SwitchDevice<S>) -> Result<(), String> {
        let legs: BTreeSet<LegId> = self.replicas.values().map(|(leg, _)| *leg).collect();
        // They are read from the switch.
        device.counters();
        for leg in legs {
            device.inject(now, Inject::Report { leg });
        }
        let events: Vec<_> = std::iter::from_fn(|| device.poll()).collect();
        self.compared.reported = reported::check(&events, &self.sent, &self.replicas)?;
        Ok(())
    }

    /// A replica continues on the switch in a state, or in the base.
    fn moved(&mut self, replica: ReplicaId, from: Option<ReplicaSnapshot>) {
        self.invariants.moved(replica);
        self.compared.moves += 1;
        let Some(name) = self.replicas.get(&replica) else {
            return;
        };
        match from.filter(|from| from.source.is_none()) {
            Some(from) => drop(self.began.insert(*name, from)),
            None => drop(self.began.remove(name)),
        }
    }

    /// The model's copy of a packet, with the offsets of a replica that the switch has begun.
    fn expected(&self, datagram: &Datagram, arrival: &Arrival) -> SentCopy {
        let mut copy = self.copy(datagram);
        let leg = self.arrivals.legs.of_departure(datagram.path, &datagram.bytes);
        let began = leg
            .zip(copy.header)
            .and_then(|(leg, header)| self.began.get(&(leg, header.4)));
        let (Some(from), Some(header)) = (began, &mut copy.header) else {
            return copy;
        };
        header.3 = arrival.timestamp.wrapping_add(from.timestamp_offset);
        let arrived = arrival.descriptor.as_ref().and_then(|descriptor| descriptor.get(1..3));
        let number = copy.descriptor.as_mut().and_then(|descriptor| descriptor.get_mut(1..3));
        if let (Some(arrived), Some(number)) = (arrived, number) {
            let moved = u16::from_be_bytes([arrived[0], arrived[1]]).wrapping_add(from.frame_offset);
            number.copy_from_slice(&moved.to_be_bytes());
        }
        copy
    }

    /// Pairs what was sent. Returns the datagrams that are no repetition.
    fn compare<'a>(
        &mut self,
        arrival: &mut Arrival,
        expected: Vec<Datagram>,
        got: &'a [Datagram],
    ) -> Result<Vec<&'a Datagram>, String> {
        let is_marked = arrival.order == Order::Newest || arrival.descriptor.is_none();
        let unmarked = |mut copy: SentCopy| {
            copy.header.iter_mut().for_each(|header| header.0 &= is_marked);
            copy
        };
        let mut expected: Vec<(Datagram, SentCopy)> = expected
            .into_iter()
            .map(|datagram| {
                let copy = unmarked(self.expected(&datagram, arrival));
                (datagram, copy)
            })
            .collect();
        arrival
            .sent
            .iter_mut()
            .for_each(|(_, copy)| *copy = unmarked(copy.clone()));
        let mut first = Vec::new();
        for datagram in got {
            let copy = unmarked(self.copy(datagram));
            let is_same = |path: Path, other: &SentCopy, is_timed| {
                path == datagram.path && copy.is_alike(other, &arrival.descriptor, is_timed)
            };
            let is_expected = |(one, other): &(Datagram, SentCopy)| is_same(one.path, other, self.has_model_time);
            let is_repeated = |(path, other): &(Path, SentCopy)| is_same(*path, other, false);
            if let Some(at) = expected.iter().position(is_expected) {
                expected.swap_remove(at);
                first.push(datagram);
            } else if let Some(at) = arrival.sent.iter().position(is_repeated) {
                self.compared.repeated += 1;
                if !arrival.sent_by_device.contains(&at) {
                    first.push(datagram);
                }
            } else {
                let at_same = expected
                    .iter()
                    .find(|(one, other)| one.path == datagram.path && other.names(&copy));
                if arrival.order == Order::Newest || at_same.is_some() {
                    let text = difference(at_same.map(|(one, _)| one), datagram, arrival.order);
                    let headers: Vec<_> = arrival.sent.iter().map(|(_, copy)| copy.header).collect();
                    return Err(format!("{text}\nsent of it so far: {headers:?}"));
                }
                self.compared.extra += 1;
                first.push(datagram);
            }
            arrival.sent.push((datagram.path, copy));
            arrival.sent_by_device.insert(arrival.sent.len() - 1);
        }
        match expected.first() {
            Some((datagram, _)) if arrival.order == Order::Newest => Err(format!(
                "nothing to {} where the model sends\n            {}\n            {}",
                datagram.path.remote,
                print_datagram(&datagram.bytes),
                hex(&datagram.bytes)
            )),
            _ => {
                self.compared.missing += expected.len() as u64;
                let unsent = expected.into_iter().map(|(datagram, copy)| (datagram.path, copy));
                arrival.sent.extend(unsent);
                Ok(first)
            }
        }
    }

    fn copy(&self, datagram: &Datagram) -> SentCopy {
        let leg = self.arrivals.legs.of_departure(datagram.path, &datagram.bytes);
        let map = leg.and_then(|leg| self.arrivals.legs.entry(leg));
        SentCopy::of(&datagram.bytes, map.map(|leg| &leg.extensions_out))
    }
}

fn apply(device: &mut dyn Device, now: Instant, step: &Step) -> Result<(), dataplane::WriteError> {
    match step {
        Step::Wait(_) => {}
        Step::Write(update) => return device.write(now, update.clone()),
        Step::Send(send) => device.packet(now, send.path, &send.bytes),
        Step::Receive(Send { path, bytes, .. }) => {
            let (at, path) = (now, *path);
            device.inject(now, Inject::Receive { at, path, bytes });
        }
        Step::Inject(injection) => device.inject(now, injection.as_inject()),
    }
    Ok(())
}

fn difference(expected: Option<&Datagram>, got: &Datagram, order: Order) -> String {
    let show = |datagram: &Datagram| {
        format!(
            "{}\n            {}",
            print_datagram(&datagram.bytes),
            hex(&datagram.bytes)
        )
    };
    format!(
        "a packet ({order:?}) is sent to {} as\n            {}\nand not     {}",
        got.path.remote,
        show(got),
        expected.map_or("at all".into(), show)
    )
}
