//! The receiving half of a leg's SRTP.

use dataplane::{MasterKey, Mki};

use super::cipher::Cipher;
use super::indexes::nearest_index;
use super::kdf::Protocol;
use super::packet::{PacketId, RTCP_CLEAR, RTP_HEADER_MIN, u16_at, u32_at};
use super::streams::Streams;
use crate::replay_window::{ReplayWindow, Stale};

/// SSRCs a leg may send RTP from, and RTCP from, under one key. A person with three encodings,
/// their repair streams and audio uses seven.
const STREAMS_MAX: usize = 256;
/// Bytes of sealed payload that are kept for a second attempt at a stream's first packet; more than
/// any path carries.
const FIRST_PACKET_MAX: usize = 2048;

/// Why a packet was not opened. All are for dropping and counting; none changes any state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpenError {
    /// Too short, or not RTP or RTCP of version 2. The sender's fault.
    Malformed,
    /// The tag is wrong: not sent by our peer, damaged, or under other keys.
    Authentication,
    /// A packet with this index was opened before. Networks duplicate; attackers replay.
    Replayed,
    /// Further behind its stream's newest packet than the replay window remembers (1,024 packets).
    TooOld,
    /// The leg's table of SSRCs is full (256) and this one is not in it.
    TooManyStreams,
}

impl From<Stale> for OpenError {
    fn from(stale: Stale) -> Self {
        match stale {
            Stale::Seen => Self::Replayed,
            Stale::TooOld => Self::TooOld,
        }
    }
}

/// An RTP packet that was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Bytes of header and payload at the start of the buffer; the tag behind them is spent.
    pub len: usize,
    /// The 48-bit extended sequence number.
    pub index: u64,
}

/// Verifies, decrypts and admits what one leg receives, each packet once.
///
/// Nothing is remembered of a packet that does not authenticate, so a stranger cannot fill the
/// table of streams or move a window. After an error the packet's bytes are unspecified.
pub struct Opener {
    key: Key,
    /// Further keys of the sender. A stream's indexes go on from one to another (RFC 3711 section
    /// 8.1).
    others: Vec<Key>,
    rtp_streams: Streams<ReplayWindow>,
    /// By sender SSRC, because libsrtp, and so every browser, counts SRTCP indexes per SSRC.
    rtcp_streams: Streams<ReplayWindow>,
    /// The highest index of each stream under the sender's last keys.
    before: Streams<u64>,
}

/// One of the sender's keys.
struct Key {
    /// The key identifier (MKI) in each packet, if there is one.
    mki: Option<Mki>,
    rtp: Cipher,
    rtcp: Cipher,
}

impl Key {
    fn new(master: &MasterKey) -> Self {
        Self {
            mki: master.parameters().mki,
            rtp: Cipher::new(master, Protocol::Rtp),
            rtcp: Cipher::new(master, Protocol::Rtcp),
        }
    }

    /// Whether a packet names this key in front of a tag of `tag_len` bytes.
    fn is_named(&self, tag_len: usize, packet: &[u8]) -> bool {
        self.mki
            .is_some_and(|mki| mki_in(mki, tag_len, packet).is_some_and(|bytes| mki.is(bytes)))
    }
}

impl Opener {
    /// An opener for the keys our peer sends under.
    pub fn new(master: &MasterKey) -> Self {
        Self {
            key: Key::new(master),
            others: master.others().iter().map(Key::new).collect(),
            rtp_streams: Streams::with_limit(STREAMS_MAX),
            rtcp_streams: Streams::with_limit(STREAMS_MAX),
            before: Streams::with_limit(STREAMS_MAX),
        }
    }

    /// The sender has had other keys until now. It may count on from them (RFC 3711 section 3.3.1)
    /// or begin anew (RFC 4568 section 7.1.4); the first packet of each stream shows it.
    pub fn follow(&mut self, last: &Self) {
        let highest = last.rtp_streams.iter().map(|(ssrc, window)| (ssrc, window.highest()));
        // Streams that were silent under the last keys.
        let earlier = last.before.iter().map(|(ssrc, highest)| (ssrc, *highest));
        for (ssrc, highest) in highest.chain(earlier) {
            if self.before.get(ssrc).is_none() && !self.before.is_full() {
                self.before.insert(ssrc, highest);
            }
        }
    }

    /// Opens the SRTP packet that fills `packet`, whose clear part (fixed header, CSRCs, header
    /// extension) is `header_len` long.
    ///
    /// Errors: see [`OpenError`]; a replay is told before the cipher is asked.
    /// Source: RFC 3711 section 3.3.
    pub fn open_rtp(&mut self, packet: &mut [u8], header_len: usize) -> Result<Opened, OpenError> {
        let tag_len = self.key.rtp.tag_behind_mki();
        let other = self.others.iter().find(|other| other.is_named(tag_len, packet));
        let Key { mki, rtp, .. } = other.unwrap_or(&self.key);
        let packet = without_mki(*mki, tag_len, packet)?;
        let shortest = header_len.saturating_add(rtp.rtp_tag_len());
        if header_len < RTP_HEADER_MIN || packet.len() < shortest || packet[0] >> 6 != 2 {
            return Err(OpenError::Malformed);
        }
        let (sequence, ssrc) = (u16_at(packet, 2), u32_at(packet, 8));
        let Some(window) = self.rtp_streams.get_mut(ssrc) else {
            let before = self.before.get(ssrc).copied();
            return open_first_rtp(&mut self.rtp_streams, before, rtp, packet, header_len);
        };
        let index = nearest_index(window.highest(), sequence);
        window.check(index)?;
        let len = rtp
            .open_rtp(PacketId { ssrc, index }, packet, header_len)
            .ok_or(OpenError::Authentication)?;
        window.mark(index);
        Ok(Opened { len, index })
    }

