//! The relays that were offered, and which of them the kernel has.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::{IpAddr, SocketAddr};

use dataplane::{Reason, Refused, Relay};

use super::plan::plan;
use super::slots::Slots;
use crate::layout::relay as layout;
use crate::layout::relay::Traffic;

/// The program's tables.
pub(super) trait Tables {
    /// Adds or replaces a relay. The tables choose its version.
    fn insert(&mut self, at: SocketAddr, relay: &layout::Relay) -> io::Result<()>;
    /// Removes one, which has this slot.
    fn remove(&mut self, at: SocketAddr, slot: u32) -> io::Result<()>;
    /// The counts of a slot.
    fn traffic(&self, slot: u32) -> io::Result<Traffic>;
    /// Whether this machine has an address.
    fn is_ours(&self, ip: IpAddr) -> bool;
    /// Counts from zero there.
    fn clear(&mut self, slot: u32) -> io::Result<()>;
}

/// Every local port that is in the base's table, and the relays in the kernel, as far as it can
/// take them.
///
/// A relay is in the kernel only while the port it sends from is in the base's table. Otherwise the
/// base counts its packets as not ready, and so they are left to it.
pub(super) struct Table<T> {
    pub(super) tables: T,
    ports: HashMap<SocketAddr, Port>,
    /// By the port they send from: the relays that are to be in the kernel.
    leaving: HashMap<SocketAddr, HashSet<SocketAddr>>,
    slots: Slots,
    /// Found in the kernel, and not offered since.
    unconfirmed: HashSet<SocketAddr>,
    /// Ports that found relays send from: treated as local until the sweep.
    promised: HashSet<SocketAddr>,
    /// The final counts of removed relays, until they are read.
    last_words: HashMap<SocketAddr, Traffic>,
}

#[derive(Default)]
struct Port {
    /// Kept until the port is removed, so that counting continues over replacements.
    slot: Option<u32>,
    /// The entry that the kernel should have.
    wanted: Option<layout::Relay>,
    is_in_kernel: bool,
}

impl<T: Tables> Table<T> {
    /// Around tables with so many slots, in which these relays were found.
    pub(super) fn new(tables: T, slots: u32, found: Vec<(SocketAddr, layout::Relay)>) -> Self {
        let used: Vec<u32> = found.iter().map(|(_, relay)| relay.slot).collect();
        let mut table = Table {
            tables,
            ports: HashMap::new(),
            leaving: HashMap::new(),
            slots: Slots::new(slots, &used),
            unconfirmed: HashSet::new(),
            promised: HashSet::new(),
            last_words: HashMap::new(),
        };
        for (at, relay) in found {
            table.adopt(at, relay);
        }
        table
    }

    fn adopt(&mut self, at: SocketAddr, relay: layout::Relay) {
        let port = Port {
            slot: Some(relay.slot),
            wanted: Some(layout::Relay { version: 0, ..relay }),
            is_in_kernel: true,
        };
        self.ports.insert(at, port);
        self.leaving.entry(relay.from.into()).or_default().insert(at);
        self.unconfirmed.insert(at);
        self.promised.insert(relay.from.into());
    }

    /// How many relays the kernel has.
    pub(super) fn len(&self) -> usize {
        self.ports.values().filter(|port| port.is_in_kernel).count()
    }

    /// How many were found and not offered since.
    pub(super) fn unconfirmed(&self) -> usize {
        self.unconfirmed.len()
    }

    /// Adds or replaces a relay.
    pub(super) fn set(&mut self, at: SocketAddr, relay: &Relay) -> Result<(), Refused> {
        self.unconfirmed.remove(&at);
        self.last_words.remove(&at);
        let planned = plan(at, relay, |ip| self.tables.is_ours(ip)).map_err(Refused::Unsupported);
        self.ports.entry(at).or_default();
        let answer = planned.and_then(|planned| self.want(at, planned));
        if answer.is_err() {
            self.want_nothing(at);
        }
        self.look_again_at_leaving(at);
        answer
    }

    /// Removes a relay; what it did is kept until it is asked for.
    pub(super) fn remove(&mut self, at: SocketAddr) {
        self.want_nothing(at);
        self.unconfirmed.remove(&at);
        self.promised.remove(&at);
        if let Some(slot) = self.ports.remove(&at).and_then(|port| port.slot) {
            if let Ok(traffic) = self.tables.traffic(slot) {
                self.last_words.insert(at, traffic);
            }
            self.slots.give_back(slot);
        }
        self.look_again_at_leaving(at);
    }

