//! One port of a relayed call.

use std::net::SocketAddr;
use std::time::Instant;

use dataplane::{Path, Relay};
use southbound::relay::{Entry, Keys};

use super::secure::Secure;
use super::watch::Watch;
use crate::config::Config;
use crate::context::Context;
use crate::counters::Counter;
use crate::ice::{Ice, Source};
use crate::timers::Timer;

/// One port of a relayed call, and the party that sends to it.
pub(super) struct Port {
    /// The ordered entry; `None` while the port is silent.
    pub(super) entry: Option<Entry>,
    /// The entry in the table.
    pub(super) written: Relay,
    /// ICE of the party, if it uses ICE.
    pub(super) ice: Option<Ice>,
    /// DTLS with the party, if it has DTLS with us.
    pub(super) secure: Option<Secure>,
    pub(super) watch: Watch,
    /// Whether others' entries depended on it before the last change.
    pub(super) was_terminated: bool,
    /// The party's checks have stopped: no packet is sent to it until they resume (RFC 7675).
    lapsed: bool,
}

impl Port {
    pub(super) fn new(written: Relay) -> Self {
        Port {
            entry: None,
            written,
            ice: None,
            secure: None,
            watch: Watch::default(),
            was_terminated: false,
            lapsed: false,
        }
    }

    /// Applies an order. Keys and paths agreed with the same party stay.
    pub(super) fn install(&mut self, cx: &mut Context<'_>, entry: Entry) {
        match (&entry.checks, &mut self.ice) {
            (None, ice) => *ice = None,
            (Some((ours, _)), Some(ice)) => {
                if ice.local() != ours {
                    ice.restart(ours.clone());
                }
            }
            (Some((ours, _)), ice) => *ice = Some(Ice::new(ours.clone())),
        }
        if let (Some(ice), Some((_, Some(theirs)))) = (&mut self.ice, &entry.checks) {
            ice.describe(cx.now, theirs);
        }
        match &entry.ingress_protection {
            Keys::Dtls {
                fingerprint,
                active,
                association,
            } => {
                let same = self
                    .secure
                    .as_ref()
                    .is_some_and(|secure| secure.is_with(fingerprint, *active));
                if !same {
                    self.end_dtls(cx);
                    self.secure = Some(Secure::new(fingerprint.clone(), *active));
                }
                if let Some(secure) = &mut self.secure {
                    secure.order_association(*association);
                }
            }
            Keys::Clear | Keys::Srtp(_) => self.end_dtls(cx),
        }
        self.entry = Some(entry);
    }

    /// Silences the port.
    pub(super) fn silence(&mut self, cx: &mut Context<'_>, at: SocketAddr) {
        self.end_dtls(cx);
        self.entry = None;
        self.ice = None;
        self.watch = Watch::default();
        cx.shared.timers.clear(Timer::Relay(at));
    }

    /// Whether STUN and DTLS end here.
    pub(super) fn is_terminated(&self) -> bool {
        self.ice.is_some() || self.secure.is_some()
    }

    /// The address that the party with ICE has proved.
    pub(super) fn party(&self) -> Option<SocketAddr> {
        let best = self.ice.as_ref().filter(|_| !self.lapsed)?.best()?;
        Some(best.remote)
    }

    /// The address that packets are accepted from: that of the party, or before there is one, the
    /// address of its first check. Its DTLS waits for the proof, and it is sent nothing.
    pub(super) fn source(&self) -> Option<SocketAddr> {
        let ice = self.ice.as_ref().filter(|_| !self.lapsed)?;
        ice.paths().next().map(|path| path.remote)
    }

    /// STUN arrived: a check, whose answer is returned, or an answer to one of ours.
    pub(super) fn receive_stun(
        &mut self,
        cx: &mut Context<'_>,
        path: Path,
        datagram: &[u8],
    ) -> Result<Option<Vec<u8>>, Counter> {
        let ice = self.ice.as_mut().ok_or(Counter::CheckUnknownUfrag)?;
        if wire::stun::binding_success(datagram).is_some() {
            ice.answer(cx.now, path, datagram)?;
            self.lapsed = false;
            cx.count(Counter::AnswerReceived);
            return Ok(None);
        }
        let checked = ice.check(cx.now, path, Source::Datagram { contested: false }, datagram)?;
        cx.count(match checked.is_accepted {
            true => Counter::CheckAnswered,
            false => Counter::RoleConflict,
        });
        // The party consents to be sent to where it is proved to be.
        self.lapsed &= !checked.consents;
        Ok(Some(checked.reply))
    }

    /// The egress ports of packets that arrive here.
    pub(super) fn leaves_from(&self) -> Vec<SocketAddr> {
        let hops = self.entry.iter().flat_map(hops);
        hops.map(|hop| hop.from).collect()
    }

    /// If the party's RTCP can be read: the clock of its jitter, and the port of the streams that
    /// it reports on.
    pub(super) fn reports(&self) -> Option<(u32, SocketAddr)> {
        let entry = self.entry.as_ref()?;
        Some((entry.clock_rate?, entry.rtcp.as_ref()?.from))
    }

    /// Handles timeouts.
    pub(super) fn handle_timeout(&mut self, cx: &mut Context<'_>, at: SocketAddr) {
        if let Some(ice) = &mut self.ice {
            let timeout = cx.shared.config.consent_timeout;
            ice.prune(cx.now, timeout);
            self.lapsed = ice.last_check().is_some_and(|last| last + timeout <= cx.now);
        }
        if let Some(secure) = &mut self.secure {
            secure.handle_timeout(cx, at);
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub(super) fn next_timeout(&self, config: &Config) -> Option<Instant> {
        let timeout = config.consent_timeout;
        let consent = self.ice.as_ref().and_then(|ice| {
            let lapse = ice.last_check().filter(|_| !self.lapsed).map(|last| last + timeout);
            let others = [ice.next_prune(timeout), ice.next_check()];
            lapse.into_iter().chain(others.into_iter().flatten()).min()
        });
        let dtls = self.secure.as_ref().and_then(Secure::next_timeout);
        consent.into_iter().chain(dtls).min()
    }

    fn end_dtls(&mut self, cx: &mut Context<'_>) {
        if let Some(mut secure) = self.secure.take() {
            secure.close(cx);
        }
    }
}

/// The hops of an entry's packets.
pub(super) fn hops(entry: &Entry) -> impl Iterator<Item = &southbound::relay::Hop> {
    entry.rtp.iter().chain(&entry.rtcp)
}
