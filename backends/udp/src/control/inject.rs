//! Commands made of the agent's injections.

use dataplane::{Counter, Inject, ReplicaId};
use pacing::Probe;

use super::Control;
use crate::channel::{Fill, ShardCommand};

impl Control {
    /// Passes on an injection of the agent. One that finds no room is counted and lost.
    pub fn inject(&mut self, what: Inject<'_>) {
        let (shard, command) = match what {
            Inject::Datagram { path, bytes } => {
                // Any shard could send it. That at which the path's datagrams arrive is awake.
                let heard_by = || self.affinity.of(&path);
                let shard = self.index.owner_of_path(&path).or_else(heard_by).unwrap_or(0);
                (shard, ShardCommand::Datagram(path, bytes.into()))
            }
            Inject::Receive { at, path, bytes } => {
                // Any shard can count one that is of no leg.
                let shard = self.index.owner_of_path(&path).unwrap_or(0);
                (shard, ShardCommand::Receive(path, at, bytes.into()))
            }
            Inject::Rtcp { leg, bytes } => match self.index.owner_of_leg(leg) {
                Some(owner) => (owner, ShardCommand::Rtcp(leg, bytes.into())),
                None => return self.counters.count(Counter::NotReady),
            },
            Inject::Resend { replica, sequences } => match self.index.owner_of_replica(replica) {
                Some(owner) => (owner, ShardCommand::Resend(replica, sequences.into())),
                None => {
                    self.counters[Counter::NotInCache] += sequences.len() as u64;
                    return;
                }
            },
            Inject::Probe {
                bytes: 0, packets: 0, ..
            } => return,
            Inject::Probe {
                leg,
                probe,
                rate,
                bytes,
                packets,
            } => match self.index.owner_of_leg(leg) {
                Some(owner) => {
                    let id = probe;
                    let probe = Probe {
                        id,
                        rate,
                        bytes,
                        packets,
                    };
                    (owner, ShardCommand::Probe(leg, probe))
                }
                None => return self.counters.count(Counter::NotReady),
            },
            Inject::Report { leg } => match self.index.owner_of_leg(leg) {
                Some(owner) => (owner, ShardCommand::ReportStatistics(leg)),
                None => return,
            },
            Inject::Fill {
                replica,
                payload_type,
                clock_rate,
                payload,
            } => match self.index.owner_of_replica(replica) {
                Some(owner) => {
                    let fill = Fill {
                        payload_type,
                        clock_rate,
                        payload: payload.into(),
                    };
                    (owner, ShardCommand::Fill(replica, Box::new(fill)))
                }
                None => return,
            },
            // Losing one of these would send numbers twice: they wait for room.
            Inject::Resume { replica, from } => {
                return self.send_to_owner(replica, ShardCommand::Resume(replica, from));
            }
            Inject::Release { replica, at_key_frame } => {
                return self.send_to_owner(replica, ShardCommand::Release(replica, at_key_frame));
            }
            Inject::ReportRelay { .. } => return,
        };
        let shard = &mut self.shards[shard];
        let is_placed = match command.may_wait() {
            true => shard.try_post(command),
            false => shard.try_send(command),
        };
        if !is_placed {
            self.counters.count(Counter::WorkerQueueFull);
        }
    }

    fn send_to_owner(&mut self, replica: ReplicaId, command: ShardCommand) {
        if let Some(owner) = self.index.owner_of_replica(replica) {
            self.shards[owner].send(command);
        }
    }
}
