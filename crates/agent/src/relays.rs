//! Relayed calls: ports whose packets are forwarded unchanged from one party to the other.
//!
//! The controller of the calls orders the entry of each port in a [`RelayCommand`]. Most of an
//! order is a table entry already. The rest is done here: a party with ICE proves its address, a
//! party with DTLS proves its identity and shares keys, and the RTCP of both is read. So an entry
//! follows from its order and from the state of its own port and of its egress port.

mod entry;
mod keying;
mod port;
mod secure;
mod traffic;
mod watch;

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::time::Instant;

use dataplane::{Accept, Hop, Inject, Path, Relay, RelayTraffic, Update, WriteError};
use southbound::Notice;
use southbound::relay::{self, Entry, Refusal, RelayCommand, RelayNotice};

use crate::context::Context;
use crate::counters::Counter;
use crate::dtls::Identity;
use crate::handshake::{Handshake, Handshaken, Ticket};
use crate::map::Map;
use crate::timers::Timer;
use entry::{accept, cover, lacks_srtp, silent};
use port::{Port, hops};
use watch::Heard;

/// All ports of relayed calls.
pub(crate) struct Relays {
    identity: Identity,
    ports: Map<SocketAddr, Box<Port>>,
    /// For each egress port, the ports whose packets leave from it.
    leaving: HashMap<SocketAddr, BTreeSet<SocketAddr>>,
    tickets: Ticket,
}

impl Relays {
    pub(crate) fn new(identity: Identity) -> Self {
        Relays {
            identity,
            ports: Map::default(),
            leaving: HashMap::new(),
            tickets: Ticket::default(),
        }
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.ports.is_empty() && self.leaving.is_empty()
    }

    /// Whether this address belongs to a relayed call.
    pub(crate) fn has(&self, at: SocketAddr) -> bool {
        self.ports.contains_key(&at)
    }

    /// Executes an order.
    pub(crate) fn command(&mut self, cx: &mut Context<'_>, command: RelayCommand) {
        match command {
            RelayCommand::Open(at) => _ = self.open(cx, at, silent()),
            RelayCommand::Resume(entry) => self.resume(cx, *entry),
            RelayCommand::Install(entry) => self.install(cx, *entry),
            RelayCommand::Silence(at) => self.silence(cx, at),
            RelayCommand::Close(at) => self.close(cx, at),
            RelayCommand::Report(at) => cx.plane.inject(cx.now, Inject::ReportRelay { at }),
        }
    }

    /// Opens a port of an earlier process with its old entry, so that the table never has less.
    fn resume(&mut self, cx: &mut Context<'_>, entry: Entry) {
        let mut port = Port::new(silent());
        port.install(cx, entry.clone());
        let relay = match lacks_srtp(cx, &entry) {
            true => silent(),
            false => self.table_entry(&port),
        };
        if self.open(cx, entry.at, relay) {
            self.install(cx, entry);
        }
    }

    /// Opens a port with a first entry; returns whether it is open.
    fn open(&mut self, cx: &mut Context<'_>, at: SocketAddr, first: Relay) -> bool {
        let written = if self.has(at) {
            Ok(())
        } else if self.ports.len() >= cx.plane.capabilities().relays_max {
            Err(WriteError::TableFull)
        } else {
            cx.try_write(Update::SetRelay(at, Box::new(first.clone())))
        };
        match written {
            Ok(()) => {
                self.ports.entry(at).or_insert_with(|| Box::new(Port::new(first)));
                tell(cx, RelayNotice::Opened { at });
                true
            }
            Err(error) => {
                let why = match error {
                    WriteError::PortTaken => Refusal::Taken,
                    _ => Refusal::Full,
                };
                tell(cx, RelayNotice::Refused { at, why });
                false
            }
        }
    }

    fn install(&mut self, cx: &mut Context<'_>, entry: Entry) {
        let at = entry.at;
        if !self.has(at) {
            cx.count(Counter::RelayDangling);
            return;
        }
        if lacks_srtp(cx, &entry) {
            cx.count(Counter::SrtpRefused);
            self.silence(cx, at);
            let why = Refusal::NoSrtp;
            return tell(cx, RelayNotice::Refused { at, why });
        }
        self.unlink(at);
        for hop in hops(&entry) {
            self.leaving.entry(hop.from).or_default().insert(at);
        }
        let port = self.ports.get_mut(&at).expect("it is there");
        port.install(cx, entry);
        self.follow(cx, at);
        // The entry may name the party of its egress port, whose handshake may have waited for
        // that.
        for from in self.ports[&at].leaves_from() {
            self.begin(cx, from);
        }
    }

    fn silence(&mut self, cx: &mut Context<'_>, at: SocketAddr) {
        self.unlink(at);
        if let Some(port) = self.ports.get_mut(&at) {
            port.silence(cx, at);
            self.follow(cx, at);
        }
    }

