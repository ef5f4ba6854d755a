//! Counters.

/// One counter. The bytes are those of whole packets as they were received, in egress as well.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Count {
    pub(crate) fn add(&mut self, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes as u64;
    }
}

/// Counts of a switch beside the program's own counters.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Statistics {
    /// Packets received.
    pub received: u64,
    /// Packets sent, to the controller's port as well.
    pub sent: u64,
    /// Packets that a pipeline dropped.
    pub dropped: u64,
    /// Packets to a group that does not exist or is empty.
    pub absent_groups: u64,
    /// Clones to a session that does not exist.
    pub absent_sessions: u64,
    /// Packets whose parser visited too many states.
    pub parser_timeouts: u64,
    /// Copies beyond the limit of one packet.
    pub too_many_copies: u64,
    /// Recirculated packets beyond the limit of one packet.
    pub too_many_rounds: u64,
    /// Packets that would be longer than a datagram can be.
    pub too_long: u64,
    /// Indices out of range, divisions by zero and broken assertions.
    pub faults: u64,
}

impl Statistics {
    /// All counts with their names.
    #[must_use]
    pub fn all(&self) -> [(&'static str, u64); 10] {
        [
            ("received", self.received),
            ("sent", self.sent),
            ("dropped", self.dropped),
            ("absent_groups", self.absent_groups),
            ("absent_sessions", self.absent_sessions),
            ("parser_timeouts", self.parser_timeouts),
            ("too_many_copies", self.too_many_copies),
            ("too_many_rounds", self.too_many_rounds),
            ("too_long", self.too_long),
            ("faults", self.faults),
        ]
    }
}
