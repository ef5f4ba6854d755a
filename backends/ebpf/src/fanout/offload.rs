//! The contract of an offload for replicas, kept.

use std::sync::Arc;
use std::time::Instant;

use dataplane::limits::PROBE_PACKETS_MAX;
use dataplane::{
    Answer, Candidate, Counter, Counters, Event, LegId, Reason, Refused, ReplicaId, ReplicaOffload, ReplicaSnapshot,
    ReplicaStatistics, Statistics, StreamKey, StreamStatistics, Update, WriteId,
};

use super::{Fanout, handover, layout};

/// The most that one probe sends.
const PROBE_BYTES_MAX: u32 = 65_536;

impl ReplicaOffload for Fanout {
    fn offer(&mut self, now: Instant, update: &Update) -> Result<(), Refused> {
        self.sweep(now);
        match update {
            Update::SetLeg(id, leg) => {
                let answer = self.table.set_leg(now, *id, leg.clone());
                self.nudge(*id);
                return answer;
            }
            Update::SetStream(key, stream) => return self.table.set_stream(now, *key, stream.clone()),
            Update::SetReplica(id, replica) => return self.table.set_replica(now, *id, replica.clone()),
            Update::RemoveLeg(id) => {
                self.log.forget(*id);
                self.table.remove_leg(now, *id);
            }
            Update::RemoveStream(key) => self.table.remove_stream(now, *key),
            Update::RemoveReplica(id) => self.table.remove_replica(now, *id),
            Update::RemoveRelay(_) => {}
            // Nothing waits in the kernel: a pace is the base's. So are the counts of its packets.
            Update::SetPace(_, None) | Update::SetCopied(..) => {}
            Update::SetPace(_, Some(_)) | Update::SetFeedback(..) | Update::SetRelay(..) => {
                return Err(Refused::Unsupported(Reason::Table));
            }
        }
        Ok(())
    }

    fn poll(&mut self) -> Option<Event> {
        if let Some(event) = self.wanted.pop_front() {
            return Some(event);
        }
        if self.table.sweeps_at().is_some() {
            self.sweep(self.clock.now());
        }
        self.watch();
        self.table.look_for_room(self.clock.now());
        while let Some(note) = self.table.kernel.next_note() {
            if let Some(event) = self.read_note(note) {
                return Some(event);
            }
        }
        self.log.next(&mut self.table, &self.clock)
    }

    fn counters(&mut self) -> Counters {
        let counts = self.table.kernel.counts();
        let mut counters = Counters::default();
        for (at, counter) in COUNTERS {
            counters[counter] += counts[at as usize];
        }
        counters[Counter::NoRetransmission] += self.not_resent;
        counters
    }

    fn sends(&self, replica: ReplicaId) -> bool {
        self.table.sends(replica)
    }

    fn snapshot(&self, id: ReplicaId) -> Option<ReplicaSnapshot> {
        self.table.snapshot(id)
    }

    fn next_candidate(&mut self) -> Option<Candidate> {
        let replica = self.table.next_candidate()?;
        Some(Candidate {
            replica,
            at_key_frame: false,
        })
    }

    fn take_over(
        &mut self,
        _write: WriteId,
        replica: ReplicaId,
        from: Option<ReplicaSnapshot>,
        transport_sequence: u16,
    ) -> Answer {
        let now = self.clock.now();
        self.table.take_over(now, replica, from, transport_sequence).into()
    }

    fn nack(&mut self, _now: Instant, replica: ReplicaId, sequences: &[u16]) {
        self.not_resent += sequences.len() as u64;
        if let Some((stream, sequences)) = self.table.nack(replica, sequences) {
            self.wanted.push_back(Event::NackUpstream { stream, sequences });
        }
    }

    fn probe(&mut self, leg: LegId, probe: u32, rate: u64, bytes: u32, packets: u32) -> bool {
        let burst = layout::Probe {
            began: 0,
            rate: u32::try_from(rate / 8_000).unwrap_or(u32::MAX).max(1),
            packets: packets.min(PROBE_PACKETS_MAX),
            bytes: bytes.min(PROBE_BYTES_MAX),
            sent: 0,
        };
        let begun = self.table.probe(leg, burst);
        if begun {
            self.log.probes(leg, probe);
        }
        begun
    }

    fn next_stamped(&mut self) -> Option<LegId> {
        self.table.counts.next_new()
    }

    fn replica_statistics(&self, id: ReplicaId) -> Option<ReplicaStatistics> {
        let earlier = self.table.sent_before(id)?;
        let Some((_, cell)) = self.table.replica(id) else {
            return Some(earlier);
        };
        let source = cell.progress.source.checked_sub(1);
        let here = ReplicaStatistics {
            source: source.and_then(|state| self.table.stream_of(state)),
            timestamp_offset: cell.progress.timestamp_offset,
            ..handover::counts(&cell.progress)
        };
        Some(here.with_counts_of(&earlier))
    }

    fn name(&self) -> &'static str {
        "kernel"
    }

    fn statistics(&self) -> Vec<Arc<dyn Statistics>> {
        vec![Arc::new(self.copies_at())]
    }

    /// Without jitter, which needs arrival times.
    fn stream_statistics(&self, key: StreamKey) -> Option<StreamStatistics> {
        let progress = self.table.stream(key)?.progress;
        Some(StreamStatistics {
            packets: progress.packets,
            octets: progress.octets,
            first: progress.first,
            highest: progress.newest,
            jitter: 0,
        })
    }
}

/// The program's counts, by the contract's names.
const COUNTERS: [(u32, Counter); 25] = [
    (layout::FAN_RECEIVED, Counter::Received),
    (layout::FAN_FORWARDED, Counter::Forwarded),
    (layout::FAN_RESENT, Counter::Resent),
    (layout::FAN_MALFORMED, Counter::Malformed),
    (layout::FAN_OVERSIZED, Counter::Oversized),
    (layout::FAN_DUPLICATE, Counter::Duplicate),
    (layout::FAN_TOO_LATE, Counter::TooLate),
    (layout::FAN_UNKNOWN_FORMAT, Counter::UnknownFormat),
    (layout::FAN_PADDING_ONLY, Counter::PaddingOnly),
    (layout::FAN_NO_REPLICA, Counter::NoReplica),
    (layout::FAN_NOT_SELECTED, Counter::NotSelected),
    (layout::FAN_PAUSED, Counter::Paused),
    (layout::FAN_AWAITING_KEY_FRAME, Counter::AwaitingKeyFrame),
    (layout::FAN_BEFORE_SWITCH, Counter::BeforeSwitch),
    (layout::FAN_NOT_NEGOTIATED, Counter::NotNegotiated),
    (layout::FAN_NOT_READY, Counter::NotReady),
    (layout::FAN_OUTSIDE_TARGET, Counter::OutsideTarget),
    (layout::FAN_UNDECODABLE, Counter::Undecodable),
    (layout::FAN_SEND_FAILED, Counter::SendFailed),
    (layout::FAN_MERGED, Counter::SendFailed),
    (layout::FAN_REPLICA_OVERSIZED, Counter::ReplicaOversized),
    (layout::FAN_LOG_FULL, Counter::PuntQueueFull),
    (layout::FAN_LEFT, Counter::Forwarded),
    (layout::FAN_LEFT_AGAIN, Counter::Resent),
    (layout::FAN_PROBED, Counter::Probed),
];
