//! Datagrams and messages that leave media nodes, all of them checked.

use dataplane::{Egress, LegId, Path};
use wire::{PacketKind, RtpPacket};

use super::{ScheduledEvent, Way, World};
use crate::plane::Role;
use crate::stamp::Stamp;
use crate::{Invariant, Violation, machine};

impl World<'_> {
    /// A media node sends a datagram.
    pub(super) fn depart(&mut self, machine: usize, egress: Egress) -> Result<(), Violation> {
        let Egress { leg, path, mut bytes } = egress;
        let to_machine = machine::machine_at(path.remote, self.history.machines);
        if let (Some(leg), PacketKind::Rtp) = (leg, wire::classify(&bytes)) {
            let stamp = self.check_packet(machine, leg, &bytes)?;
            match self.owners.get(&path.remote).copied() {
                Some((receiver, _)) => {
                    if let Some(stamp) = stamp {
                        self.permissions.media(receiver, stamp.source)?;
                        self.digest(receiver as u64 ^ u64::from(stamp.source) << 8 ^ stamp.number << 16);
                    }
                }
                None if to_machine.is_some() => self.summary.crossings += 1,
                None => {
                    let what = format!("media for {}, where no client is", path.remote);
                    return Err(Violation::new(Invariant::Permissions, what));
                }
            }
        }
        self.corrupt(&mut bytes);
        if to_machine.is_some() {
            if self.now < self.trunks_cut_until {
                return Ok(());
            }
            let last = self.links.entry((path.local, Way::Up)).or_insert(self.start);
            let (local, remote) = (path.remote, path.local);
            for at in self.faults.carry(self.now, last, &mut self.rng) {
                let arrival = ScheduledEvent::ToNode(Path { local, remote }, bytes.clone());
                self.queue.put(at, arrival);
            }
            return Ok(());
        }
        let last = self.links.entry((path.remote, Way::Down)).or_insert(self.start);
        for at in self.faults.carry(self.now, last, &mut self.rng) {
            self.queue.put(at, ScheduledEvent::ToClient(path.remote, bytes.clone()));
        }
        Ok(())
    }

    /// Checks a media packet that leaves a media node. Returns its stamp, if it has one.
    fn check_packet(&mut self, machine: usize, leg: LegId, bytes: &[u8]) -> Result<Option<Stamp>, Violation> {
        let packet = RtpPacket::parse(bytes).map_err(|error| Violation::new(Invariant::Numbers, error.to_string()))?;
        let plane = &mut self.node.machines[machine].plane;
        match plane.role(leg, packet.ssrc()) {
            Some((life, Role::Media)) => {
                self.summary.media += 1;
                let begins = plane.take_switched(life, packet.ssrc());
                let (permissions, sessions, node) = (&self.permissions, &self.sessions, &self.node);
                let published_at = |source| {
                    let session = permissions.session_of(source);
                    session.map(|session| node.machine_of(sessions[session].remote_ufrags()))
                };
                let is_relayed = |source| published_at(source) != Some(machine);
                self.ledger.media(life, &packet, begins, is_relayed).map(Some)
            }
            Some((life, Role::Repair(of))) => {
                self.summary.repairs += 1;
                self.ledger.repair(life, &packet, of)
            }
            Some((_, Role::Spent)) | None => {
                let what = format!(
                    "media node {machine} sends SSRC {}, which no replica has",
                    packet.ssrc()
                );
                Err(Violation::new(Invariant::Permissions, what))
            }
        }
    }

    pub(super) fn message_departs(&mut self, ufrag: &str, payload: &[u8]) -> Result<(), Violation> {
        let Some(receiver) = self.sessions.iter().position(|session| session.is_at(ufrag)) else {
            return Ok(());
        };
        self.summary.messages += 1;
        self.permissions.message_sent(receiver, payload)
    }

    fn digest(&mut self, what: u64) {
        let at = (self.now - self.start).as_nanos() as u64;
        let mixed = (self.summary.digest ^ what ^ at.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.summary.digest = mixed ^ mixed >> 29;
    }
}
