//! One relay: what becomes of a datagram that arrives at its port.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use dataplane::limits::DATAGRAM_MAX;
use dataplane::{Accept, Counter, Path, PuntKind, RelayTraffic};
use wire::{PacketKind, RtpPacket};

use super::Outlet;
use super::keystream::Keystream;
use crate::shard::counters::CounterPage;
use crate::shard::report::{PuntedRef, Report};
use crate::shard::reports::Reports;
use crate::srtp::{OpenError, Opener};

/// Bytes of an RTCP packet that are always in clear: its header and its sender.
const RTCP_MIN: usize = 8;

/// A relay that more than one worker may be given datagrams for.
pub(super) type LockedPort<D> = Arc<Mutex<Port<D>>>;

/// The port, for whoever is given a datagram or an order.
pub(super) fn lock<D>(port: &LockedPort<D>) -> MutexGuard<'_, Port<D>> {
    port.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A relay as its worker knows it.
pub(super) struct Port<D> {
    pub(super) at: SocketAddr,
    pub(super) gate: Gate,
    pub(super) terminated: bool,
    pub(super) ingress_protection: Opens,
    pub(super) rtp: Option<Way<D>>,
    pub(super) rtcp: Option<Way<D>>,
    pub(super) traffic: RelayTraffic,
    pub(super) last: Option<Instant>,
    /// Its desk has let go of it.
    pub(super) is_gone: bool,
}

/// Who is let in.
pub(super) struct Gate {
    accept: Accept,
    /// The source told last.
    told: Option<SocketAddr>,
}

/// How what arrives is protected.
pub(super) enum Opens {
    Pending,
    Clear,
    Srtp(Box<Opener>),
}

/// Where packets go.
pub(super) struct Way<D> {
    pub(super) path: Path,
    pub(super) tos: Option<u8>,
    /// What they leave by, while it is open.
    pub(super) door: Option<D>,
    pub(super) egress_protection: Seals,
}

/// How what leaves is protected.
pub(super) enum Seals {
    Pending,
    Clear,
    Srtp(Arc<Keystream>),
}

/// Where a port tells and counts what becomes of datagrams.
pub(super) struct Ledger<'a> {
    pub(super) now: Instant,
    pub(super) reports: &'a mut Reports,
    pub(super) counters: &'a CounterPage,
}

/// What became of a datagram that was not dropped.
enum Done {
    Passed,
    Punted,
}

impl Gate {
    pub(super) fn new(accept: Accept) -> Self {
        Gate { accept, told: None }
    }

    pub(super) fn set(&mut self, accept: Accept) {
        if self.accept != accept {
            *self = Gate::new(accept);
        }
    }

    /// Tells where a datagram came from, if that is news and to be learned.
    fn learn(&mut self, ledger: &mut Ledger<'_>, path: Path) {
        let is_news = self.told != Some(path.remote);
        if is_news && matches!(self.accept, Accept::Learn { .. }) && ledger.tell_source(path) {
            self.told = Some(path.remote);
        }
    }
}

impl<D> Port<D> {
    /// Takes the datagram in `buffer[..len]`; the rest of the buffer is room for what protection
    /// adds.
    pub(super) fn packet(
        &mut self,
        ledger: &mut Ledger<'_>,
        outlet: &mut impl Outlet<D>,
        from: SocketAddr,
        buffer: &mut [u8],
        len: usize,
    ) {
        ledger.counters.count(Counter::Received);
        match self.judge(ledger, outlet, from, buffer, len) {
            Ok(Done::Punted) => {}
            Ok(Done::Passed) => {
                ledger.counters.count(Counter::Relayed);
                self.traffic.packets += 1;
                self.traffic.bytes += len as u64;
                self.last = Some(ledger.now);
            }
            Err(reason) => {
                ledger.counters.count(reason);
                self.traffic.dropped += 1;
            }
        }
    }

    fn judge(
        &mut self,
        ledger: &mut Ledger<'_>,
        outlet: &mut impl Outlet<D>,
        from: SocketAddr,
        buffer: &mut [u8],
        len: usize,
    ) -> Result<Done, Counter> {
        if len > DATAGRAM_MAX {
            return Err(Counter::Oversized);
        }
        let path = Path {
            local: self.at,
            remote: from,
        };
        let kind = wire::classify(&buffer[..len]);
        if self.terminated && kind == PacketKind::Stun {
            ledger.punt(path, PuntKind::Stun, &buffer[..len]);
            return Ok(Done::Punted);
        }
        if self.gate.accept == Accept::Nobody {
            return Err(Counter::NotReady);
        }
        if !self.gate.accept.takes(from) {
            return Err(Counter::ForeignSource);
        }
        // Some phones send RTCP to the port for RTP, and not from where they send RTP.
        let is_stray = kind == PacketKind::Rtcp && self.rtcp.is_none();
        if !is_stray && !matches!(self.ingress_protection, Opens::Srtp(_)) {
            self.gate.learn(ledger, path);
        }
        match kind {
            PacketKind::Dtls if self.terminated => {
                ledger.punt(path, PuntKind::Dtls, &buffer[..len]);
                return Ok(Done::Punted);
            }
            PacketKind::Rtp => self.rtp(ledger, outlet, path, buffer, len)?,
            PacketKind::Rtcp => self.rtcp(ledger, outlet, path, buffer, len)?,
            _ => self.other(ledger, outlet, &buffer[..len])?,
        }
        Ok(Done::Passed)
    }