    fn close(&mut self, cx: &mut Context<'_>, at: SocketAddr) {
        self.unlink(at);
        let Some(mut port) = self.ports.remove(&at) else { return };
        port.silence(cx, at);
        cx.write(Update::RemoveRelay(at));
        self.refresh_leaving(cx, at);
    }

    /// STUN at a port where ICE ends.
    pub(crate) fn receive_stun(&mut self, cx: &mut Context<'_>, path: Path, datagram: &[u8]) {
        let at = path.local;
        let Some(port) = self.ports.get_mut(&at) else { return };
        let before = port.party();
        let reply = match port.receive_stun(cx, path, datagram) {
            Ok(reply) => reply,
            Err(counter) => return cx.count(counter),
        };
        if let Some(from) = port.party().filter(|from| before != Some(*from)) {
            tell(cx, RelayNotice::Source { at, from });
        }
        self.follow(cx, at);
        // Only now: the party may send media the moment it reads this.
        if let Some(reply) = reply {
            cx.send(path, &reply);
        }
    }

    /// DTLS at a port with ICE or DTLS, from an accepted source.
    pub(crate) fn receive_dtls(&mut self, cx: &mut Context<'_>, path: Path, datagram: Vec<u8>) {
        let at = path.local;
        let Some(port) = self.ports.get_mut(&at) else { return };
        let Some(secure) = &mut port.secure else {
            return self.pass_dtls(cx, at, &datagram);
        };
        if port.ice.is_none() {
            secure.set_path(Some(path));
        }
        secure.receive(cx, path, datagram);
        self.follow(cx, at);
    }

    /// Passes DTLS on at a port where only ICE ends. The parties' handshake is relayed as their
    /// media is.
    fn pass_dtls(&self, cx: &mut Context<'_>, at: SocketAddr, datagram: &[u8]) {
        let entry = self.ports.get(&at).and_then(|port| port.entry.as_ref());
        let hop = entry.and_then(|entry| hops(entry).next());
        match hop.and_then(|hop| self.hop(hop)) {
            Some(hop) => cx.send(hop.path, datagram),
            None => cx.count(Counter::DtlsUnexpected),
        }
    }

    /// A copy of RTCP that went on.
    pub(crate) fn receive_rtcp(&mut self, cx: &mut Context<'_>, arrived: Instant, at: SocketAddr, datagram: &[u8]) {
        let Some(port) = self.ports.get_mut(&at) else { return };
        let Some((rate, other)) = port.reports() else { return };
        let mut blocks = Vec::new();
        port.watch.receive(arrived, datagram, &mut blocks);
        // A party's report is about the other party's stream.
        let sent = self
            .ports
            .get(&other)
            .map(|other| (other.watch.heard(&blocks), other.watch.round_trip));
        let (heard, beyond) = sent.unwrap_or_default();
        let watch = &mut self.ports.get_mut(&at).expect("it was just there").watch;
        for (block, heard) in blocks
            .iter()
            .zip(heard.into_iter().chain(std::iter::repeat(None::<Heard>)))
        {
            let report = watch.report(arrived, block, heard, rate, beyond);
            let ssrc = block.ssrc.0;
            tell(
                cx,
                RelayNotice::Quality {
                    at: other,
                    ssrc,
                    report,
                },
            );
        }
    }

    /// A packet arrived from a source that a port learns from.
    pub(crate) fn source(&mut self, cx: &mut Context<'_>, at: SocketAddr, from: SocketAddr) {
        if self.ports.get(&at).is_some_and(|port| port.ice.is_none()) {
            tell(cx, RelayNotice::Source { at, from });
        }
    }

    /// A port's counts arrived. The last counts of a closed port belong to no call any more.
    pub(crate) fn traffic(
        &mut self,
        cx: &mut Context<'_>,
        at: SocketAddr,
        traffic: RelayTraffic,
        last: Option<Instant>,
    ) {
        if self.has(at) {
            let traffic = traffic::reported(&traffic);
            let idle = last.map(|last| cx.now.saturating_duration_since(last));
            tell(cx, RelayNotice::Traffic { at, traffic, idle });
        }
    }

    /// Hands out the next computation of one port's handshake.
    pub(crate) fn take_handshake(&mut self, at: SocketAddr) -> Option<Handshake> {
        let secure = self.ports.get_mut(&at)?.secure.as_mut()?;
        secure.take_handshake(at, self.tickets.take())
    }

    /// A part of a handshake was computed.
    pub(crate) fn handshaken(&mut self, cx: &mut Context<'_>, at: SocketAddr, done: Handshaken) {
        if let Some(secure) = self.ports.get_mut(&at).and_then(|port| port.secure.as_mut()) {
            secure.handshaken(cx, done);
        }
        self.follow(cx, at);
    }

