//! One media section and what it is used for.

mod usage;

use std::collections::HashSet;
use std::sync::Arc;

use southbound::{Capabilities, Encoding};
use wire::sdp::{Direction, Extension, Format, MediaSection, RidDirection, SectionKind, SsrcGroup, SsrcLine};
use wire::{Codec, MediaKind, Mid, Rid, Ssrc};

pub(crate) use self::usage::{Down, Downlink, Sides, Up, Uplink, Usage};
use super::codecs::{self, AudioWish};
use super::remote::{Agreed, essence, shared};
use super::{Flow, SCTP_PORT, clear_rtp, extensions};
use crate::DisabledCodecs;
use crate::limits::DATA_PACKET_MAX;

/// One media section of a peer connection.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) mid: Mid,
    pub(crate) kind: SectionKind,
    pub(crate) usage: Usage,
    /// The [`essence`] of what the peer last said of the section; `None` while it has only been
    /// offered to it.
    pub(crate) theirs: Option<Arc<MediaSection>>,
    pub(super) agreed: Arc<Agreed>,
    /// The first track a section of ours carried. The peer's own track keeps that id for ever,
    /// whatever the section carries later.
    pub(crate) first_track: Option<String>,
}

/// The terms that a description of ours is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Terms {
    /// Those that we offer.
    Offered,
    /// Those that are left of an offer of theirs.
    Agreed,
}

impl Section {
    pub(crate) fn new(mid: Mid, kind: SectionKind, usage: Usage) -> Self {
        Self {
            mid,
            kind,
            usage,
            theirs: None,
            agreed: Arc::default(),
            first_track: None,
        }
    }

    pub(crate) fn media_kind(&self) -> Option<MediaKind> {
        match self.kind {
            SectionKind::Media(kind) => Some(kind),
            _ => None,
        }
    }

    pub(crate) fn sides(&self) -> Option<&Sides> {
        match &self.usage {
            Usage::Media(sides) => Some(sides),
            Usage::Data | Usage::Rejected => None,
        }
    }

    pub(crate) fn sides_mut(&mut self) -> Option<&mut Sides> {
        match &mut self.usage {
            Usage::Media(sides) => Some(sides),
            Usage::Data | Usage::Rejected => None,
        }
    }

    /// The track the peer sends here.
    pub(crate) fn uplink(&self) -> Option<Uplink> {
        match self.sides()?.up {
            Up::Track(uplink) => Some(uplink),
            _ => None,
        }
    }

    /// The track the peer gets here.
    pub(crate) fn downlink(&self) -> Option<&Downlink> {
        match &self.sides()?.down {
            Down::Track(downlink) => Some(downlink),
            _ => None,
        }
    }

    /// Whether the peer sends something here that it has not announced yet.
    pub(crate) fn is_unclaimed(&self) -> bool {
        self.sides().is_some_and(|sides| sides.up == Up::Unclaimed)
    }

    /// Whether the peer has yet to hear of the end of a track.
    pub(crate) fn is_releasing(&self) -> bool {
        self.sides()
            .is_some_and(|sides| matches!(sides.down, Down::Releasing { .. }))
    }

    /// Whether no offer of ours has said yet that a track has ended.
    pub(crate) fn is_untold(&self) -> bool {
        self.sides()
            .is_some_and(|sides| sides.down == Down::Releasing { told: false })
    }

    /// Whether a subscription to a track of this kind could use it at once.
    pub(crate) fn is_free_for(&self, kind: MediaKind) -> bool {
        let listens = self
            .theirs
            .as_ref()
            .is_none_or(|media_section| media_section.direction.receives());
        let is_idle = self.sides().is_some_and(|sides| sides.down == Down::Idle);
        is_idle && self.media_kind() == Some(kind) && listens
    }

    /// Whether the peer puts another track into a section that it sends on already: both
    /// descriptions name one, and neither the track nor a stream of it is the same.
    pub(super) fn sends_another(&self, media_section: &MediaSection) -> bool {
        let track = |media_section: &MediaSection| media_section.msids.iter().find_map(|msid| msid.track.clone());
        let Some(before) = self.theirs.as_deref().filter(|_| self.uplink().is_some()) else {
            return false;
        };
        let is_other = matches!((track(before), track(media_section)), (Some(before), Some(now)) if before != now);
        let streams = before.media_ssrcs();
        is_other && !media_section.media_ssrcs().iter().any(|ssrc| streams.contains(ssrc))
    }

    /// Whether the peer sends nothing here.
    pub(crate) fn is_silent(&self) -> bool {
        self.sides().is_none_or(|sides| sides.up == Up::Nothing)
    }

