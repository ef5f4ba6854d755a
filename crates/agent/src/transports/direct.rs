//! Transports to known addresses, without ICE and without DTLS: the trunks between nodes.
//!
//! The controller names both addresses and makes the keys, so such a transport carries media as
//! soon as it is opened. A packet with a valid tag proves that the peer is there, and takes the
//! place of consent (RFC 7675): a peer that is silent is told of, and given up in the end. Both
//! sides send reports all the time, even where no media flows (RFC 3550 section 6.1).

mod order;
mod spent_keys;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use dataplane::{Leg, LegId, Path, Protection, PuntKind, Update, WriteError};
use southbound::{Notice, OpenDirect, TransportId};

use super::{Change, MediaParameters, Transports};
use crate::context::Context;
use crate::counters::Counter;
use crate::limits::DIRECT_TRANSPORTS_MAX;
use crate::liveness::Liveness;
use crate::map::Map;
use crate::timers::Timer;
use spent_keys::SpentKeys;

/// Every direct transport, by each of its names.
#[derive(Default)]
pub(crate) struct DirectTransports {
    all: BTreeMap<TransportId, Box<DirectTransport>>,
    by_leg: Map<LegId, TransportId>,
    /// How many have each pair of addresses.
    by_path: HashMap<Path, usize>,
    spent_keys: SpentKeys,
}

/// A transport to a fixed address.
struct DirectTransport {
    order: OpenDirect,
    path: Path,
    leg: LegId,
    liveness: Liveness,
    /// When the last authenticated packet came.
    heard: Option<Instant>,
}