    /// Handles the timeout of one port.
    pub(crate) fn handle_timeout(&mut self, cx: &mut Context<'_>, at: SocketAddr) {
        if let Some(port) = self.ports.get_mut(&at) {
            port.handle_timeout(cx, at);
            self.follow(cx, at);
        }
    }

    /// Applies a change at a port: to its handshake, its entry, the entries that leave from it, and
    /// its timer.
    fn follow(&mut self, cx: &mut Context<'_>, at: SocketAddr) {
        self.begin(cx, at);
        self.refresh(cx, at);
        if self
            .ports
            .get(&at)
            .is_some_and(|port| port.is_terminated() || port.was_terminated)
        {
            self.refresh_leaving(cx, at);
        }
        if let Some(port) = self.ports.get_mut(&at) {
            port.was_terminated = port.is_terminated();
            if let Some(ice) = &mut port.ice {
                ice.send_checks(cx);
            }
            match port.next_timeout(&cx.shared.config) {
                Some(next) => cx.timer(Timer::Relay(at), next),
                None => cx.shared.timers.clear(Timer::Relay(at)),
            }
        }
    }

    /// Begins the handshake at a port, if it is due and the party's address is known.
    fn begin(&mut self, cx: &mut Context<'_>, at: SocketAddr) {
        let said = self.said(at);
        let Some(port) = self.ports.get_mut(&at) else { return };
        let party = match &port.ice {
            Some(_) => port.party(),
            None => said,
        };
        let path = party.map(|remote| Path { local: at, remote });
        let has_ice = port.ice.is_some();
        if let Some(secure) = &mut port.secure {
            match path {
                path if has_ice => secure.set_path(path),
                Some(path) => secure.order_path(path),
                None => {}
            }
            secure.begin(cx, &self.identity, at);
        }
    }

    /// The address of the party at a port according to the orders: the destination of packets that
    /// leave from it.
    fn said(&self, at: SocketAddr) -> Option<SocketAddr> {
        let first = self.leaving.get(&at)?.first()?;
        let entry = self.ports.get(first)?.entry.as_ref()?;
        hops(entry).find(|hop| hop.from == at).map(|hop| hop.to)
    }

    /// Writes the entries whose packets leave from a port.
    fn refresh_leaving(&mut self, cx: &mut Context<'_>, from: SocketAddr) {
        for at in self.leaving.get(&from).cloned().unwrap_or_default() {
            self.refresh(cx, at);
        }
    }

    /// Writes a port's entry, if it is another than before.
    fn refresh(&mut self, cx: &mut Context<'_>, at: SocketAddr) {
        let Some(port) = self.ports.get(&at) else { return };
        let wanted = self.table_entry(port);
        if port.written != wanted {
            cx.write(Update::SetRelay(at, Box::new(wanted.clone())));
            self.ports.get_mut(&at).expect("it is there").written = wanted;
        }
    }

    /// The table entry for a port.
    fn table_entry(&self, port: &Port) -> Relay {
        let Some(entry) = &port.entry else { return silent() };
        let accept = match (&port.ice, entry.accept) {
            (Some(_), _) => port.source().map_or(Accept::Nobody, Accept::Only),
            (None, ordered) => accept(ordered),
        };
        Relay {
            accept,
            ingress_protection: cover(
                &entry.ingress_protection,
                port.secure.as_ref().and_then(|secure| secure.ingress()),
            ),
            terminated: port.is_terminated(),
            rtp: entry.rtp.as_ref().and_then(|hop| self.hop(hop)),
            rtcp: entry.rtcp.as_ref().and_then(|hop| self.hop(hop)),
        }
    }

    /// The destination of packets, once the party there has proved itself.
    fn hop(&self, hop: &relay::Hop) -> Option<Hop> {
        let leaves = self.ports.get(&hop.from);
        let remote = match leaves {
            Some(port) if port.ice.is_some() => port.party()?,
            _ => hop.to,
        };
        let egress = leaves
            .and_then(|port| port.secure.as_ref())
            .and_then(|secure| secure.egress());
        Some(Hop {
            path: Path {
                local: hop.from,
                remote,
            },
            egress_protection: cover(&hop.egress_protection, egress),
            tos: hop.tos,
        })
    }

    /// Removes a port from the lists of its egress ports.
    fn unlink(&mut self, at: SocketAddr) {
        let Some(port) = self.ports.get(&at) else { return };
        for from in port.leaves_from() {
            if let Some(entries) = self.leaving.get_mut(&from) {
                entries.remove(&at);
                if entries.is_empty() {
                    self.leaving.remove(&from);
                }
            }
        }
    }
}

fn tell(cx: &mut Context<'_>, notice: RelayNotice) {
    cx.notice(Notice::Relay(notice));
}
