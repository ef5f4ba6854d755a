//! Probes that found less than the current estimate.

use crate::ProbeId;

/// A receiver that was busy with something else for a moment sees the end of a probe late, which
/// looks like a path that carries less. It does not happen twice in a row by the same amount, so
/// two probes have to say it, and the one that found more is believed.
#[derive(Debug, Default)]
pub(crate) struct ConfirmLower {
    /// The last one, whose measurement may be told again with every packet that arrives.
    newest: Option<(ProbeId, f64)>,
    /// The result of the probe before it.
    before: Option<f64>,
}

impl ConfirmLower {
    /// A probe found less than is believed. Returns what is proved by it. Shape: bits per second.
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
