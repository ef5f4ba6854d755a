//! RTCP of a leg: it always goes to the agent. By an entry a receiver's estimates are forwarded to
//! a publisher as well.
//!
//! Source: Scallop sections 5.3 and 5.5.

use std::time::Instant;

use super::{Egress, Ingress, LegState, Model};
use crate::feedback::has_estimates;
use crate::{Counter, LegId, Protection, PuntKind, Verdict, WriteError};

impl Model {
    pub(super) fn set_feedback(&mut self, from: LegId, to: Option<LegId>) -> Result<(), WriteError> {
        if to.is_some_and(|to| !self.legs.contains_key(&to)) {
            return Err(WriteError::UnknownLeg);
        }
        let leg = self.legs.get_mut(&from).ok_or(WriteError::UnknownLeg)?;
        leg.feedback = to;
        Ok(())
    }

    pub(super) fn rtcp(&mut self, now: Instant, leg: LegId, arrival: Ingress<'_>, out: &mut Vec<Egress>) -> Verdict {
        if self.legs[&leg].is_clear() {
            out.extend(self.forwarded_feedback(leg, arrival.bytes));
        }
        self.punt(now, arrival, Some(leg), PuntKind::Rtcp, Counter::PuntedRtcp)
    }

    /// A receiver's estimates as they are sent to a publisher: unchanged.
    fn forwarded_feedback(&self, from: LegId, bytes: &[u8]) -> Option<Egress> {
        let to = self.legs[&from].feedback.filter(|_| has_estimates(bytes))?;
        let leg = self.legs.get(&to).filter(|leg| leg.is_clear())?;
        Some(Egress {
            leg: Some(to),
            path: leg.ready()?,
            bytes: bytes.to_vec(),
        })
    }
}

impl LegState {
    fn is_clear(&self) -> bool {
        self.entry.protection == Protection::Clear
    }
}
