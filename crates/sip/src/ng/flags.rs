//! A proxy's wishes for a description: the keys and flags of `offer` and `answer`.
//!
//! The same wish has many forms: a key with a text or a list, a flag in the list `flags`, a flag
//! with its key as prefix (`SDES-off`), or part of one string that the proxy did not parse
//! (`rtpp-flags`), with spaces, dashes or underscores. So all forms end in one function,
//! [`Flags::set`].
//!
//! Source: rtpengine's documents, `ng_control_protocol.md`.

mod sdes;
mod set;
pub(crate) mod table;
mod text;
mod transport;
mod undone;

#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use wire::sdp::HashFunction;

use crate::sdp::CodecPolicy;

pub use sdes::Sdes;
pub use text::MAX as TEXT_FLAGS_MAX;
pub use undone::{Names, Undone, Wish};

/// Everything asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Interfaces: of the speaking party, and of the other.
    pub direction: Vec<String>,
    /// The same, each by a key of its own.
    pub from_interface: Option<String>,
    /// The same of the other.
    pub to_interface: Option<String>,
    /// Which address family the other side gets; `true` for IPv6.
    pub v6: Option<bool>,
    /// The address to write into descriptions in place of ours.
    pub media_address: Option<IpAddr>,
    /// The source address of the SIP message.
    pub received_from: Option<IpAddr>,
    /// Whether the address in the description is used, rather than `received_from`.
    pub trust_address: Option<bool>,
    /// The transport protocol of the other side.
    pub protocol: Option<Protocol>,
    /// How addresses are learned.
    pub learning: Option<Learning>,
    /// The party sends from elsewhere than it receives.
    pub asymmetric: bool,
    /// Only packets from the described address are accepted.
    pub strict_source: bool,
    /// An address may be learned again at any time.
    pub media_handover: bool,
    /// Learned addresses are forgotten.
    pub reset: bool,
    /// The session lines that change.
    pub replace: Replace,
    /// ICE towards the other side.
    pub ice: Ice,
    /// RTP and RTCP on one port.
    pub mux: Mux,
    /// SDES towards the other side.
    pub sdes: Sdes,
    /// DTLS.
    pub dtls: Dtls,
    /// The same towards the offerer, if it differs.
    pub dtls_reverse: Option<Dtls>,
    /// The hash function for the fingerprint of our certificate.
    pub fingerprint: Option<HashFunction>,
    /// ICE that is offered is not accepted.
    pub ice_reject: bool,
    /// Only the first codec of an answer passes.
    pub single_codec: bool,
    /// Codecs taken out.
    pub codecs: CodecPolicy,
    /// The length of packets towards the other side, in milliseconds.
    pub ptime: Option<u64>,
    /// The same towards the offerer.
    pub ptime_reverse: Option<u64>,
    /// Write the address into `a=rtcp` too.
    pub full_rtcp_attribute: bool,
    /// Write no `a=rtcp`.
    pub no_rtcp_attribute: bool,
    /// Leave `a=sendrecv` and similar lines unchanged.
    pub original_sendrecv: bool,
    /// Write an `a=mid` where there is none.
    pub generate_mid: bool,
    /// A description that went through here already is left alone.
    pub loop_protect: bool,
    /// The description is a fragment with more ICE candidates.
    pub fragment: bool,
    /// SRTP is decrypted and encrypted again, although it could pass.
    pub recrypt: bool,
    /// A `delete` without a match is an error.
    pub fatal: bool,
    /// A `delete` is answered without statistics.
    pub fast: bool,
    /// A `delete` minds the other tag.
    pub to_tag: bool,
    /// How long a deleted call is kept.
    pub delete_delay: Option<Duration>,
    /// Differentiated services of packets that we send, the whole octet.
    pub tos: Option<u8>,
    /// A name for the party, kept for queries.
    pub label: Option<Vec<u8>>,
    /// Something to keep with the call, for queries.
    pub metadata: Option<Vec<u8>>,
    /// The proxy understands `load limit`.
    pub supports_load_limit: bool,
    /// The parts of it that are not done.
    pub undone: Undone,
}

impl Flags {
    /// The named interfaces, of the speaking party and of the other.
    pub(crate) fn interfaces(&self) -> [Option<&str>; 2] {
        let direction = |end: usize| self.direction.get(end).map(String::as_str);
        [
            self.from_interface.as_deref().or(direction(0)),
            self.to_interface.as_deref().or(direction(1)),
        ]
    }
}

/// Which transport protocol the other side gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// This one.
    Exactly(String),
    /// In an answer: the protocol of the answer, although another was offered.
    Accept,
}

/// How addresses are learned from packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Learning {
    /// Not at all.
    Off,
    /// From the first packet, permanently.
    Immediate,
    /// For a while; the last one stays.
    Delayed,
    /// For a while. The most likely source stays; of several equally likely ones, the first that
    /// keeps sending.
    Heuristic,
}

/// The session lines that change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replace {
    /// The address of `o=`.
    pub origin: bool,
    /// All of `o=` stays the same for one receiver.
    pub origin_full: bool,
    /// The version of `o=` rises with every change.
    pub version: bool,
    /// The version of `o=` rises with every description.
    pub version_always: bool,
    /// The user of `o=` stays the same for one receiver.
    pub username: bool,
    /// `s=` stays the same for one receiver.
    pub session_name: bool,
    /// 0.0.0.0 is replaced by a real address.
    pub zero_address: bool,
}

/// Treatment of ICE towards the other side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ice {
    /// Ours in place of theirs, where there is any.
    #[default]
    Default,
    /// It goes.
    Remove,
    /// Ours, whether or not there is any.
    Force,
    /// Our addresses beside theirs, where there is any, and otherwise ours.
    Optional,
}

/// RTP and RTCP on one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mux {
    /// Offer it, though it was not offered.
    pub offer: bool,
    /// Offer it as if it were accepted already.
    pub require: bool,
    /// Do not offer it on, and accept it.
    pub demux: bool,
    /// Accept it, for any description of the other side.
    pub accept: bool,
    /// Do not accept it.
    pub reject: bool,
}

/// DTLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dtls {
    /// We wait for the handshake, where we may choose.
    #[default]
    Passive,
    /// We start it, where we may choose.
    Active,
    /// None.
    Off,
}
