//! Traits of clients. Front ends know clients by name; the controller knows these.

use serde::{Deserialize, Serialize};
use wire::Codec;

use crate::ClientCapability;

/// Traits of a client. The default has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientTraits {
    /// It applies the offer it joined with only after it has read what follows the greeting. An
    /// answer that it reads before is lost to it, and with that its connection. Others keep the
    /// offer and apply it when the answer comes.
    pub applies_offer_after_greeting: bool,
    /// It tells its application of a track only when packets of it come, whatever descriptions say.
    pub learns_tracks_by_packets: bool,
    /// It can tell two tracks of one stream apart, so that streams may be played in step.
    pub plays_streams_in_step: bool,
    /// It takes another certificate with an ICE restart: its peer connections can go on at another
    /// node, while other clients have to join again.
    #[serde(default)]
    pub can_move: bool,
    /// Codecs that its device handles badly.
    pub disabled_codecs: DisabledCodecs,
    /// The version of its protocol between clients. Passed through.
    pub client_protocol: i32,
    /// Its capabilities. Passed through.
    pub capabilities: Vec<ClientCapability>,
}

/// The codecs a client must do without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisabledCodecs {
    /// It neither publishes nor receives these.
    pub everywhere: CodecSet,
    /// It does not publish these.
    pub publishing: CodecSet,
}

impl DisabledCodecs {
    /// Whether it may publish a codec.
    pub fn may_publish(&self, codec: Codec) -> bool {
        self.may_receive(codec) && !self.publishing.contains(codec)
    }

    /// Whether it may receive a codec.
    pub fn may_receive(&self, codec: Codec) -> bool {
        !self.everywhere.contains(codec)
    }
}

/// Codecs, each of them once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodecSet(u32);

impl CodecSet {
    /// These codecs.
    pub const fn of(codecs: &[Codec]) -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < codecs.len() {
            bits |= 1 << codecs[at] as u32;
            at += 1;
        }
        Self(bits)
    }

    /// Whether a codec is among them.
    pub const fn contains(self, codec: Codec) -> bool {
        self.0 & 1 << codec as u32 != 0
    }
}
