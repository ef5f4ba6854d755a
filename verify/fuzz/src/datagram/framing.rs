//! Datagrams in a stream of bytes.

use wire::framing::{self, Deframer};

/// The longest datagram that the reader takes, as the data plane does.
const LONGEST: usize = 1_500;

/// Framed datagrams: however the stream is cut, the same ones are read, and they are as long as
/// their frames say.
pub fn framing(data: &[u8]) {
    let whole = read(data, data.len().max(1));
    assert_eq!(whole, read(data, 1 + data.len() % 7));
    let Some(datagrams) = whole else { return };
    let mut again = Vec::new();
    datagrams
        .iter()
        .for_each(|datagram| framing::write(datagram, &mut again));
    assert_eq!(read(&again, again.len().max(1)), Some(datagrams));
}

fn read(data: &[u8], cut: usize) -> Option<Vec<Vec<u8>>> {
    let mut deframer = Deframer::new(LONGEST);
    let mut taken = Vec::new();
    for piece in data.chunks(cut) {
        deframer.push(piece, |datagram| taken.push(datagram.to_vec())).ok()?;
    }
    Some(taken)
}
