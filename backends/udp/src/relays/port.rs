//! One relay: the path of a datagram that arrives at its port.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use dataplane::limits::{DATAGRAM_MAX, PROTECTED_PUNTS_MAX};
use dataplane::{Accept, Counter, Path, PuntKind, RelayTraffic};
use wire::{PacketKind, RtpPacket};

use super::RelayEgress;
use super::keystream::Keystream;
use crate::channel::CounterPage;
use crate::channel::Reports;
use crate::channel::{PuntedRef, Report};
use crate::srtp::{OpenError, Opener};

/// Bytes of an RTCP packet that are always in clear: its header and its sender.
const RTCP_MIN: usize = 8;

/// A relay that more than one worker may forward for.
pub(super) type LockedPort<D> = Arc<Mutex<Port<D>>>;

/// Locks the port for a datagram or a command.
pub(super) fn lock<D>(port: &LockedPort<D>) -> MutexGuard<'_, Port<D>> {
    port.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A relay in its worker.
pub(super) struct Port<D> {
    pub(super) at: SocketAddr,
    pub(super) filter: SourceFilter,
    pub(super) terminated: bool,
    pub(super) ingress_protection: Unprotect,
    pub(super) rtp: Option<Destination<D>>,
    pub(super) rtcp: Option<Destination<D>>,
    /// Datagrams that were punted since it had keys.
    pub(super) protected_punts: usize,
    pub(super) traffic: RelayTraffic,
    pub(super) last: Option<Instant>,
    /// Whether its relay shard has removed it.
    pub(super) is_gone: bool,
}

/// The filter of source addresses.
pub(super) struct SourceFilter {
    accept: Accept,
    /// The source reported last.
    reported: Option<SocketAddr>,
}

/// The protection of received packets.
pub(super) enum Unprotect {
    Pending,
    Clear,
    Srtp(Box<Opener>),
}

/// The destination of packets.
pub(super) struct Destination<D> {
    pub(super) path: Path,
    pub(super) tos: Option<u8>,
    /// The socket they are sent from, while it is open.
    pub(super) socket: Option<D>,
    pub(super) egress_protection: Protect,
}

/// The protection of sent packets.
pub(super) enum Protect {
    Pending,
    Clear,
    Srtp(Arc<Keystream>),
}

/// The time, reports and counters for a datagram.
pub(super) struct PacketContext<'a> {
    pub(super) now: Instant,
    pub(super) reports: &'a mut Reports,
    pub(super) counters: &'a CounterPage,
}

/// The outcome of a datagram that was not dropped.
enum Done {
    Passed,
    Punted,
}

impl SourceFilter {
    pub(super) fn new(accept: Accept) -> Self {
        SourceFilter { accept, reported: None }
    }

    pub(super) fn set(&mut self, accept: Accept) {
        if self.accept != accept {
            *self = SourceFilter::new(accept);
        }
    }

    /// Reports the source of a datagram, if it is new and to be learned.
    fn learn(&mut self, context: &mut PacketContext<'_>, path: Path, kind: PacketKind) {
        let is_new = self.reported != Some(path.remote);
        if is_new && self.accept.learns_from(kind) && context.report_source(path) {
            self.reported = Some(path.remote);
        }
    }
}

impl Unprotect {
    /// It takes the place of another protection of the same party.
    pub(super) fn follow(&mut self, last: &Self) {
        if let (Unprotect::Srtp(opener), Unprotect::Srtp(last)) = (self, last) {
            opener.follow(last);
        }
    }
}

impl<D> Port<D> {
    /// Takes the datagram in `buffer[..len]`; the rest of the buffer is room for what protection
    /// adds.
    pub(super) fn packet(
        &mut self,
        context: &mut PacketContext<'_>,
        egress: &mut impl RelayEgress<D>,
        from: SocketAddr,
        buffer: &mut [u8],
        len: usize,
    ) {
        context.counters.count(Counter::Received);
        match self.judge(context, egress, from, buffer, len) {
            Ok(Done::Punted) => {}
            Ok(Done::Passed) => {
                context.counters.count(Counter::Relayed);
                self.traffic.packets += 1;
                self.traffic.bytes += len as u64;
                self.last = Some(context.now);
            }
            Err(reason) => {
                context.counters.count(reason);
                self.traffic.dropped += 1;
            }
        }
    }

