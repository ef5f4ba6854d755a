//! The election of the primary controller.

/// One controller's stream.
#[derive(Debug)]
struct Contender {
    stream: u64,
    /// Zero never is primary.
    election: u128,
}

/// All controllers of a device.
#[derive(Debug, Default)]
pub(crate) struct Arbitration {
    contenders: Vec<Contender>,
}

/// The streams that a device serves at once, as in BMv2.
const STREAMS_MAX: usize = 16;

/// The reason why a controller is not admitted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Rejected {
    /// Another controller has this election id.
    Taken,
    /// Too many streams.
    Full,
}

impl Arbitration {
    /// Admits a controller, or changes its election id. Returns whether the primary has changed.
    pub(crate) fn contend(&mut self, stream: u64, election: u128) -> Result<bool, Rejected> {
        let is_other = |it: &Contender| it.stream != stream && it.election == election;
        if election != 0 && self.contenders.iter().any(is_other) {
            return Err(Rejected::Taken);
        }
        let before = self.primary();
        let is_full = self.contenders.len() >= STREAMS_MAX;
        match self.contenders.iter_mut().find(|it| it.stream == stream) {
            Some(contender) => contender.election = election,
            None if is_full => return Err(Rejected::Full),
            None => self.contenders.push(Contender { stream, election }),
        }
        Ok(self.primary() != before)
    }

    /// Removes a controller. Returns whether the primary has changed.
    pub(crate) fn leave(&mut self, stream: u64) -> bool {
        let before = self.primary();
        self.contenders.retain(|it| it.stream != stream);
        self.primary() != before
    }

    /// The primary's stream and election id.
    pub(crate) fn primary(&self) -> Option<(u64, u128)> {
        let contenders = self.contenders.iter().filter(|it| it.election != 0);
        contenders
            .max_by_key(|it| it.election)
            .map(|it| (it.stream, it.election))
    }

    /// Whether an election id is the primary's.
    pub(crate) fn is_primary(&self, election: u128) -> bool {
        self.primary().is_some_and(|it| it.1 == election)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_election_id_is_primary_and_the_next_one_after_it() {
        let mut arbitration = Arbitration::default();
        assert_eq!(arbitration.contend(1, 10), Ok(true));
        assert_eq!(arbitration.contend(2, 9), Ok(false));
        assert_eq!(arbitration.contend(3, 11), Ok(true));
        assert!(arbitration.is_primary(11));
        assert!(arbitration.leave(3));
        assert!(arbitration.is_primary(10));
        assert_eq!(arbitration.contend(2, 12), Ok(true));
        assert_eq!(arbitration.primary(), Some((2, 12)));
    }

    #[test]
    fn an_election_id_is_taken_once_and_zero_never_wins() {
        let mut arbitration = Arbitration::default();
        assert_eq!(arbitration.contend(1, 0), Ok(false));
        assert_eq!(arbitration.contend(2, 0), Ok(false));
        assert!(!arbitration.is_primary(0));
        assert_eq!(arbitration.contend(3, 5), Ok(true));
        assert_eq!(arbitration.contend(4, 5), Err(Rejected::Taken));
        assert_eq!(arbitration.contend(3, 5), Ok(false));
    }

    #[test]
    fn streams_have_a_limit() {
        let mut arbitration = Arbitration::default();
        for stream in 0..STREAMS_MAX as u64 {
            assert!(arbitration.contend(stream, u128::from(stream) + 1).is_ok());
        }
        assert_eq!(arbitration.contend(99, 99), Err(Rejected::Full));
    }
}
