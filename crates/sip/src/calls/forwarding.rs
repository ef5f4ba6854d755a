//! The data plane's view of a call: ports, and entries after a last check. No stream is sent to a
//! refused address, or comes back to its own port.
//!
//! Descriptions are checked when they arrive. Addresses are also learned and resumed, and ports of
//! two calls may name each other, so that a packet would go round for ever.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use southbound::relay::{Entry, Hop, RelayCommand};

use super::Calls;
use crate::call::{Call, CallName, Component};
use crate::counters::Counter;
use crate::destinations::Machine;
use crate::limits::OWN_HOPS_MAX;
use crate::messages::Output;

type Entries = BTreeMap<SocketAddr, Entry>;

impl Calls {
    /// The machine has these addresses now.
    pub(crate) fn set_machine(&mut self, machine: Machine) {
        self.config.destinations.machine = machine;
    }

    /// Whether a datagram with this source is no proxy's, but media: it is from a port of a call or
    /// from another socket of this program. It is counted.
    pub(crate) fn is_media(&mut self, from: SocketAddr) -> bool {
        let destinations = &self.config.destinations;
        let port = self.ports.own(from, &destinations.machine);
        let is_ours = self.owners.contains_key(&port) || destinations.is_service(from);
        if is_ours {
            self.counters.count(Counter::ControlFromMedia);
        }
        is_ours
    }

    /// Sends the changes of a call to the data plane.
    pub(super) fn forward(&mut self, name: &CallName, call: &mut Call, out: &mut Vec<Output>) {
        let open: BTreeSet<SocketAddr> = call.dialogues.iter().flat_map(|dialogue| dialogue.locals()).collect();
        let entries = self.permitted_entries(call);
        out.extend(
            call.installed
                .keys()
                .filter(|at| !entries.contains_key(at))
                .map(|at| Output::Command(RelayCommand::Silence(*at))),
        );
        for at in call.open.difference(&open) {
            self.owners.remove(at);
            out.push(Output::Command(RelayCommand::Close(*at)));
        }
        for at in open.difference(&call.open) {
            let before = self.owners.insert(*at, name.clone());
            assert!(before.is_none(), "a port belongs to one call");
            out.push(Output::Command(RelayCommand::Open(*at)));
        }
        let changed = entries
            .values()
            .filter(|entry| call.installed.get(&entry.at) != Some(entry));
        let changed = changed.cloned().map(Box::new);
        out.extend(changed.map(|entry| Output::Command(RelayCommand::Install(entry))));
        call.open = open;
        call.installed = entries;
    }

    /// The entries of a call without the hops that media must not take. The call is not among the
    /// others now.
    pub(super) fn permitted_entries(&mut self, call: &Call) -> Entries {
        let mut entries: Entries = call.entries().into_iter().map(|entry| (entry.at, entry)).collect();
        let places: Vec<SocketAddr> = entries.keys().copied().collect();
        for (at, component) in places
            .iter()
            .flat_map(|at| [(*at, Component::Rtp), (*at, Component::Rtcp)])
        {
            let Some(checked) = entries.get_mut(&at).and_then(|entry| hop(entry, component).clone()) else {
                continue;
            };
            if self.permits(&checked) && !self.returns(at, &checked, &entries) {
                continue;
            }
            entries.entry(at).and_modify(|entry| *hop(entry, component) = None);
            let before = call.installed.get(&at).cloned();
            if before.is_none_or(|mut before| hop(&mut before, component).is_some()) {
                self.counters.count(Counter::HopRefused);
            }
        }
        entries
    }

    fn permits(&self, hop: &Hop) -> bool {
        self.config.destinations.permit(hop.from.ip(), hop.to)
    }

    /// Whether a packet that takes this hop comes back to the port that it arrived at.
    fn returns(&self, at: SocketAddr, hop: &Hop, entries: &Entries) -> bool {
        let mut seen = BTreeSet::new();
        let own = |hop: &Hop| self.ports.own(hop.to, &self.config.destinations.machine);
        let mut next = vec![own(hop)];
        while let Some(to) = next.pop() {
            if to == at || seen.len() == OWN_HOPS_MAX {
                return true;
            }
            let there = entries.get(&to).or_else(|| {
                let owner = self.owners.get(&to)?;
                self.calls.get(owner)?.installed.get(&to)
            });
            if let Some(there) = there
                && seen.insert(to)
            {
                let hops = there.rtp.iter().chain(&there.rtcp);
                next.extend(hops.map(own));
            }
        }
        false
    }
}

fn hop(entry: &mut Entry, component: Component) -> &mut Option<Hop> {
    match component {
        Component::Rtp => &mut entry.rtp,
        Component::Rtcp => &mut entry.rtcp,
    }
}
