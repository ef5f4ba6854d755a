//! Datagrams in a stream of bytes, each after its length (RFC 4571 section 2): the form of STUN,
//! DTLS and media on a TCP connection (RFC 6544 section 3).

/// Bytes before each datagram: its length, the high byte first.
pub const HEADER: usize = 2;

/// A frame is longer than its reader takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameTooLong;

/// Appends a datagram as one frame.
///
/// Panics when it is longer than 65 535 bytes, which no datagram is.
pub fn write(datagram: &[u8], into: &mut Vec<u8>) {
    let len = u16::try_from(datagram.len()).expect("a datagram has at most 65 535 bytes");
    into.extend_from_slice(&len.to_be_bytes());
    into.extend_from_slice(datagram);
}

/// The length of the first frame with its header; `None` while it is incomplete.
///
/// Errors: its datagram is longer than `longest`.
pub fn first(bytes: &[u8], longest: usize) -> Result<Option<usize>, FrameTooLong> {
    let Some(len) = announced(bytes) else {
        return Ok(None);
    };
    if len > longest {
        return Err(FrameTooLong);
    }
    Ok((bytes.len() >= HEADER + len).then_some(HEADER + len))
}

/// Reads frames out of bytes that arrive in pieces. It keeps an incomplete frame, and nothing else.
#[derive(Debug)]
pub struct Deframer {
    longest: usize,
    partial: Vec<u8>,
}

impl Deframer {
    /// A reader at the beginning of a stream, whose datagrams have at most `longest` bytes.
    pub fn new(longest: usize) -> Self {
        Deframer {
            longest,
            partial: Vec::new(),
        }
    }

    /// Passes every datagram that `bytes` complete to `take`, in order. Empty ones, which keep
    /// connections open, are left out.
    ///
    /// Errors: a datagram is too long. The reader has then lost its place in the stream, so the
    /// connection is of no more use.
    pub fn push(&mut self, bytes: &[u8], take: impl FnMut(&[u8])) -> Result<(), FrameTooLong> {
        self.push_some(bytes, usize::MAX, take).map(drop)
    }

    /// The same for at most so many frames, empty ones included. Returns how many of the bytes were
    /// read; the others are to be passed again.
    ///
    /// Errors: as those of [`push`](Self::push).
    pub fn push_some(
        &mut self,
        bytes: &[u8],
        frames_max: usize,
        mut take: impl FnMut(&[u8]),
    ) -> Result<usize, FrameTooLong> {
        let (mut rest, mut frames) = (bytes, 0);
        while !rest.is_empty() && frames < frames_max {
            if self.partial.is_empty() {
                let Some(len) = first(rest, self.longest)? else {
                    self.partial.extend_from_slice(rest);
                    return Ok(bytes.len());
                };
                give(&rest[..len], &mut take);
                rest = &rest[len..];
                frames += 1;
            } else {
                let (more, after) = rest.split_at(self.missing().min(rest.len()));
                self.partial.extend_from_slice(more);
                rest = after;
                if let Some(len) = first(&self.partial, self.longest)? {
                    give(&self.partial[..len], &mut take);
                    self.partial.clear();
                    frames += 1;
                }
            }
        }
        Ok(bytes.len() - rest.len())
    }

    /// The bytes that complete the header of the incomplete frame, or else the frame.
    fn missing(&self) -> usize {
        let whole = HEADER + announced(&self.partial).unwrap_or(0);
        whole.saturating_sub(self.partial.len())
    }
}

/// The length in a header, once it is there.
fn announced(bytes: &[u8]) -> Option<usize> {
    bytes
        .first_chunk::<HEADER>()
        .map(|len| usize::from(u16::from_be_bytes(*len)))
}

fn give(frame: &[u8], take: &mut impl FnMut(&[u8])) {
    if frame.len() > HEADER {
        take(&frame[HEADER..]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(deframer: &mut Deframer, bytes: &[u8]) -> Result<Vec<Vec<u8>>, FrameTooLong> {
        let mut taken = Vec::new();
        deframer
            .push(bytes, |datagram| taken.push(datagram.to_vec()))
            .map(|()| taken)
    }

    #[test]
    fn an_empty_frame_is_no_datagram() {
        let mut deframer = Deframer::new(10);
        assert_eq!(read(&mut deframer, &[0, 0, 0, 1, 7, 0]), Ok(vec![vec![7]]));
        assert_eq!(read(&mut deframer, &[0, 0, 2, 8, 9]), Ok(vec![vec![8, 9]]));
    }

    #[test]
    fn a_frame_may_be_as_long_as_its_reader_takes_and_no_longer() {
        assert_eq!(read(&mut Deframer::new(2), &[0, 2, 1, 2]), Ok(vec![vec![1, 2]]));
        assert_eq!(read(&mut Deframer::new(2), &[0, 3]), Err(FrameTooLong));
        let mut deframer = Deframer::new(2);
        assert_eq!(read(&mut deframer, &[0]), Ok(vec![]));
        assert_eq!(read(&mut deframer, &[3]), Err(FrameTooLong), "before its bytes arrive");
    }

    proptest! {
        #[test]
        fn datagrams_arrive_as_they_were_sent_however_the_stream_is_cut(
            datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 0..20),
            cut in 1usize..400,
            frames_max in 1usize..5,
        ) {
            let mut bytes = Vec::new();
            datagrams.iter().for_each(|datagram| write(datagram, &mut bytes));
            let mut deframer = Deframer::new(300);
            let mut taken = Vec::new();
            for mut piece in bytes.chunks(cut) {
                while !piece.is_empty() {
                    let before = taken.len();
                    let len = deframer
                        .push_some(piece, frames_max, |datagram| taken.push(datagram.to_vec()))
                        .unwrap();
                    prop_assert!(taken.len() - before <= frames_max);
                    piece = &piece[len..];
                }
            }
            prop_assert_eq!(taken, datagrams);
        }
    }
}