impl DirectTransports {
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty() && self.by_leg.is_empty() && self.by_path.is_empty()
    }

    pub(crate) fn has(&self, transport: TransportId) -> bool {
        self.all.contains_key(&transport)
    }

    pub(crate) fn has_path(&self, path: Path) -> bool {
        self.by_path.contains_key(&path)
    }

    /// Opens a transport, or gives an existing one other extension ids. A peer with ICE that claims
    /// to be at the same address loses it: the controller knows who is there.
    pub(crate) fn open(
        &mut self,
        cx: &mut Context<'_>,
        transports: &mut Transports,
        order: OpenDirect,
        changes: &mut Vec<Change>,
    ) {
        let transport = order.transport;
        let opened = match self.all.contains_key(&transport) {
            true => self.reopen(cx, order, changes),
            false => self
                .admit(cx, transports, &order)
                .and_then(|()| self.add(cx, transports, order, changes)),
        };
        if let Err(why) = opened {
            refuse(cx, transport, why);
        }
    }

    fn admit(&self, cx: &mut Context<'_>, transports: &Transports, order: &OpenDirect) -> Result<(), &'static str> {
        if transports.has(order.transport) {
            return Err("another transport has its name");
        }
        order::check(order, &cx.shared.config)?;
        if order.keys.is_some() && !cx.plane.capabilities().srtp {
            cx.count(Counter::SrtpRefused);
            return Err("the data plane has no SRTP");
        }
        let egress = order.keys.as_ref().map(|keys| &keys.egress);
        if egress.is_some_and(|egress| self.spent_keys.has(egress)) {
            return Err("its key has sealed packets before");
        }
        if self.all.len() >= DIRECT_TRANSPORTS_MAX {
            cx.count(Counter::TransportsFull);
            return Err("the node has all the direct transports it can have");
        }
        Ok(())
    }

    fn add(
        &mut self,
        cx: &mut Context<'_>,
        transports: &mut Transports,
        order: OpenDirect,
        changes: &mut Vec<Change>,
    ) -> Result<(), &'static str> {
        let (transport, path) = (order.transport, order::path(&order, &cx.shared.config));
        transports.give_up(cx, path, changes);
        let leg = cx.take_leg_id();
        if let Err(error) = write_leg(cx, leg, path, &order) {
            cx.shared.leg_ids.release(leg.0);
            return Err(match error {
                WriteError::SsrcTaken => "another direct transport of its addresses has its SSRC",
                WriteError::TableFull => "the data plane holds all the legs it can",
                _ => "the data plane does not take its leg",
            });
        }
        if let Some(keys) = &order.keys {
            self.spent_keys.add(&keys.egress);
        }
        self.by_leg.insert(leg, transport);
        *self.by_path.entry(path).or_default() += 1;
        changes.extend([
            Change::Opened(transport),
            Change::Described(transport, parameters(&order)),
            Change::LegAdded(transport, leg),
            Change::Keyed(transport),
        ]);
        let added = DirectTransport {
            order,
            path,
            leg,
            liveness: Liveness::new(cx.now),
            heard: None,
        };
        added.schedule(cx);
        self.all.insert(transport, Box::new(added));
        Ok(())
    }

    fn reopen(
        &mut self,
        cx: &mut Context<'_>,
        order: OpenDirect,
        changes: &mut Vec<Change>,
    ) -> Result<(), &'static str> {
        let transport = order.transport;
        let known = self.all.get_mut(&transport).ok_or("it is not there")?;
        let fixed = |order: &OpenDirect| {
            let ssrcs = (order.rtcp_ssrc_in, order.rtcp_ssrc_out);
            (order.local, order.remote, ssrcs, order.keys.clone())
        };
        if fixed(&known.order) != fixed(&order) {
            return Err("its addresses, SSRCs and keys are fixed");
        }
        if known.order != order {
            write_leg(cx, known.leg, known.path, &order).map_err(|_| "the data plane does not take its leg")?;
            changes.push(Change::Described(transport, parameters(&order)));
            known.order = order;
        }
        Ok(())
    }

    /// The controller closes a transport. Its peer is not told: it has a controller, too.
    pub(crate) fn close(&mut self, cx: &mut Context<'_>, transport: TransportId, changes: &mut Vec<Change>) {
        let Some(closed) = self.all.remove(&transport) else {
            return;
        };
        self.by_leg.remove(&closed.leg);
        if let Entry::Occupied(mut known) = self.by_path.entry(closed.path) {
            *known.get_mut() -= 1;
            if *known.get() == 0 {
                known.remove();
            }
        }
        cx.shared.timers.clear(Timer::Transport(transport));
        changes.push(Change::Closed(transport, Some(closed.leg)));
    }

    /// An authenticated packet came on a leg, perhaps of such a transport.
    pub(crate) fn heard(&mut self, cx: &mut Context<'_>, leg: LegId) {
        let known = self.by_leg.get(&leg).and_then(|transport| self.all.get_mut(transport));
        let Some(known) = known else { return };
        known.heard = Some(cx.now);
        if known.liveness.connected() {
            let srtp = known.order.keys.as_ref().map(|keys| keys.ingress.profile());
            cx.notice(Notice::Connected {
                transport: known.order.transport,
                srtp,
            });
        }
        known.schedule(cx);
    }

    /// A datagram came from the address of such a transport, whose peer sends no such datagrams.
    pub(crate) fn unexpected(&self, cx: &mut Context<'_>, kind: PuntKind) {
        match kind {
            PuntKind::Stun => cx.count(Counter::StunUnexpected),
            PuntKind::Dtls => cx.count(Counter::DtlsUnexpected),
            PuntKind::Protected | PuntKind::Rtcp => {}
        }
    }

    /// Judges how long the peer of a transport has been silent.
    pub(crate) fn handle_timeout(&mut self, cx: &mut Context<'_>, transport: TransportId, changes: &mut Vec<Change>) {
        let Some(known) = self.all.get_mut(&transport) else {
            return;
        };
        match known.liveness.check(cx.now, known.heard, &cx.shared.config) {
            Ok(is_gone) => {
                if is_gone {
                    cx.notice(Notice::Disconnected { transport });
                }
                known.schedule(cx);
            }
            Err(reason) => {
                self.close(cx, transport, changes);
                cx.notice(Notice::Closed { transport, reason });
            }
        }
    }
}

impl DirectTransport {
    fn schedule(&self, cx: &mut Context<'_>) {
        let next = self.liveness.next(self.heard, &cx.shared.config);
        cx.timer(Timer::Transport(self.order.transport), next);
    }
}

/// Refuses an order, in the words of the controller's log.
pub(crate) fn refuse(cx: &mut Context<'_>, transport: TransportId, why: &str) {
    cx.count(Counter::DirectRefused);
    cx.notice(Notice::Refused {
        transport,
        why: format!("a direct transport is refused: {why}"),
    });
}

fn write_leg(cx: &mut Context<'_>, leg: LegId, path: Path, order: &OpenDirect) -> Result<(), WriteError> {
    let forms = cx.plane.capabilities().extensions;
    let entry = Leg {
        paths: vec![path],
        shared: Some(order.rtcp_ssrc_in),
        protection: match &order.keys {
            Some(keys) => Protection::Srtp {
                ingress: keys.ingress.clone(),
                egress: keys.egress.clone(),
            },
            None => Protection::Clear,
        },
        extensions_in: order.extensions_in.within(forms),
        extensions_out: order.extensions_out.within(forms),
    };
    cx.try_write(Update::SetLeg(leg, entry))
}

fn parameters(order: &OpenDirect) -> MediaParameters {
    MediaParameters {
        is_clear: order.keys.is_none(),
        rtcp_ssrc: Some(order.rtcp_ssrc_out),
        extensions_in: order.extensions_in,
        extensions_out: order.extensions_out,
    }
}
