//! Every RTP packet that ever left, by leg, SSRC and number.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use wire::{Codec, RtpPacket, Ssrc, Unwrapper};

use super::{Invariant, Violation};
use crate::stamp::Stamp;

/// Every RTP packet that was ever sent. A leg is distinguished from others with the same id by its
/// life.
#[derive(Default)]
pub(crate) struct Ledger {
    media: HashMap<(u64, Ssrc), Media>,
    repairs: HashMap<(u64, Ssrc), Repair>,
    /// Numbers of probes that were sent, by source and encoding: they may be closed up.
    probes: HashMap<(u32, u8), BTreeSet<u64>>,
}

/// One replica's packets.
#[derive(Default)]
struct Media {
    numbers: Unwrapper,
    sent: BTreeMap<u64, Sent>,
    /// The replica's number for each source number.
    by_source: HashMap<(u32, u8, u64), u64>,
    /// Stretches of following one stream, counted.
    segment: u32,
}

#[derive(Default)]
struct Repair {
    numbers: Unwrapper,
    sent: BTreeSet<u64>,
}

#[derive(Clone, Copy)]
struct Sent {
    stamp: Stamp,
    segment: u32,
    timestamp: u32,
    picture: Option<u16>,
}

impl Ledger {
    /// A source has sent a packet without media.
    pub(crate) fn probe(&mut self, source: u32, encoding: u8, number: u64) {
        self.probes.entry((source, encoding)).or_default().insert(number);
    }

    /// Checks a packet of a replica. `begins` is whether the replica has just begun to follow a
    /// stream, and `is_relayed` whether a source's packets came over a trunk: the node before may
    /// have begun anew with it.
    pub(crate) fn media(
        &mut self,
        life: u64,
        packet: &RtpPacket<'_>,
        begins: bool,
        is_relayed: impl Fn(u32) -> bool,
    ) -> Result<Stamp, Violation> {
        let broken = |what: String| {
            Err(Violation::new(
                Invariant::Numbers,
                format!("SSRC {} on leg life {life}: {what}", packet.ssrc()),
            ))
        };
        let Some(stamp) = Stamp::read(packet.payload()) else {
            return broken(format!("packet {} has no stamp", packet.sequence()));
        };
        let last = self
            .media
            .get(&(life, packet.ssrc()))
            .and_then(|media| media.sent.last_key_value());
        let missing = last.map(|(_, last)| self.lost_behind(&last.stamp));
        let last = last.map(|(_, last)| last.stamp);
        let media = self.media.entry((life, packet.ssrc())).or_default();
        if media.sent.is_empty() && packet.sequence().0 >= 1 << 15 {
            return broken(format!("the first number is {}", packet.sequence()));
        }
        let highest = media.numbers.highest();
        let number = media.numbers.extend(packet.sequence().0);
        if let Some(before) = media.sent.get(&number) {
            let what = format!(
                "SSRC {} on leg life {life}: number {number} is sent twice, as {:?} and {stamp:?}",
                packet.ssrc(),
                before.stamp
            );
            return Err(Violation::new(Invariant::Keystream, what));
        }
        if let Some(other) = media
            .by_source
            .insert((stamp.source, stamp.encoding, stamp.number), number)
        {
            return broken(format!("{stamp:?} has the numbers {other} and {number}"));
        }
        if begins {
            media.segment += 1;
            if !stamp.starts_key_frame && stamp.codec != Codec::Opus {
                return broken(format!("it begins in the middle of a picture, with {stamp:?}"));
            }
            let missing = missing.unwrap_or(0);
            if highest.is_some_and(|highest| !(1..=1 + missing).contains(&(number.wrapping_sub(highest)))) {
                return broken(format!(
                    "it goes on with {number}, {stamp:?}, behind {highest:?}, {last:?}, which leaves {missing}"
                ));
            }
        }
        let sent = Sent {
            stamp,
            segment: media.segment,
            timestamp: packet.timestamp().0,
            picture: picture(packet, stamp.codec),
        };
        let probes = self.probes.get(&(stamp.source, stamp.encoding));
        let before = media.sent.range(..number).next_back();
        let after = media.sent.range(number + 1..).next();
        for ((earlier_number, earlier), (later_number, later)) in [
            before.map(|(n, s)| ((*n, *s), (number, sent))),
            after.map(|(n, s)| ((number, sent), (*n, *s))),
        ]
        .into_iter()
        .flatten()
        {
            let checked = match is_relayed(stamp.source) {
                true => relayed_neighbours(&earlier, &later),
                false => neighbours(&earlier, &later, later_number - earlier_number, probes),
            };
            if let Err(why) = checked {
                return broken(format!(
                    "{why}: {earlier_number} is {:?}, {later_number} is {:?}",
                    (earlier.stamp, earlier.picture),
                    (later.stamp, later.picture)
                ));
            }
        }
        media.sent.insert(number, sent);
        Ok(stamp)
    }

