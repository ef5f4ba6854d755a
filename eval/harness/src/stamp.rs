/// The generator's mark in each payload, which a server that forwards without decoding cannot
/// change.
///
/// Receivers compute one-way latency, loss, duplication and reordering from it, end to end.
///
/// Shape: 24 bytes, big endian: magic, source, number, time in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Which source of this run sent the packet.
    pub source: u32,
    /// The packet's number at its source: 0, 1, 2, ...
    pub number: u64,
    /// When it was sent, on the clock by which the kernel stamps arrivals.
    pub sent_ns: u64,
}

const MAGIC: u32 = 0x5e1f_be4c;

impl Stamp {
    /// Bytes in a payload.
    pub const LEN: usize = 24;

    /// Writes the stamp at the front of `bytes`, which must hold [`LEN`](Self::LEN).
    pub fn write(&self, bytes: &mut [u8]) {
        bytes[..4].copy_from_slice(&MAGIC.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.source.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.number.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.sent_ns.to_be_bytes());
    }

    /// Reads a stamp from the front of `bytes`, if there is one.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::LEN] = bytes.first_chunk()?;
        let (magic, rest) = bytes.split_first_chunk::<4>()?;
        let (source, rest) = rest.split_first_chunk::<4>()?;
        let (number, sent) = rest.split_first_chunk::<8>()?;
        (u32::from_be_bytes(*magic) == MAGIC).then_some(Self {
            source: u32::from_be_bytes(*source),
            number: u64::from_be_bytes(*number),
            sent_ns: u64::from_be_bytes(*sent.first_chunk()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_values_are_read_back() {
        let stamp = Stamp {
            source: 7,
            number: u64::MAX - 1,
            sent_ns: 1_234_567_890_123_456_789,
        };
        let mut bytes = [0u8; 30];
        stamp.write(&mut bytes);
        assert_eq!(Stamp::read(&bytes), Some(stamp));
    }

    #[test]
    fn other_bytes_are_no_stamp() {
        assert_eq!(Stamp::read(&[0; 24]), None);
        assert_eq!(Stamp::read(&[0; 3]), None);
    }
}
