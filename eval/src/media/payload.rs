//! Synthetic payloads: VP8 frames cut as libwebrtc cuts them, and Opus-sized packets.

use super::Stamp;
use super::layers::LayeredFrame;

/// The largest payload of one packet, VP8 descriptor included: the part of 1,200 bytes that
/// libwebrtc uses.
pub(crate) const PAYLOAD_MAX: usize = 1180;

/// X bit, then I bit with a 15-bit picture id: libwebrtc's descriptor for one temporal layer.
pub(crate) const DESCRIPTOR_LEN: usize = 4;

/// The same for three temporal layers: with the base layer's number and this frame's layer.
const LAYERED_DESCRIPTOR_LEN: usize = DESCRIPTOR_LEN + 2;

/// A VP8 key frame begins with ten bytes of header. Delta frames have three; ours pad theirs to
/// ten, so that the stamp has one place.
const FRAME_HEADER_LEN: usize = 10;

/// The least a frame may have: its header and one stamp.
pub(crate) const FRAME_MIN: usize = FRAME_HEADER_LEN + Stamp::LEN;

/// How libwebrtc cuts a frame: as few packets as possible, equal but for one byte, the larger ones
/// last.
///
/// Shape: bytes of the frame in each packet, the descriptor not counted.
/// Source: the rule of RFC 7741 section 4.4's "balanced" fragmentation as libwebrtc applies it.
pub(crate) fn fragment_sizes(frame_len: usize) -> impl ExactSizeIterator<Item = usize> {
    let count = frame_len.div_ceil(PAYLOAD_MAX - DESCRIPTOR_LEN).max(1);
    let (size, larger) = (frame_len / count, frame_len % count);
    (0..count).map(move |index| size + usize::from(index >= count - larger))
}

/// A video packet's position in its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Whether the frame is a key frame.
    pub key_frame: bool,
    /// Whether this is the frame's first packet.
    pub first: bool,
    /// The frame's 15-bit picture id.
    pub picture_id: u16,
    /// The frame's temporal layer, if there are any.
    pub layered: Option<LayeredFrame>,
}

impl Fragment {
    /// Bytes of the VP8 descriptor in front of the frame's.
    pub fn descriptor_len(&self) -> usize {
        if self.layered.is_some() {
            LAYERED_DESCRIPTOR_LEN
        } else {
            DESCRIPTOR_LEN
        }
    }
}

/// Writes one VP8 payload: descriptor, frame header when it is the first, stamp, filler to the end
/// of `payload`.
pub fn write_video(payload: &mut [u8], fragment: Fragment, stamp: &Stamp) {
    payload[0] = 0x80 | u8::from(fragment.first) << 4;
    payload[1] = 0x80;
    payload[2..4].copy_from_slice(&(0x8000 | fragment.picture_id).to_be_bytes());
    if let Some(frame) = fragment.layered {
        // L and T: TL0PICIDX, then TID and Y; N says that no frame refers to this one.
        payload[0] |= u8::from(frame.temporal == 2) << 5;
        payload[1] |= 0x60;
        payload[4] = frame.base_picture;
        payload[5] = frame.temporal << 6 | u8::from(frame.sync) << 5;
    }
    let mut rest = &mut payload[fragment.descriptor_len()..];
    if fragment.first {
        let (header, after) = rest.split_at_mut(FRAME_HEADER_LEN);
        // Frame tag (P bit clear in a key frame, shown), start code, 1280 x 720.
        header.copy_from_slice(&[0x10, 0x02, 0x00, 0x9d, 0x01, 0x2a, 0x00, 0x05, 0xd0, 0x02]);
        header[0] |= u8::from(!fragment.key_frame);
        rest = after;
    }
    write_stamped(rest, stamp);
}

/// Writes one Opus-sized payload: a table-of-contents byte (20 ms, wide band), stamp, filler.
pub fn write_audio(payload: &mut [u8], stamp: &Stamp) {
    payload[0] = 0x78;
    write_stamped(&mut payload[1..], stamp);
}

/// The last byte repeats the number's lowest, so that a payload cut or shifted on its way is
/// noticed.
fn write_stamped(bytes: &mut [u8], stamp: &Stamp) {
    stamp.write(bytes);
    bytes[Stamp::LEN..].fill(stamp.number as u8);
}

/// A payload as parsed by a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The sender's stamp.
    pub stamp: Stamp,
    /// Whether a key frame begins here.
    pub key_frame_start: bool,
}