    /// The counts of a relay; those of a removed relay can be read once.
    pub(super) fn traffic(&mut self, at: SocketAddr) -> Option<Traffic> {
        match self.ports.get(&at) {
            Some(port) => self.tables.traffic(port.slot?).ok(),
            None => self.last_words.remove(&at),
        }
    }

    /// Removes relays that were found and not offered since, which have no owner.
    pub(super) fn sweep(&mut self) {
        for at in std::mem::take(&mut self.unconfirmed) {
            self.remove(at);
            self.last_words.remove(&at);
        }
        for at in std::mem::take(&mut self.promised) {
            self.look_again_at_leaving(at);
        }
    }

    fn want(&mut self, at: SocketAddr, planned: layout::Relay) -> Result<(), Refused> {
        let slot = self.slot(at)?;
        let wanted = layout::Relay { slot, ..planned };
        let port = self.ports.get_mut(&at).expect("it was put there");
        if port.wanted == Some(wanted) && port.is_in_kernel {
            return Ok(());
        }
        // Replaced in place where it stays in the kernel, so that no packet meets neither value.
        let before = port.wanted.replace(wanted);
        self.forget_leaving(at, before);
        self.leaving.entry(wanted.from.into()).or_default().insert(at);
        if self.has(wanted.from.into()) {
            self.tables.insert(at, &wanted).map_err(refused)?;
            self.port(at).is_in_kernel = true;
        } else {
            self.take_out(at)?;
        }
        Ok(())
    }

    fn want_nothing(&mut self, at: SocketAddr) {
        let Some(port) = self.ports.get_mut(&at) else {
            return;
        };
        let before = port.wanted.take();
        // An error is ignored, because there would be nothing to undo.
        let _ = self.take_out(at);
        self.forget_leaving(at, before);
    }

    fn take_out(&mut self, at: SocketAddr) -> Result<(), Refused> {
        let port = self.port(at);
        if std::mem::take(&mut port.is_in_kernel) {
            let slot = port.slot.expect("an entry in the kernel has a slot");
            self.tables.remove(at, slot).map_err(refused)?;
        }
        Ok(())
    }

    /// A port was added or removed: relays that send from it are added to the kernel or removed
    /// from it.
    fn look_again_at_leaving(&mut self, from: SocketAddr) {
        let is_ours = self.has(from);
        let leaving: Vec<_> = self.leaving.get(&from).into_iter().flatten().copied().collect();
        for at in leaving {
            let Port {
                wanted, is_in_kernel, ..
            } = *self.port(at);
            let Some(wanted) = wanted else { continue };
            if is_ours && !is_in_kernel {
                self.port(at).is_in_kernel = self.tables.insert(at, &wanted).is_ok();
            } else if !is_ours {
                let _ = self.take_out(at);
            }
        }
    }

    fn forget_leaving(&mut self, at: SocketAddr, before: Option<layout::Relay>) {
        let Some(from) = before.map(|before| SocketAddr::from(before.from)) else {
            return;
        };
        if let Some(leaving) = self.leaving.get_mut(&from) {
            leaving.remove(&at);
            if leaving.is_empty() {
                self.leaving.remove(&from);
            }
        }
    }

    fn slot(&mut self, at: SocketAddr) -> Result<u32, Refused> {
        if let Some(slot) = self.port(at).slot {
            return Ok(slot);
        }
        let slot = self.slots.take().ok_or(Refused::Full)?;
        if let Err(error) = self.tables.clear(slot) {
            self.slots.give_back(slot);
            return Err(refused(error));
        }
        self.port(at).slot = Some(slot);
        Ok(slot)
    }

    fn has(&self, port: SocketAddr) -> bool {
        self.ports.contains_key(&port) || self.promised.contains(&port)
    }

    fn port(&mut self, at: SocketAddr) -> &mut Port {
        self.ports.get_mut(&at).expect("only of ports that are there")
    }
}

/// The reason for a refusal when the kernel does not take an entry.
fn refused(error: io::Error) -> Refused {
    match error.raw_os_error() {
        Some(libc::E2BIG | libc::ENOSPC | libc::ENOMEM) => Refused::Full,
        Some(libc::EOPNOTSUPP) => Refused::Unsupported(Reason::Table),
        _ => Refused::Gone,
    }
}
