//! Commands of the control handle.

use std::time::Instant;

use dataplane::{Protection, ReplicaId, ReplicaSnapshot};

use crate::channel::{Report, ShardCommand};
use crate::shard::Shard;

/// How many commands are applied before packets are processed.
const COMMANDS_PER_TURN: usize = 256;

impl Shard {
    /// Applies commands of the control handle; returns how many.
    pub fn take_commands(&mut self, now: Instant) -> usize {
        for taken in 0..COMMANDS_PER_TURN {
            let Ok(command) = self.commands.pop() else {
                return taken;
            };
            self.apply(now, command);
        }
        COMMANDS_PER_TURN
    }

    fn apply(&mut self, now: Instant, command: ShardCommand) {
        match command {
            ShardCommand::SetLeg(id, leg) => {
                self.tables.set_leg(id, *leg);
                self.queue_early(now, id);
            }
            ShardCommand::RemoveLeg(id) => self.tables.remove_leg(&mut self.queues, id),
            ShardCommand::Route(path, shard) => self.tables.set_route(path, shard),
            ShardCommand::SetStream(key, generation, stream) => self.tables.set_stream(key, generation, *stream),
            ShardCommand::SetCopied(key, is_copied) => {
                let stream = self.tables.stream_slot(key);
                self.tables.streams[stream].is_copied = is_copied;
            }
            ShardCommand::RemoveStream(key) => self.tables.remove_stream(key),
            ShardCommand::Forget(generation) => self.tables.forget(&mut self.queues, generation),
            ShardCommand::SetReplica(id, replica, source) => {
                self.tables.set_replica(&mut self.queues, id, *replica, source)
            }
            ShardCommand::RemoveReplica(id) => self.tables.remove_replica(&mut self.queues, id),
            ShardCommand::Listen(key, shard) => {
                let stream = self.tables.stream_slot(key);
                self.tables.streams[stream].listeners.add(shard);
            }
            ShardCommand::SetPace(leg, pace) => self.set_pace(now, leg, pace),
            ShardCommand::Probe(leg, probe) => self.probe(now, leg, probe),
            ShardCommand::Receive(path, at, bytes) => self.receive_late(now, at, path, &bytes),
            ShardCommand::Datagram(path, bytes) => self.egress.runs.push_loose(path, &bytes),
            ShardCommand::Rtcp(leg, bytes) => self.send_rtcp(leg, &bytes),
            ShardCommand::Resend(replica, sequences) => self.resend(now, replica, &sequences),
            ShardCommand::Resume(replica, from) => self.resume(now, replica, from),
            ShardCommand::Release(replica, at_key_frame) => self.release(replica, at_key_frame),
            ShardCommand::Fill(replica, fill) => self.fill(now, replica, &fill),
            ShardCommand::ReportStatistics(leg) => self.report_statistics(now, leg),
        }
    }

    /// Continues a replica where another device stopped.
    fn resume(&mut self, now: Instant, id: ReplicaId, from: ReplicaSnapshot) {
        let Some(slot) = self.tables.replica_slots.get(&id) else {
            return;
        };
        let replica = &mut self.tables.replicas[*slot];
        if self.tables.legs[replica.leg].entry.protection == Protection::Clear {
            replica.prepare_resume(now, from);
        }
    }

    /// Releases a replica to another device, and reports its snapshot.
    fn release(&mut self, id: ReplicaId, at_key_frame: bool) {
        let Some(slot) = self.tables.replica_slots.get(&id) else {
            return;
        };
        let replica = &mut self.tables.replicas[*slot];
        let leg = &self.tables.legs[replica.leg];
        let is_clear = leg.entry.protection == Protection::Clear;
        let snapshot = match at_key_frame {
            true => replica.snapshot_at_key_frame(),
            false => replica.snapshot(),
        };
        let from = snapshot.filter(|_| is_clear);
        let released = Box::new((id, from, leg.transport_sequence));
        // The replica continues here if the report is lost.
        if self.reports.send(&self.counters, Report::Released(released)) && from.is_some() {
            replica.release();
        }
    }
}
