//! Connectivity checks, and answers to ours: to which transport they belong, and which of two that
//! name one address it belongs to.

use dataplane::Path;
use southbound::TransportId;

use super::{Change, Transports};
use crate::context::Context;
use crate::counters::Counter;
use crate::ice::{CheckId, PathChange, Source};

impl Transports {
    /// STUN from anywhere.
    pub(crate) fn receive_stun(
        &mut self,
        cx: &mut Context<'_>,
        path: Path,
        datagram: &[u8],
        changes: &mut Vec<Change>,
    ) {
        let result = match wire::stun::binding_success(datagram) {
            Some(answer) => self.answer(cx, path, &answer.id, datagram, changes),
            None => self.check(cx, path, datagram, changes),
        };
        if let Err(counter) = result {
            cx.count(counter);
        }
    }

    fn check(
        &mut self,
        cx: &mut Context<'_>,
        path: Path,
        datagram: &[u8],
        changes: &mut Vec<Change>,
    ) -> Result<(), Counter> {
        let (local, _) = wire::stun::username(datagram).ok_or(Counter::StunMalformed)?;
        let id = *self
            .by_ufrag
            .get(local)
            .ok_or_else(|| match self.departed.knows(cx.now, local) {
                true => Counter::CheckLate,
                false => Counter::CheckUnknownUfrag,
            })?;
        let rival = self.by_path.get(&path).copied().filter(|owner| *owner != id);
        if rival.is_some_and(|rival| self.has_proved_recently(cx, rival, path)) {
            return Err(Counter::PathContested);
        }
        let source = match cx.shared.config.is_tcp(&path) {
            true => Source::Connection,
            false => Source::Datagram {
                contested: rival.is_some(),
            },
        };
        let entry = self.all.get_mut(&id).expect("user fragments name transports");
        let checked = entry.transport.ice.check(cx.now, path, source, datagram)?;
        cx.count(if checked.is_accepted {
            Counter::CheckAnswered
        } else {
            Counter::RoleConflict
        });
        if let Some(rival) = rival.filter(|_| checked.consents) {
            self.take_path(cx, rival, path, changes);
        }
        self.paths_changed(cx, id, checked.change, checked.consents, changes);
        // Only now: the peer may send media the moment it reads this.
        cx.send(path, &checked.reply);
        Ok(())
    }

    /// An answer to a check of ours came: the peer is at this address.
    fn answer(
        &mut self,
        cx: &mut Context<'_>,
        path: Path,
        check: &CheckId,
        datagram: &[u8],
        changes: &mut Vec<Change>,
    ) -> Result<(), Counter> {
        let id = *self.by_check.get(check).ok_or(Counter::AnswerUnexpected)?;
        let rival = self.by_path.get(&path).copied().filter(|owner| *owner != id);
        if rival.is_some_and(|rival| self.has_proved_recently(cx, rival, path)) {
            return Err(Counter::PathContested);
        }
        let entry = self.all.get_mut(&id).expect("checks name transports");
        let change = entry.transport.ice.answer(cx.now, path, datagram)?;
        cx.count(Counter::AnswerReceived);
        if let Some(rival) = rival {
            self.take_path(cx, rival, path, changes);
        }
        self.paths_changed(cx, id, change, true, changes);
        Ok(())
    }

    /// Follows the effect of a check or of an answer.
    fn paths_changed(
        &mut self,
        cx: &mut Context<'_>,
        id: TransportId,
        change: PathChange,
        consents: bool,
        changes: &mut Vec<Change>,
    ) {
        self.with(cx, id, changes, |transport, cx, identity| {
            let result = match change {
                PathChange::Paths | PathChange::Moved => transport.paths_changed(cx, identity),
                PathChange::Nothing => Ok(()),
            };
            if consents {
                transport.consented(cx);
            }
            transport.ice.send_checks(cx);
            result
        });
        if change == PathChange::Moved {
            changes.push(Change::Moved(id));
        }
    }

    fn has_proved_recently(&self, cx: &Context<'_>, transport: TransportId, path: Path) -> bool {
        let proved = self
            .all
            .get(&transport)
            .and_then(|entry| entry.transport.ice.proved_at(path));
        proved.is_some_and(|at| cx.now.saturating_duration_since(at) < cx.shared.config.disconnect_timeout)
    }

    /// A direct transport has this path now.
    pub(crate) fn give_up(&mut self, cx: &mut Context<'_>, path: Path, changes: &mut Vec<Change>) {
        if let Some(owner) = self.by_path.get(&path).copied() {
            self.take_path(cx, owner, path, changes);
        }
    }

    /// Another transport has proved to be where this one was long ago: a port that was used again.
    fn take_path(&mut self, cx: &mut Context<'_>, from: TransportId, path: Path, changes: &mut Vec<Change>) {
        self.with(cx, from, changes, |transport, cx, identity| {
            transport.ice.forget(path);
            transport.paths_changed(cx, identity)
        });
    }
}