    /// The number of packets that may have been lost between the last sent one and the newest probe
    /// after it: their numbers stay reserved, as does that of a probe that was lost itself.
    fn lost_behind(&self, last: &Stamp) -> u64 {
        let probes = self.probes.get(&(last.source, last.encoding));
        let newest = probes.and_then(|probes| probes.range(last.number + 1..).next_back());
        newest.map_or(0, |newest| newest - last.number - 1)
    }

    /// Checks a retransmission. The result is `None` for one without media, for a gap that was
    /// never filled or as part of a probe.
    pub(crate) fn repair(&mut self, life: u64, packet: &RtpPacket<'_>, of: Ssrc) -> Result<Option<Stamp>, Violation> {
        let repair = self.repairs.entry((life, packet.ssrc())).or_default();
        let number = repair.numbers.extend(packet.sequence().0);
        let broken = |invariant, what: String| {
            Err(Violation::new(
                invariant,
                format!(
                    "retransmission {number} with SSRC {} on leg life {life}: {what}",
                    packet.ssrc()
                ),
            ))
        };
        if !repair.sent.insert(number) {
            return broken(Invariant::Keystream, "the number was used before".to_owned());
        }
        if packet.payload().is_empty() {
            // Padding of a probe.
            return Ok(None);
        }
        let Some((original, payload)) = wire::rtx::split(packet.payload()) else {
            return broken(Invariant::Numbers, "it has no original number".to_owned());
        };
        let Some(media) = self.media.get(&(life, of)) else {
            return broken(Invariant::Numbers, "of a stream that was never sent".to_owned());
        };
        let sent = media.sent.get(&media.numbers.peek(original.0));
        let stamp = if payload.is_empty() { None } else { Stamp::read(payload) };
        match (sent, stamp) {
            (Some(sent), Some(stamp)) if sent.stamp == stamp => Ok(Some(stamp)),
            (None, stamp) => Ok(stamp),
            (Some(sent), stamp) => broken(
                Invariant::Numbers,
                format!("{original} was {:?} and is {stamp:?} now", sent.stamp),
            ),
        }
    }
}

/// Whether two packets that follow each other may do so, `distance` numbers apart.
fn neighbours(earlier: &Sent, later: &Sent, distance: u64, probes: Option<&BTreeSet<u64>>) -> Result<(), &'static str> {
    let ticks = later.timestamp.wrapping_sub(earlier.timestamp) as i32;
    let pictures = earlier
        .picture
        .zip(later.picture)
        .map(|(earlier, later)| later.wrapping_sub(earlier) & 0x7fff);
    if earlier.segment != later.segment {
        return match () {
            () if earlier.segment > later.segment => Err("a packet from before a switch is sent after it"),
            () if ticks <= 0 => Err("the timestamp does not go on at a switch"),
            () if pictures.is_some_and(|pictures| pictures != 1) => Err("the picture id does not go on at a switch"),
            () => Ok(()),
        };
    }
    if (earlier.stamp.source, earlier.stamp.encoding) != (later.stamp.source, later.stamp.encoding) {
        return Err("another stream without a switch");
    }
    let Some(in_source) = later
        .stamp
        .number
        .checked_sub(earlier.stamp.number)
        .filter(|distance| *distance > 0)
    else {
        return Err("the order is not the source's");
    };
    let closable = probes.map_or(0, |probes| {
        probes.range(earlier.stamp.number..later.stamp.number).count() as u64
    });
    match () {
        () if distance > in_source => Err("a gap where there was none"),
        () if distance + closable < in_source => Err("a loss is hidden"),
        () if ticks != later.stamp.timestamp.wrapping_sub(earlier.stamp.timestamp) as i32 => {
            Err("timestamps are not the source's")
        }
        () if ticks < 0 => Err("the timestamp jumps back"),
        () if pictures
            .is_some_and(|pictures| u32::from(pictures) != (later.stamp.frame - earlier.stamp.frame) & 0x7fff) =>
        {
            Err("picture ids are not the source's")
        }
        () => Ok(()),
    }
}

/// The same behind a trunk.
fn relayed_neighbours(earlier: &Sent, later: &Sent) -> Result<(), &'static str> {
    let ticks = later.timestamp.wrapping_sub(earlier.timestamp) as i32;
    let is_same = (earlier.stamp.source, earlier.stamp.encoding) == (later.stamp.source, later.stamp.encoding);
    match () {
        () if earlier.segment > later.segment => Err("a packet from before a switch is sent after it"),
        () if ticks < 0 => Err("the timestamp jumps back"),
        () if is_same && later.stamp.number <= earlier.stamp.number => Err("the order is not the source's"),
        () if !is_same && earlier.segment == later.segment => Err("another stream without a switch"),
        () => Ok(()),
    }
}

/// VP8's picture id, at the position that the simulated clients use.
fn picture(packet: &RtpPacket<'_>, codec: Codec) -> Option<u16> {
    let payload = packet.payload();
    (codec == Codec::Vp8).then(|| u16::from_be_bytes([payload[2], payload[3]]) & 0x7fff)
}
