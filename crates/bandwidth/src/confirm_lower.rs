//! Probes that found less than the current estimate.

use crate::ProbeId;

/// A receiver that was busy with something else for a moment reports the end of a probe late, which
/// looks like a narrower path. This does not happen twice in a row by the same amount. So two
/// probes have to agree, and the higher result counts.
#[derive(Debug, Default)]
pub(crate) struct ConfirmLower {
    /// The last one, whose measurement may be repeated with every arriving packet.
    newest: Option<(ProbeId, f64)>,
    /// The result of the probe before it.
    before: Option<f64>,
}

impl ConfirmLower {
    /// A probe found less than the estimate. Returns the rate that is proved. Shape: bits per
    /// second.
    pub(crate) fn found(&mut self, probe: ProbeId, rate: f64) -> Option<f64> {
        if let Some((_, other)) = self.newest.filter(|newest| newest.0 != probe) {
            self.before = Some(other);
        }
        self.newest = Some((probe, rate));
        self.before.map(|before| before.max(rate))
    }

    /// One found more.
    pub(crate) fn refuted(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_in_a_row_prove_the_higher_result() {
        let mut confirm = ConfirmLower::default();
        assert_eq!(confirm.found(ProbeId(1), 2e6), None);
        assert_eq!(confirm.found(ProbeId(1), 1e6), None, "the same one, measured again");
        assert_eq!(confirm.found(ProbeId(2), 1.5e6), Some(1.5e6));
        assert_eq!(confirm.found(ProbeId(3), 1.2e6), Some(1.5e6));
        assert_eq!(confirm.found(ProbeId(4), 1.1e6), Some(1.2e6));
    }

    #[test]
    fn a_higher_probe_in_between_refutes_it() {
        let mut confirm = ConfirmLower::default();
        confirm.found(ProbeId(1), 1e6);
        confirm.refuted();
        assert_eq!(confirm.found(ProbeId(3), 1e6), None);
    }
}
