//! The datagrams of a batch: for each receiver back to back, cut into runs that the kernel can
//! segment.

use std::time::Instant;

use dataplane::{Departure, LegId, Path};

/// The most datagrams in one run (the kernel's UDP_MAX_SEGMENTS).
const SEGMENTS_MAX: u16 = 64;
/// The most bytes in one run: what fits into one IP packet before it is segmented.
const RUN_BYTES_MAX: usize = 65_000;
/// A receiver's buffer that grew beyond this in one batch is shrunk after it.
const BUFFER_KEPT_MAX: usize = 256 * 1024;

/// Takes the datagrams a shard sends.
pub trait Transmit {
    /// Sends every run, in order; returns how many datagrams could not be sent.
    fn transmit<'a>(&mut self, runs: impl Iterator<Item = Run<'a>>) -> u64;
}

/// Datagrams to one address: all `segment` bytes long, but the last, which may be shorter.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The receiver; `None` for a datagram that the agent addressed itself.
    pub leg: Option<LegId>,
    /// The local and the remote address.
    pub path: Path,
    /// The datagrams, back to back. Not empty.
    pub bytes: &'a [u8],
    /// The length of each but the last, in bytes of UDP payload.
    pub segment: usize,
}

impl<'a> Run<'a> {
    /// One datagram after the other.
    pub fn datagrams(&self) -> impl ExactSizeIterator<Item = &'a [u8]> {
        self.bytes.chunks(self.segment)
    }

    /// The same datagrams in runs of `len` bytes, which is a whole number of segments.
    pub(crate) fn cut(self, len: usize) -> impl Iterator<Item = Run<'a>> {
        self.bytes.chunks(len).map(move |bytes| Run { bytes, ..self })
    }
}

/// The runs of the current batch, by receiver, in the order in which receivers got their first
/// datagram.
#[derive(Debug, Default)]
pub(crate) struct EgressRuns {
    buffers: Vec<Buffer>,
    used: usize,
    batch: u64,
}

/// Which buffer a leg fills in which batch; stale as soon as the batch is over.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunKey {
    batch: u64,
    buffer: usize,
}

/// One receiver's datagrams.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    leg: Option<LegId>,
    pub(crate) bytes: Vec<u8>,
    runs: Vec<Cut>,
    /// The numbered ones among them, to be reported.
    pub(crate) departures: Vec<Departure>,
}

#[derive(Clone, Copy, Debug)]
struct Cut {
    path: Path,
    start: usize,
    end: usize,
    segment: usize,
    count: u16,
}

impl EgressRuns {
    pub(crate) fn new() -> Self {
        // No key starts out with the first batch's number.
        EgressRuns {
            batch: 1,
            ..EgressRuns::default()
        }
    }

    /// The buffer of a leg in this batch.
    pub(crate) fn buffer(&mut self, leg: LegId, key: &mut RunKey) -> &mut Buffer {
        if key.batch != self.batch {
            *key = RunKey {
                batch: self.batch,
                buffer: self.add(Some(leg)),
            };
        }
        &mut self.buffers[key.buffer]
    }

    /// Adds a datagram that belongs to no leg.
    pub(crate) fn push_loose(&mut self, path: Path, bytes: &[u8]) {
        let buffer = self.add(None);
        let buffer = &mut self.buffers[buffer];
        buffer.bytes.extend_from_slice(bytes);
        buffer.cut(path, 0);
    }