    /// Opens the SRTCP packet that fills `packet`; returns the length of the compound RTCP packet
    /// at its start.
    ///
    /// Errors: see [`OpenError`].
    /// Source: RFC 3711 section 3.4.
    pub fn open_rtcp(&mut self, packet: &mut [u8]) -> Result<usize, OpenError> {
        let tag_len = self.key.rtcp.tag_behind_mki();
        let other = self.others.iter().find(|other| other.is_named(tag_len, packet));
        let Key { mki, rtcp, .. } = other.unwrap_or(&self.key);
        let packet = without_mki(*mki, tag_len, packet)?;
        let word = rtcp.rtcp_word(packet).ok_or(OpenError::Malformed)?;
        if packet[0] >> 6 != 2 {
            return Err(OpenError::Malformed);
        }
        let (ssrc, index) = (u32_at(packet, RTCP_CLEAR - 4), u64::from(word.index()));
        match self.rtcp_streams.get(ssrc) {
            Some(window) => window.check(index)?,
            None if self.rtcp_streams.is_full() => return Err(OpenError::TooManyStreams),
            None => {}
        }
        let len = rtcp.open_rtcp(ssrc, packet).ok_or(OpenError::Authentication)?;
        match self.rtcp_streams.get_mut(ssrc) {
            Some(window) => window.mark(index),
            None => self.rtcp_streams.insert(ssrc, ReplayWindow::starting_at(index)),
        }
        Ok(len)
    }
}

/// Opens the first packet of a stream, and remembers the stream when it authenticates.
///
/// A stream's rollover counter starts at zero. When it started just below 65,536 and the packets
/// before the wrap were lost or are late, the first we see has already counted one; so a low number
/// gets a second attempt. `before` is the highest index under other keys, which it may count on
/// from.
fn open_first_rtp(
    streams: &mut Streams<ReplayWindow>,
    before: Option<u64>,
    rtp: &Cipher,
    packet: &mut [u8],
    header_len: usize,
) -> Result<Opened, OpenError> {
    if streams.is_full() {
        return Err(OpenError::TooManyStreams);
    }
    let (sequence, ssrc) = (u16_at(packet, 2), u32_at(packet, 8));
    let unwrapped = u64::from(sequence);
    let wrapped = (sequence < 1 << 15).then_some(1 << 16 | unwrapped);
    let counted_on = before.map(|highest| nearest_index(highest, sequence));
    let counted_on = counted_on.filter(|index| *index != unwrapped && Some(*index) != wrapped);

    let mut kept = [0; FIRST_PACKET_MAX];
    let mut kept = kept.get_mut(..packet.len() - header_len);
    if let Some(kept) = &mut kept {
        // Opening destroys what it does not accept.
        kept.copy_from_slice(&packet[header_len..]);
    }
    let others = [wrapped, counted_on].into_iter().flatten().filter(|_| kept.is_some());
    for index in std::iter::once(unwrapped).chain(others) {
        if let Some(kept) = &kept {
            packet[header_len..].copy_from_slice(kept);
        }
        if let Some(len) = rtp.open_rtp(PacketId { ssrc, index }, packet, header_len) {
            streams.insert(ssrc, ReplayWindow::starting_at(index));
            return Ok(Opened { len, index });
        }
    }
    Err(OpenError::Authentication)
}

/// The bytes where a packet has the identifier of its key: in front of a tag of `tag_len` bytes.
fn mki_in(mki: Mki, tag_len: usize, packet: &[u8]) -> Option<&[u8]> {
    let end = packet.len().checked_sub(tag_len)?;
    packet.get(end.checked_sub(mki.len())?..end)
}

/// The packet without the identifier of its key, which nothing authenticates: a tag of `tag_len`
/// bytes behind it moves over it.
///
/// Source: RFC 3711 section 3.1, RFC 7714 section 4.
fn without_mki(mki: Option<Mki>, tag_len: usize, packet: &mut [u8]) -> Result<&mut [u8], OpenError> {
    let Some(mki) = mki else { return Ok(packet) };
    let tag_at = packet.len().checked_sub(tag_len).ok_or(OpenError::Malformed)?;
    let mki_at = tag_at.checked_sub(mki.len()).ok_or(OpenError::Malformed)?;
    if !mki.is(&packet[mki_at..tag_at]) {
        return Err(OpenError::Authentication);
    }
    packet.copy_within(tag_at.., mki_at);
    Ok(&mut packet[..mki_at + tag_len])
}