    fn judge(
        &mut self,
        context: &mut PacketContext<'_>,
        egress: &mut impl RelayEgress<D>,
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
            context.punt(path, PuntKind::Stun, &buffer[..len]);
            return Ok(Done::Punted);
        }
        if self.filter.accept == Accept::Nobody {
            return Err(Counter::NotReady);
        }
        if !self.filter.accept.takes(from) {
            return Err(Counter::ForeignSource);
        }
        // Some phones send RTCP to the port for RTP, from another source than RTP.
        let is_stray = kind == PacketKind::Rtcp && self.rtcp.is_none();
        if !is_stray && !matches!(self.ingress_protection, Unprotect::Srtp(_)) {
            self.filter.learn(context, path, kind);
        }
        match kind {
            PacketKind::Rtp | PacketKind::Rtcp if matches!(self.ingress_protection, Unprotect::Pending) => {
                if self.protected_punts >= PROTECTED_PUNTS_MAX {
                    return Err(Counter::NoKeys);
                }
                self.protected_punts += 1;
                context.punt(path, PuntKind::Protected, &buffer[..len]);
                return Ok(Done::Punted);
            }
            PacketKind::Dtls if self.terminated => {
                context.punt(path, PuntKind::Dtls, &buffer[..len]);
                return Ok(Done::Punted);
            }
            PacketKind::Rtp => self.rtp(context, egress, path, buffer, len)?,
            PacketKind::Rtcp => self.rtcp(context, egress, path, buffer, len)?,
            _ => self.other(context, egress, &buffer[..len])?,
        }
        Ok(Done::Passed)
    }

    fn rtp(
        &mut self,
        context: &mut PacketContext<'_>,
        egress: &mut impl RelayEgress<D>,
        path: Path,
        buffer: &mut [u8],
        len: usize,
    ) -> Result<(), Counter> {
        // Padding cannot be checked where packets pass protected.
        let packet = RtpPacket::parse_protected(&buffer[..len]).map_err(|_| Counter::Malformed)?;
        let (ssrc, header_len) = (packet.ssrc(), packet.header_len());
        let open = Destination::open(&self.rtp)?;
        let len = match &mut self.ingress_protection {
            Unprotect::Srtp(opener) => {
                let opened = opener.open_rtp(&mut buffer[..len], header_len).map_err(reason)?;
                self.filter.learn(context, path, PacketKind::Rtp);
                opened.len
            }
            Unprotect::Clear | Unprotect::Pending => len,
        };
        let len = match open.keystream {
            Some(keystream) => keystream.seal_rtp(buffer, len, header_len)?,
            None => len,
        };
        open.send(context, egress, &buffer[..len]);
        self.traffic.ssrc = Some(ssrc);
        Ok(())
    }

    fn rtcp(
        &mut self,
        context: &mut PacketContext<'_>,
        egress: &mut impl RelayEgress<D>,
        path: Path,
        buffer: &mut [u8],
        len: usize,
    ) -> Result<(), Counter> {
        if len < RTCP_MIN {
            return Err(Counter::Malformed);
        }
        let open = Destination::open(&self.rtcp)?;
        let len = match &mut self.ingress_protection {
            Unprotect::Srtp(opener) => {
                let len = opener.open_rtcp(&mut buffer[..len]).map_err(reason)?;
                self.filter.learn(context, path, PacketKind::Rtcp);
                len
            }
            Unprotect::Clear | Unprotect::Pending => len,
        };
        // A copy for the agent, which measures the quality of the call by it.
        context.punt(path, PuntKind::Rtcp, &buffer[..len]);
        let len = match open.keystream {
            Some(keystream) => keystream.seal_rtcp(buffer, len)?,
            None => len,
        };
        open.send(context, egress, &buffer[..len]);
        Ok(())
    }

    fn other(
        &self,
        context: &PacketContext<'_>,
        egress: &mut impl RelayEgress<D>,
        datagram: &[u8],
    ) -> Result<(), Counter> {
        let Unprotect::Clear = self.ingress_protection else {
            return Err(Counter::NotMedia);
        };
        if self
            .rtp
            .as_ref()
            .is_some_and(|destination| !matches!(destination.egress_protection, Protect::Clear))
        {
            return Err(Counter::NotMedia);
        }
        Destination::open(&self.rtp)?.send(context, egress, datagram);
        Ok(())
    }
}

/// A destination that packets can be sent to.
struct OpenDestination<'a, D> {
    socket: &'a D,
    path: &'a Path,
    tos: Option<u8>,
    keystream: Option<&'a Keystream>,
}

impl<D> Destination<D> {
    fn open(destination: &Option<Self>) -> Result<OpenDestination<'_, D>, Counter> {
        let destination = destination.as_ref().ok_or(Counter::NoDestination)?;
        let keystream = match &destination.egress_protection {
            Protect::Pending => return Err(Counter::NotReady),
            Protect::Clear => None,
            Protect::Srtp(keystream) => Some(&**keystream),
        };
        Ok(OpenDestination {
            socket: destination.socket.as_ref().ok_or(Counter::NotReady)?,
            path: &destination.path,
            tos: destination.tos,
            keystream,
        })
    }
}

impl<D> OpenDestination<'_, D> {
    fn send(&self, context: &PacketContext<'_>, egress: &mut impl RelayEgress<D>, datagram: &[u8]) {
        if !egress.send(self.socket, self.path, self.tos, datagram) {
            context.counters.count(Counter::SendFailed);
        }
    }
}

impl PacketContext<'_> {
    fn punt(&mut self, path: Path, kind: PuntKind, bytes: &[u8]) {
        let counter = match kind {
            PuntKind::Stun => Counter::PuntedStun,
            PuntKind::Dtls => Counter::PuntedDtls,
            PuntKind::Rtcp => Counter::PuntedRtcp,
            PuntKind::Protected => Counter::PuntedProtected,
        };
        let punted = PuntedRef {
            kind,
            at: self.now,
            path,
            leg: None,
            bytes,
            // Copies of RTCP are only evaluated.
            may_wait: kind == PuntKind::Rtcp,
        };
        if self.reports.punt(self.counters, &punted) {
            self.counters.count(counter);
        }
    }

    fn report_source(&mut self, path: Path) -> bool {
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
