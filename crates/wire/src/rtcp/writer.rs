//! Compounds.

use super::bye::write_bye;
use super::key_frame::write_fir;
use super::remb::write_remb;
use super::sdes::write_cname;
use super::{
    ArrivalTicks, FirEntry, Pli, ReportBlock, SenderInfo, TransportFeedbackWriter, write_nack, write_receiver_report,
    write_sender_report,
};
use crate::{SequenceNumber, Ssrc};

/// Appends one compound to a buffer.
///
/// It begins with a report and a canonical name, as every compound must, because there is no other
/// way to begin one; feedback follows in any order. Between peers that negotiated reduced-size
/// RTCP, feedback may also go alone.
///
/// Source: RFC 3550 section 6.1; RFC 5506.
#[derive(Debug)]
pub struct RtcpWriter<'a> {
    out: &'a mut Vec<u8>,
    sender: Ssrc,
}

impl<'a> RtcpWriter<'a> {
    /// Begins with a sender report on `sender`, and its name.
    ///
    /// Panics: when `cname` is longer than 255 bytes; we choose it ourselves.
    pub fn sender_report(
        out: &'a mut Vec<u8>,
        sender: Ssrc,
        cname: &str,
        info: &SenderInfo,
        blocks: &[ReportBlock],
    ) -> Self {
        write_sender_report(out, sender, info, blocks);
        write_cname(out, sender, cname);
        Self { out, sender }
    }

    /// Begins with a receiver report by `sender`, which may be empty, and its name.
    ///
    /// Panics: when `cname` is longer than 255 bytes; we choose it ourselves.
    pub fn receiver_report(out: &'a mut Vec<u8>, sender: Ssrc, cname: &str, blocks: &[ReportBlock]) -> Self {
        write_receiver_report(out, sender, blocks);
        write_cname(out, sender, cname);
        Self { out, sender }
    }

    /// Begins without a report; only for peers that negotiated reduced-size RTCP.
    pub fn reduced_size(out: &'a mut Vec<u8>, sender: Ssrc) -> Self {
        Self { out, sender }
    }

    /// Adds a sender report on another source of ours, and its name: one leg carries many streams.
    pub fn also_sender_report(&mut self, source: Ssrc, cname: &str, info: &SenderInfo) -> &mut Self {
        write_sender_report(self.out, source, info, &[]);
        write_cname(self.out, source, cname);
        self
    }

    /// Asks for packets of a stream again; see [`write_nack`].
    pub fn nack(&mut self, media: Ssrc, sequences: impl IntoIterator<Item = SequenceNumber>) -> &mut Self {
        write_nack(self.out, self.sender, media, sequences);
        self
    }

    /// Asks for a key frame of a stream whose picture is lost.
    pub fn pli(&mut self, media: Ssrc) -> &mut Self {
        Pli {
            sender: self.sender,
            media,
        }
        .write(self.out);
        self
    }

    /// Asks a stream for a key frame because someone new is watching.
    pub fn fir(&mut self, entry: FirEntry) -> &mut Self {
        write_fir(self.out, self.sender, entry);
        self
    }

    /// States how much the path can take, in bits per second, rounded down to 18 significant bits.
    ///
    /// It names the first 255 sources at most; senders apply it to the whole transport whichever
    /// are named.
    pub fn remb(&mut self, bitrate: u64, sources: &[Ssrc]) -> &mut Self {
        write_remb(self.out, self.sender, bitrate, sources);
        self
    }

    /// Reports arrivals, in as many packets as it takes of at most `len_max` bytes each; see
    /// [`TransportFeedbackWriter`].
    pub fn transport_feedback(
        &mut self,
        writer: &mut TransportFeedbackWriter,
        packets: &[(u16, Option<ArrivalTicks>)],
        len_max: usize,
    ) -> &mut Self {
        let mut rest = packets;
        while !rest.is_empty() {
            rest = writer.write_next(rest, len_max, self.out);
        }
        self
    }

    /// Announces the end of our sources.
    pub fn bye(&mut self, sources: &[Ssrc]) -> &mut Self {
        write_bye(self.out, sources);
        self
    }
}