    fn rtp(
        &mut self,
        ledger: &mut Ledger<'_>,
        outlet: &mut impl Outlet<D>,
        path: Path,
        buffer: &mut [u8],
        len: usize,
    ) -> Result<(), Counter> {
        if let Opens::Pending = self.ingress_protection {
            return Err(Counter::NoKeys);
        }
        // Whether padding is right is not seen from outside, where packets pass protected.
        let packet = RtpPacket::parse_protected(&buffer[..len]).map_err(|_| Counter::Malformed)?;
        let header_len = packet.header_len();
        let exit = Way::exit(&self.rtp)?;
        let len = match &mut self.ingress_protection {
            Opens::Srtp(opener) => {
                let opened = opener.open_rtp(&mut buffer[..len], header_len).map_err(reason)?;
                self.gate.learn(ledger, path);
                opened.len
            }
            Opens::Clear | Opens::Pending => len,
        };
        let len = match exit.keystream {
            Some(keystream) => keystream.seal_rtp(buffer, len, header_len)?,
            None => len,
        };
        exit.send(ledger, outlet, &buffer[..len]);
        Ok(())
    }

    fn rtcp(
        &mut self,
        ledger: &mut Ledger<'_>,
        outlet: &mut impl Outlet<D>,
        path: Path,
        buffer: &mut [u8],
        len: usize,
    ) -> Result<(), Counter> {
        if let Opens::Pending = self.ingress_protection {
            return Err(Counter::NoKeys);
        }
        if len < RTCP_MIN {
            return Err(Counter::Malformed);
        }
        let exit = Way::exit(&self.rtcp)?;
        let len = match &mut self.ingress_protection {
            Opens::Srtp(opener) => {
                let len = opener.open_rtcp(&mut buffer[..len]).map_err(reason)?;
                self.gate.learn(ledger, path);
                len
            }
            Opens::Clear | Opens::Pending => len,
        };
        // A copy: what the parties tell each other, so that quality is known here.
        ledger.punt(path, PuntKind::Rtcp, &buffer[..len]);
        let len = match exit.keystream {
            Some(keystream) => keystream.seal_rtcp(buffer, len)?,
            None => len,
        };
        exit.send(ledger, outlet, &buffer[..len]);
        Ok(())
    }

    fn other(&self, ledger: &Ledger<'_>, outlet: &mut impl Outlet<D>, datagram: &[u8]) -> Result<(), Counter> {
        let Opens::Clear = self.ingress_protection else {
            return Err(Counter::NotMedia);
        };
        if self
            .rtp
            .as_ref()
            .is_some_and(|way| !matches!(way.egress_protection, Seals::Clear))
        {
            return Err(Counter::NotMedia);
        }
        Way::exit(&self.rtp)?.send(ledger, outlet, datagram);
        Ok(())
    }
}

/// A way that can be taken.
struct Exit<'a, D> {
    door: &'a D,
    path: &'a Path,
    tos: Option<u8>,
    keystream: Option<&'a Keystream>,
}

impl<D> Way<D> {
    fn exit(way: &Option<Self>) -> Result<Exit<'_, D>, Counter> {
        let way = way.as_ref().ok_or(Counter::NoDestination)?;
        let keystream = match &way.egress_protection {
            Seals::Pending => return Err(Counter::NotReady),
            Seals::Clear => None,
            Seals::Srtp(keystream) => Some(&**keystream),
        };
        Ok(Exit {
            door: way.door.as_ref().ok_or(Counter::NotReady)?,
            path: &way.path,
            tos: way.tos,
            keystream,
        })
    }
}

impl<D> Exit<'_, D> {
    fn send(&self, ledger: &Ledger<'_>, outlet: &mut impl Outlet<D>, datagram: &[u8]) {
        if !outlet.send(self.door, self.path, self.tos, datagram) {
            ledger.counters.count(Counter::SendFailed);
        }
    }
}

impl Ledger<'_> {
    fn punt(&mut self, path: Path, kind: PuntKind, bytes: &[u8]) {
        let counter = match kind {
            PuntKind::Stun => Counter::PuntedStun,
            PuntKind::Dtls => Counter::PuntedDtls,
            PuntKind::Rtcp => Counter::PuntedRtcp,
        };
        let punted = PuntedRef {
            kind,
            at: self.now,
            path,
            leg: None,
            bytes,
            // Copies of RTCP are only looked at.
            may_wait: kind == PuntKind::Rtcp,
        };
        if self.reports.punt(self.counters, &punted) {
            self.counters.count(counter);
        }
    }

    fn tell_source(&mut self, path: Path) -> bool {
        self.reports.send(self.counters, Report::RelaySource(Box::new(path)))
    }
}

fn reason(error: OpenError) -> Counter {
    match error {
        OpenError::Malformed => Counter::Malformed,
        OpenError::Authentication => Counter::Unauthenticated,
        OpenError::Replayed => Counter::Duplicate,
        OpenError::TooOld => Counter::TooLate,
        OpenError::TooManyStreams => Counter::UnknownStream,
    }
}