    /// Whether what is negotiated here is for this direction. A section that carries nothing yet is
    /// for the way down.
    pub(crate) fn is_for(&self, flow: Flow) -> bool {
        let idle = Sides::default();
        let sides = self.sides().unwrap_or(&idle);
        match flow {
            Flow::Up => sides.up != Up::Nothing,
            Flow::Down => sides.up == Up::Nothing || sides.down != Down::Idle,
        }
    }

    /// Which way media flows, seen from us, as our description says it.
    pub(crate) fn direction(&self) -> Direction {
        let takes = self.uplink().is_some() || self.is_unclaimed();
        match (takes, self.downlink().is_some()) {
            (true, true) => Direction::SendRecv,
            (true, false) => Direction::RecvOnly,
            (false, true) => Direction::SendOnly,
            (false, false) => Direction::Inactive,
        }
    }

    /// Formats both sides take.
    pub(crate) fn formats(&self) -> &[Format] {
        &self.agreed.formats
    }

    /// Header extensions both sides take.
    pub(crate) fn extensions(&self) -> &[Extension] {
        &self.agreed.extensions
    }

    /// Keeps what the peer says of the section. `known` is what it said of all its sections.
    pub(super) fn hear(&mut self, media_section: &MediaSection, known: &mut HashSet<Arc<MediaSection>>) {
        self.theirs = Some(shared(essence(media_section), known));
    }

    /// Works out what of the peer's offer to take, now that it is known what the section is used
    /// for, within what the data plane can do.
    pub(super) fn settle(
        &mut self,
        placeholder: AudioWish,
        disabled: DisabledCodecs,
        device: &Capabilities,
        known: &mut HashSet<Arc<Agreed>>,
    ) {
        let Some(theirs) = &self.theirs else { return };
        let (audio, codec) = match self.uplink() {
            Some(uplink) if uplink.audio.red => (uplink.audio, Some(Codec::Red)),
            Some(uplink) => (uplink.audio, uplink.codec),
            None => (placeholder, None),
        };
        let ways = [Flow::Up, Flow::Down].map(|flow| self.is_for(flow).then_some(flow));
        let mut formats = codecs::accept(&theirs.formats, ways, audio, codec);
        // A section has one list for both directions.
        codecs::leave_out(&mut formats, |codec| match ways {
            [Some(Flow::Up), None] => !disabled.may_publish(codec),
            _ => !disabled.may_receive(codec),
        });
        codecs::put_last(&mut formats, |codec| !disabled.may_publish(codec));
        if let Some(codec) = codec {
            codecs::prefer(&mut formats, codec);
        }
        // Everything we take in either direction, whatever the section is used for now: a browser
        // offers later sections only the extensions that were answered in earlier ones.
        let offered = clear_rtp::usable(theirs, device);
        let mut extensions = extensions::accept(&offered, ways, device.extensions);
        clear_rtp::restrict(theirs, device, self.uplink().is_some(), &mut formats, &mut extensions);
        self.agreed = shared(Agreed { formats, extensions }, known);
    }

    /// Whether our description refuses the section: its use is over, or there is no codec in
    /// common.
    pub(crate) fn is_refused(&self) -> bool {
        self.usage == Usage::Rejected || (self.media_kind().is_some() && self.formats().is_empty())
    }

    /// Whether both sides take this codec.
    pub(crate) fn knows(&self, codec: Codec) -> bool {
        self.formats().iter().any(|format| format.codec() == Some(codec))
    }

    /// The encodings the peer sends here, in rising quality.
    pub(crate) fn encodings(&self) -> Vec<Encoding> {
        let Some(theirs) = &self.theirs else { return Vec::new() };
        let rids = theirs.rids.iter().filter(|line| line.direction == RidDirection::Send);
        let mut rids: Vec<Rid> = rids.map(|line| line.rid).collect();
        if rids.len() > 1 {
            rids.sort_by_key(|rid| quality_of(*rid));
            return rids.into_iter().map(|rid| encoding(Some(rid), None, None)).collect();
        }
        // Simulcast from before encodings had names.
        let group = theirs.ssrc_groups.iter().find(|group| group.semantics == "SIM");
        let ssrcs = group.map_or_else(
            || theirs.media_ssrcs().into_iter().take(1).collect(),
            |group| group.ssrcs.clone(),
        );
        if ssrcs.is_empty() {
            return vec![encoding(rids.first().copied(), None, None)];
        }
        // A section that offers retransmissions names their streams, whether or not they are taken.
        let repair = |ssrc: Ssrc| theirs.repair_of(ssrc).filter(|_| self.is_repaired());
        let named = |ssrc: &Ssrc| encoding(rids.first().copied(), Some(*ssrc), repair(*ssrc));
        ssrcs.iter().map(named).collect()
    }