/// Reads a VP8 payload of ours, with any rewritten descriptor.
///
/// Errors: `None` when the payload is not one of ours, or is damaged.
pub(crate) fn read_video(payload: &[u8]) -> Option<Received> {
    let first = *payload.first()?;
    let mut offset = 1;
    if first & 0x80 != 0 {
        let extended = *payload.get(1)?;
        offset = 2;
        if extended & 0x80 != 0 {
            offset += if payload.get(offset)? & 0x80 != 0 { 2 } else { 1 };
        }
        offset += usize::from(extended & 0x40 != 0) + usize::from(extended & 0x30 != 0);
    }
    let starts_frame = first & 0x1f == 0x10;
    let key_frame_start = starts_frame && payload.get(offset)? & 1 == 0;
    if starts_frame {
        offset += FRAME_HEADER_LEN;
    }
    Some(Received {
        stamp: read_stamped(payload.get(offset..)?)?,
        key_frame_start,
    })
}

/// Reads an Opus-sized payload of ours.
///
/// Errors: `None` when the payload is not one of ours, or is damaged.
pub(crate) fn read_audio(payload: &[u8]) -> Option<Received> {
    Some(Received {
        stamp: read_stamped(payload.get(1..)?)?,
        key_frame_start: false,
    })
}

fn read_stamped(bytes: &[u8]) -> Option<Stamp> {
    let stamp = Stamp::read(bytes)?;
    let whole = bytes.len() == Stamp::LEN || bytes.last() == Some(&(stamp.number as u8));
    whole.then_some(stamp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::layers::TemporalLayers;

    const STAMP: Stamp = Stamp {
        source: 3,
        number: 1000,
        sent_ns: 5,
    };

    #[test]
    fn fragments_cover_the_frame_and_differ_by_at_most_one_byte() {
        for frame_len in FRAME_MIN..60_000 {
            let sizes: Vec<usize> = fragment_sizes(frame_len).collect();
            assert_eq!(sizes.iter().sum::<usize>(), frame_len);
            assert!(sizes.is_sorted() && sizes[sizes.len() - 1] - sizes[0] <= 1, "{sizes:?}");
            assert!(sizes[sizes.len() - 1] + DESCRIPTOR_LEN <= PAYLOAD_MAX);
            assert!(sizes[0] >= FRAME_MIN, "{sizes:?} has no room for a stamp");
        }
    }

    #[test]
    fn video_payloads_round_trip() {
        for (key_frame, first) in [(true, true), (true, false), (false, true), (false, false)] {
            let mut payload = [0u8; 200];
            write_video(
                &mut payload,
                Fragment {
                    key_frame,
                    first,
                    picture_id: 0x1234,
                    layered: None,
                },
                &STAMP,
            );
            let received = read_video(&payload).expect("our own payload");
            assert_eq!(
                received,
                Received {
                    stamp: STAMP,
                    key_frame_start: key_frame && first
                }
            );
        }
    }

    #[test]
    fn layered_payloads_round_trip() {
        let layered = Some(TemporalLayers::default().next(true));
        let fragment = Fragment {
            key_frame: true,
            first: true,
            picture_id: 7,
            layered,
        };
        let mut payload = [0u8; 200];
        write_video(&mut payload, fragment, &STAMP);
        let received = read_video(&payload).expect("our own payload");
        assert_eq!((received.stamp, received.key_frame_start), (STAMP, true));
    }

    #[test]
    fn a_rewritten_descriptor_is_read() {
        let mut payload = [0u8; 100];
        write_video(
            &mut payload,
            Fragment {
                key_frame: true,
                first: true,
                picture_id: 9,
                layered: None,
            },
            &STAMP,
        );
        // 7-bit picture id, TL0PICIDX and TID in place of the 15-bit picture id.
        let mut rewritten = vec![0x90, 0xe0, 0x09, 0x01, 0x00];
        rewritten.extend_from_slice(&payload[DESCRIPTOR_LEN..]);
        assert_eq!(read_video(&rewritten).map(|received| received.stamp), Some(STAMP));
    }

    #[test]
    fn damage_is_noticed() {
        let mut payload = [0u8; 100];
        write_audio(&mut payload, &STAMP);
        assert!(read_audio(&payload).is_some());
        assert_eq!(read_audio(&payload[..30]).map(|received| received.stamp), Some(STAMP));
        payload[99] ^= 1;
        assert_eq!(read_audio(&payload), None);
        for len in 0..24 {
            assert_eq!(read_audio(&payload[..len]), None);
            assert_eq!(read_video(&payload[..len]), None);
        }
    }
}
