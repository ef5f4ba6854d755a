//! Datagrams of a network namespace, read from `/proc`.

use std::fs;

/// Counts of the UDP sockets in a network namespace since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Datagrams {
    /// Datagrams that programs read. A run of segments that a socket with `UDP_GRO` takes whole is
    /// one.
    pub read: u64,
    /// Datagrams that were dropped at full sockets.
    pub dropped: u64,
}

impl Datagrams {
    /// The counts of this network namespace.
    pub fn sample() -> Self {
        Self::within("self")
    }

    /// The counts of the network namespace in which another process runs.
    pub fn sample_of(pid: u32) -> Self {
        Self::within(&pid.to_string())
    }

    fn within(process: &str) -> Self {
        Self::parse(&fs::read_to_string(format!("/proc/{process}/net/snmp")).unwrap_or_default())
    }

    /// Reads the line of names and the line of values, whose order differs between kernels.
    fn parse(text: &str) -> Self {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
        let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        let count = |wanted: &str| {
            let mut columns = names.split_ascii_whitespace().zip(values.split_ascii_whitespace());
            let value = columns.find_map(|(name, value)| (name == wanted).then_some(value));
            value.and_then(|value| value.parse().ok()).unwrap_or(0)
        };
        Self {
            read: count("InDatagrams"),
            dropped: count("RcvbufErrors"),
        }
    }

    /// The counts since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            read: self.read.saturating_sub(earlier.read),
            dropped: self.dropped.saturating_sub(earlier.dropped),
        }
    }

    /// Datagrams that arrived at sockets, those that were dropped there included.
    pub fn arrived(&self) -> u64 {
        self.read + self.dropped
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    const SNMP: &str = "\
Tcp: RtoAlgorithm InSegs
Tcp: 1 9
Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti MemErrors
Udp: 700 2 5 800 4 0 1 0 0
UdpLite: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti MemErrors
UdpLite: 1 1 1 1 1 1 1 1 1
";

    #[test]
    fn columns_are_found_by_name() {
        let counted = Datagrams::parse(SNMP);
        assert_eq!(counted, Datagrams { read: 700, dropped: 4 });
        assert_eq!(counted.arrived(), 704);
        assert_eq!(Datagrams::parse(""), Datagrams::default());
    }

    #[test]
    fn a_datagram_that_is_read_is_counted() {
        let receiver = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let sender = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let earlier = Datagrams::sample();
        let to = receiver.local_addr().expect("bound");
        sender.send_to(b"one", to).expect("sent");
        receiver.recv(&mut [0; 8]).expect("received");
        assert!(Datagrams::sample().since(&earlier).read >= 1);
    }
}