    fn add(&mut self, leg: Option<LegId>) -> usize {
        if self.used == self.buffers.len() {
            self.buffers.push(Buffer::default());
        }
        self.buffers[self.used].leg = leg;
        self.used += 1;
        self.used - 1
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Reports what is numbered, sends everything and starts the next batch; returns how many
    /// datagrams could not be sent.
    pub(crate) fn flush(&mut self, out: &mut impl Transmit, mut report: impl FnMut(LegId, &[Departure])) -> u64 {
        let used = &self.buffers[..self.used];
        for (leg, buffer) in used.iter().filter_map(|buffer| Some((buffer.leg?, buffer))) {
            report(leg, &buffer.departures);
        }
        let failed = out.transmit(used.iter().flat_map(Buffer::runs));
        self.buffers[..self.used].iter_mut().for_each(Buffer::reset);
        self.used = 0;
        self.batch += 1;
        failed
    }
}

impl Buffer {
    /// Ends a datagram, which is everything from `start` on: lengthens the last run, or begins
    /// another.
    pub(crate) fn cut(&mut self, path: Path, start: usize) {
        let end = self.bytes.len();
        match self.runs.last_mut() {
            Some(run) if run.path == path && run.takes(end - start) => {
                run.end = end;
                run.count += 1;
            }
            _ => self.runs.push(Cut {
                path,
                start,
                end,
                segment: end - start,
                count: 1,
            }),
        }
    }

    pub(crate) fn departed(&mut self, at: Instant, transport_sequence: u16, size: usize, probe: Option<u32>) {
        self.departures.push(Departure {
            at,
            transport_sequence,
            size: size as u16,
            probe,
        });
    }

    fn runs(&self) -> impl Iterator<Item = Run<'_>> {
        self.runs.iter().map(|cut| Run {
            leg: self.leg,
            path: cut.path,
            bytes: &self.bytes[cut.start..cut.end],
            segment: cut.segment,
        })
    }

    fn reset(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(BUFFER_KEPT_MAX);
        self.runs.clear();
        self.departures.clear();
    }
}

impl Cut {
    /// Whether a datagram of `len` bytes may follow: all before it are whole segments, and it is
    /// not longer than one.
    fn takes(&self, len: usize) -> bool {
        let whole = (self.end - self.start) == usize::from(self.count) * self.segment;
        let fits = self.count < SEGMENTS_MAX && self.end - self.start + len <= RUN_BYTES_MAX;
        whole && fits && 0 < len && len <= self.segment
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Taken(Vec<(usize, Vec<usize>)>);

    impl Transmit for Taken {
        fn transmit<'a>(&mut self, runs: impl Iterator<Item = Run<'a>>) -> u64 {
            self.0
                .extend(runs.map(|run| (run.segment, run.datagrams().map(<[u8]>::len).collect())));
            0
        }
    }

    fn path() -> Path {
        Path {
            local: "10.0.0.1:1".parse().unwrap(),
            remote: "10.0.0.2:2".parse().unwrap(),
        }
    }

    fn runs_of(sizes: &[usize]) -> Vec<Vec<usize>> {
        let (mut egress, mut key, mut taken) = (EgressRuns::new(), RunKey::default(), Taken(Vec::new()));
        for size in sizes {
            let buffer = egress.buffer(LegId(1), &mut key);
            let start = buffer.bytes.len();
            buffer.bytes.resize(start + size, 0);
            buffer.cut(path(), start);
        }
        egress.flush(&mut taken, |_, _| {});
        taken.0.into_iter().map(|(_, sizes)| sizes).collect()
    }

    #[test]
    fn a_run_is_equal_sizes_and_one_shorter_last() {
        assert_eq!(runs_of(&[1_000, 1_000, 999, 999]), [vec![1_000, 1_000, 999], vec![999]]);
        assert_eq!(runs_of(&[999, 999, 1_000, 1_000]), [vec![999, 999], vec![1_000, 1_000]]);
        assert_eq!(runs_of(&[1_000, 80, 1_000]), [vec![1_000, 80], vec![1_000]]);
    }

    #[test]
    fn a_run_has_an_end() {
        assert_eq!(
            runs_of(&[100; 130]).iter().map(Vec::len).collect::<Vec<_>>(),
            [64, 64, 2]
        );
        assert_eq!(runs_of(&[1_500; 64]).iter().map(Vec::len).collect::<Vec<_>>(), [43, 21]);
    }

    proptest! {
        #[test]
        fn no_datagram_is_lost_or_out_of_order(sizes in prop::collection::vec(1_100usize..1_104, 0..200)) {
            prop_assert_eq!(runs_of(&sizes).concat(), sizes);
        }
    }
}
