//! The terms of an offer or an answer: what a proxy wants done with a description beyond its
//! defaults. Both control protocols turn their flags into these.

mod sdes;

use std::net::IpAddr;

use wire::sdp::HashFunction;

use crate::config::Learning;
use crate::sdp::CodecPolicy;

pub(crate) use sdes::Sdes;

/// Terms of one description.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Terms {
    /// The names of our interfaces, for the speaking party and for the other.
    pub(crate) interfaces: [Option<String>; 2],
    /// Which address family the other side gets; `true` for IPv6.
    pub(crate) v6: Option<bool>,
    /// The address to write into descriptions in place of ours.
    pub(crate) media_address: Option<IpAddr>,
    /// The source address of the SIP message.
    pub(crate) received_from: Option<IpAddr>,
    /// Whether the address in the description is used, rather than `received_from`.
    pub(crate) trust_address: Option<bool>,
    /// The transport protocol of the other side.
    pub(crate) protocol: Option<Protocol>,
    /// The sources of the party's packets.
    pub(crate) sources: SourceTerms,
    /// Learned addresses are forgotten, and so is what earlier terms said about ICE and the port
    /// of RTCP.
    pub(crate) reset: bool,
    /// The session lines that change.
    pub(crate) replace: Replace,
    /// ICE towards the other side.
    pub(crate) ice: Ice,
    /// ICE that is offered is not accepted.
    pub(crate) ice_reject: bool,
    /// RTP and RTCP on one port.
    pub(crate) mux: Mux,
    /// The protection of media.
    pub(crate) keying: KeyingTerms,
    /// Codecs taken out.
    pub(crate) codecs: CodecPolicy,
    /// Only the first codec of an answer passes.
    pub(crate) single_codec: bool,
    /// The length of packets towards the other side, in milliseconds.
    pub(crate) ptime: Option<u64>,
    /// Attributes of sections.
    pub(crate) attributes: AttributeTerms,
    /// A description that went through here already is left alone.
    pub(crate) loop_protect: bool,
    /// Differentiated services of packets that we send, the whole octet.
    pub(crate) tos: Option<u8>,
    /// A name for the party, kept for queries.
    pub(crate) label: Option<Vec<u8>>,
    /// Something to keep with the call, for queries.
    pub(crate) metadata: Option<Vec<u8>>,
}

impl Terms {
    /// The named interfaces, of the speaking party and of the other.
    pub(crate) fn interfaces(&self) -> [Option<&str>; 2] {
        self.interfaces.each_ref().map(Option::as_deref)
    }
}

/// The sources of a party's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SourceTerms {
    /// How addresses are learned.
    pub(crate) learning: Option<Learning>,
    /// The party sends from elsewhere than it receives.
    pub(crate) asymmetric: bool,
    /// Only packets from the described address are accepted.
    pub(crate) strict: bool,
    /// An address may be learned again at any time.
    pub(crate) handover: bool,
}

/// The protection of media.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyingTerms {
    /// SDES towards the other side.
    pub(crate) sdes: Sdes,
    /// DTLS.
    pub(crate) dtls: Dtls,
    /// The same towards the offerer, if it differs.
    pub(crate) dtls_reverse: Option<Dtls>,
    /// The hash function for the fingerprint of our certificate.
    pub(crate) fingerprint: Option<HashFunction>,
    /// Keys that an answer may decline.
    pub(crate) osrtp: Osrtp,
    /// SRTP is decrypted and encrypted again, although it could pass.
    pub(crate) recrypt: bool,
}

/// Keys with a protocol without protection, which an answer may take or decline (RFC 8643).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Osrtp {
    /// Keys of ours are added to an offer without any.
    pub(crate) offer: bool,
    /// Offered keys are accepted by us, although the answer declines them.
    pub(crate) accept: bool,
}

/// Attributes of sections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AttributeTerms {
    /// Write the address into `a=rtcp` too.
    pub(crate) rtcp_in_full: bool,
    /// Write no `a=rtcp`.
    pub(crate) no_rtcp: bool,
    /// Leave `a=sendrecv` and similar lines unchanged.
    pub(crate) original_direction: bool,
    /// Write an `a=mid` where there is none.
    pub(crate) mid: bool,
}

/// Which transport protocol the other side gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// This one.
    Exactly(String),
    /// In an answer: the protocol of the answer, although another was offered.
    Accept,
}

/// The session lines that change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Replace {
    /// The address of `o=`.
    pub(crate) origin: bool,
    /// All of `o=` stays the same for one receiver.
    pub(crate) origin_full: bool,
    /// The version of `o=` rises with every change.
    pub(crate) version: bool,
    /// The version of `o=` rises with every description.
    pub(crate) version_always: bool,
    /// The user of `o=` stays the same for one receiver.
    pub(crate) username: bool,
    /// `s=` stays the same for one receiver.
    pub(crate) session_name: bool,
    /// 0.0.0.0 is replaced by a real address.
    pub(crate) zero_address: bool,
}

/// Treatment of ICE towards the other side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ice {
    /// Ours in place of theirs, where there is any.
    #[default]
    Default,
    /// It goes.
    Remove,
    /// Ours, whether or not there is any.
    Force,
    /// Our addresses beside theirs, where there is any, and otherwise ours.
    Optional,
    /// The same, with ours as relays, in the place of their relays, and with the addresses of the
    /// description unchanged: media goes through us only if ICE chooses it.
    ForceRelay,
}

/// RTP and RTCP on one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mux {
    /// Offer it, though it was not offered.
    pub(crate) offer: bool,
    /// Offer it as if it were accepted already.
    pub(crate) require: bool,
    /// Do not offer it on, and accept it.
    pub(crate) demux: bool,
    /// Accept it, for any description of the other side.
    pub(crate) accept: bool,
    /// Do not accept it.
    pub(crate) reject: bool,
}

/// DTLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Dtls {
    /// We wait for the handshake, where we may choose.
    #[default]
    Passive,
    /// We start it, where we may choose.
    Active,
    /// None.
    Off,
}
