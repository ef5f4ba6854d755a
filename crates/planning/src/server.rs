/// A software SFU, whose capacity is a rate for each core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Server {
    /// Processor cores.
    pub cores: u64,
    /// Bits a second, received and sent, of one core.
    pub rate_per_core: u64,
}

impl Server {
    /// Mediasoup on 32 cores: 192 meetings of ten participants who all send 3 Mbit/s are 1,800
    /// Mbit/s a core.
    ///
    /// Source: Scallop section 6.2. Its published code has 2,400 Mbit/s, 256 meetings.
    pub const fn mediasoup() -> Self {
        Self {
            cores: 32,
            rate_per_core: 1_800_000_000,
        }
    }

    /// Meetings that need this many bits a second each.
    pub fn meetings(&self, bandwidth: u64) -> u64 {
        (self.cores * self.rate_per_core)
            .checked_div(bandwidth)
            .unwrap_or(u64::MAX)
    }
}