    /// Our description of the section, apart from its transport.
    pub(super) fn write(&self, terms: Terms, disabled: DisabledCodecs) -> MediaSection {
        let mut media_section = MediaSection::new(self.kind.clone(), self.mid);
        media_section.rejected = match terms {
            Terms::Agreed => self.is_refused(),
            Terms::Offered => self.usage == Usage::Rejected,
        };
        media_section.rtcp_rsize = self.theirs.as_ref().is_none_or(|theirs| theirs.rtcp_rsize);
        if let Some(theirs) = &self.theirs {
            media_section.protocol.clone_from(&theirs.protocol);
        }
        match self.kind {
            SectionKind::Media(kind) => self.write_media(&mut media_section, kind, terms, disabled),
            SectionKind::Data => {
                media_section.sctp_port = Some(SCTP_PORT);
                media_section.max_message_size = Some(DATA_PACKET_MAX as u64);
            }
            SectionKind::Other { .. } => {}
        }
        media_section
    }

    fn write_media(&self, media_section: &mut MediaSection, kind: MediaKind, terms: Terms, disabled: DisabledCodecs) {
        media_section.rtcp_mux = true;
        media_section.direction = self.direction();
        (media_section.formats, media_section.extensions) = match terms {
            Terms::Agreed => (self.formats().to_vec(), self.extensions().to_vec()),
            Terms::Offered => {
                let track = self.downlink().map(|downlink| (downlink.stereo, &downlink.rare[..]));
                let (stereo, rare) = track.unwrap_or_default();
                (codecs::offered(kind, stereo, rare), extensions::offered(kind))
            }
        };
        codecs::leave_out(&mut media_section.formats, |codec| !disabled.may_receive(codec));
        if media_section.direction.receives() {
            self.write_encodings(media_section);
        }
        self.downlink()
            .into_iter()
            .for_each(|downlink| write_source(media_section, downlink));
    }

    fn write_encodings(&self, media_section: &mut MediaSection) {
        let Some(theirs) = &self.theirs else { return };
        let Some(simulcast) = theirs.simulcast.as_ref().filter(|simulcast| !simulcast.send.is_empty()) else {
            return;
        };
        media_section.rids = theirs
            .rids
            .iter()
            .filter(|line| line.direction == RidDirection::Send)
            .cloned()
            .collect();
        for line in &mut media_section.rids {
            line.direction = RidDirection::Recv;
        }
        media_section.simulcast = Some(wire::sdp::Simulcast {
            send: Vec::new(),
            recv: simulcast.send.clone(),
        });
    }

    /// The SSRC of retransmissions, when the receiver takes any.
    pub(crate) fn repair(&self, downlink: &Downlink) -> Option<Ssrc> {
        self.is_repaired().then_some(downlink.repair)
    }

    fn is_repaired(&self) -> bool {
        self.formats().iter().any(|format| format.retransmits().is_some())
    }
}

/// Names the SSRCs of a track on its way down, and what they belong to.
fn write_source(media_section: &mut MediaSection, downlink: &Downlink) {
    let mut formats = media_section.formats.iter();
    let repaired = formats.any(|format| format.retransmits().is_some());
    let repair = repaired.then_some(downlink.repair);
    let msid = format!("{} {}", downlink.msid.stream, downlink.track_sid);
    for ssrc in [Some(downlink.ssrc), repair].into_iter().flatten() {
        for (attribute, value) in [("cname", &downlink.cname), ("msid", &msid)] {
            media_section.ssrcs.push(SsrcLine {
                ssrc,
                attribute: attribute.to_owned(),
                value: Some(value.clone()),
            });
        }
    }
    if let Some(repair) = repair {
        media_section.ssrc_groups = vec![SsrcGroup {
            semantics: "FID".to_owned(),
            ssrcs: vec![downlink.ssrc, repair],
        }];
    }
    media_section.msids = vec![downlink.msid.clone()];
}

fn encoding(rid: Option<Rid>, ssrc: Option<Ssrc>, rtx: Option<Ssrc>) -> Encoding {
    Encoding {
        rid,
        ssrc,
        rtx,
        width: 0,
        height: 0,
        layers: Vec::new(),
    }
}

/// The protocol's names for encodings are `q`, `h` and `f`: quarter, half and full. Others keep the
/// order they are offered in.
fn quality_of(rid: Rid) -> u8 {
    match rid.as_str() {
        "q" => 0,
        "h" => 1,
        "f" => 2,
        _ => 3,
    }
}
