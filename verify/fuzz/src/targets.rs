//! All targets: their seeds and their limits.

use wire::limits::{DESCRIPTION_COST, DESCRIPTION_COST_BASE};

use crate::hostile::{self, Family};
use crate::{seeds, seeds_relay, seeds_signalling};

/// One function that takes any bytes.
#[derive(Clone, Copy)]
pub struct Target {
    /// As in `fuzz_targets`.
    pub name: &'static str,
    /// The function.
    pub run: fn(&[u8]),
    /// Valid inputs to start from.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Inputs that are made to cost much.
    pub hostile: &'static [Family],
    /// Cost limits of one input.
    pub limit: Limit,
}

/// Bytes that a target may allocate for one input, its checks included. The peak is no more than
/// that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// For an input of no length, in bytes.
    pub base: u64,
    /// For each byte of input, in bytes.
    pub per_byte: u64,
}

impl Limit {
    /// For an input of this length.
    pub const fn of(self, len: usize) -> u64 {
        self.base + self.per_byte * len as u64
    }
}

/// Cost limits of packet parsers: the values for comparison take more than reading.
const PACKET: Limit = limit(64 << 10, 64);
/// Cost limits of a whole component that is started for each input.
const WORLD: Limit = limit(8 << 20, 256);

const fn limit(base: u64, per_byte: u64) -> Limit {
    Limit { base, per_byte }
}

/// All of them.
pub const TARGETS: &[Target] = &[
    target("rtp", crate::rtp, seeds::rtp, &[], PACKET),
    target("rtcp", crate::rtcp, seeds::rtcp, hostile::RTCP, limit(64 << 10, 256)),
    // Feedback reports up to 65,535 packets as lost in a few bytes.
    target(
        "transport_feedback",
        crate::transport_feedback,
        seeds::transport_feedback,
        &[],
        limit(4 << 20, 64),
    ),
    target("vp8", crate::vp8, seeds::vp8, &[], PACKET),
    target("vp9", crate::vp9, seeds::vp9, &[], PACKET),
    target("h264", crate::h264, seeds::h264, &[], PACKET),
    target("h265", crate::h265, seeds::h265, &[], PACKET),
    target("av1", crate::av1, seeds::av1, &[], PACKET),
    target("dependency", crate::dependency, seeds::dependency, &[], PACKET),
    target("red", crate::red, seeds::red, &[], PACKET),
    target(
        "southbound",
        crate::southbound,
        crate::southbound::seeds,
        crate::southbound::HOSTILE,
        limit(64 << 10, 128),
    ),
    // A node is made for each input, and keeps copies of what it takes.
    target(
        "links",
        crate::links,
        crate::southbound::link_seeds,
        crate::southbound::HOSTILE_LINKS,
        limit(256 << 10, 256),
    ),
    target(
        "sealed",
        crate::sealed,
        crate::southbound::sealed_seeds,
        &[],
        limit(64 << 10, 64),
    ),
    target("relayed", crate::relayed, relayed, &[], limit(256 << 10, 256)),
    target("stun_username", crate::stun_username, seeds::stun, &[], PACKET),
    target("dcep", crate::dcep, seeds::dcep, &[], PACKET),
    target("sctp_packet", crate::sctp_packet, seeds::sctp, hostile::SCTP, PACKET),
    target("dtls_records", crate::dtls_records, seeds::dtls, hostile::DTLS, PACKET),
    target(
        "dtls_handshake",
        crate::dtls_handshake,
        crate::handshake::seeds,
        crate::handshake::HOSTILE,
        // Both sides of a handshake.
        limit(4 << 20, 128),
    ),
    target(
        "dtls_forged",
        crate::dtls_forged,
        crate::handshake::forged,
        crate::handshake::FORGED,
        limit(4 << 20, 128),
    ),
    target("classify", crate::classify, seeds::datagrams, &[], PACKET),
    target("framing", crate::framing, framed, &[], PACKET),
    target(
        "turn_messages",
        crate::turn_messages,
        asked_of_turn,
        hostile::TURN,
        WORLD,
    ),
    target(
        "turn_requests",
        crate::turn_requests,
        asked_of_turn,
        hostile::TURN,
        WORLD,
    ),
    target("srtp", crate::srtp, seeds::rtp, &[], limit(256 << 10, 256)),
    target(
        "sdp_read",
        crate::sdp_read,
        seeds_signalling::sdp,
        hostile::SDP,
        limit(DESCRIPTION_COST_BASE as u64, DESCRIPTION_COST as u64),
    ),
    // It is written and read again as well: session-level values are written in each section.
    target(
        "sdp",
        crate::sdp,
        seeds_signalling::sdp,
        hostile::SDP,
        limit(64 << 20, 256),
    ),
    target(
        "admission_query",
        crate::admission_query,
        seeds_signalling::queries,
        &[],
        WORLD,
    ),
    target(
        "join_request",
        crate::join_request,
        seeds_signalling::queries,
        hostile::JOINS,
        // A compressed request may be 1 MiB after inflation, for any length.
        limit(16 << 20, 256),
    ),
    target(
        "token_forged",
        crate::token_forged,
        seeds_signalling::tokens,
        hostile::TOKENS,
        limit(1 << 20, 256),
    ),
    target(
        "signal",
        crate::signal,
        seeds_signalling::signal,
        hostile::OFFERS,
        WORLD,
    ),
    target(
        "signal_json",
        crate::signal_json,
        seeds_signalling::signal_json,
        hostile::JSON,
        WORLD,
    ),
    target(
        "api",
        crate::api,
        seeds_signalling::api,
        hostile::CALLS,
        // The descriptors of messages are read by the first call.
        limit(16 << 20, 256),
    ),
    target(
        "api_schema",
        crate::api_schema,
        crate::api_schema::seeds,
        &[],
        // A few bytes are a body of up to 64 KiB and one field more.
        WORLD,
    ),
    target(
        "whip_request",
        crate::whip_request,
        seeds_signalling::whip,
        hostile::REQUESTS,
        // An offer is read, kept twice, and answered; the answer is read as well.
        limit(1 << 20, 64),
    ),
    target("worker", crate::worker, seeds_signalling::worker, hostile::JSON, WORLD),
    target(
        "receiver_reports",
        crate::receiver_reports,
        seeds::receiver_reports,
        &[],
        limit(4 << 20, 256),
    ),
    target(
        "ng_values",
        crate::ng_values,
        seeds_relay::ng_values,
        hostile::NG_VALUES,
        limit(64 << 10, 256),
    ),
    target(
        "ng_requests",
        crate::ng_requests,
        seeds_relay::ng_requests,
        hostile::NG_REQUESTS,
        WORLD,
    ),
    target(
        "rtpproxy_commands",
        crate::rtpproxy_commands,
        seeds_relay::rtpproxy_commands,
        hostile::RTPPROXY,
        WORLD,
    ),
    target(
        "sip_sdp",
        crate::sip_sdp,
        seeds_relay::sip_sdp,
        hostile::PHONES,
        limit(256 << 10, 256),
    ),
];

const fn target(
    name: &'static str,
    run: fn(&[u8]),
    seeds: fn() -> Vec<Vec<u8>>,
    hostile: &'static [Family],
    limit: Limit,
) -> Target {
    Target {
        name,
        run,
        seeds,
        hostile,
        limit,
    }
}

/// The target of this name.
///
/// Panics: when there is none.
pub fn named(name: &str) -> &'static Target {
    let found = TARGETS.iter().find(|target| target.name == name);
    found.unwrap_or_else(|| panic!("no target is called {name}"))
}

/// Short enough to be mutated, and long enough to show costs.
const HOSTILE_LENS: [usize; 2] = [1 << 10, 48 << 10];

impl Target {
    /// Everything to begin from.
    pub fn all_seeds(&self) -> Vec<Vec<u8>> {
        let mut seeds = (self.seeds)();
        let families = self.hostile.iter();
        seeds.extend(families.flat_map(|(_, family)| HOSTILE_LENS.map(family)));
        seeds
    }
}

fn relayed() -> Vec<Vec<u8>> {
    [seeds::rtp(), seeds::rtcp(), seeds::datagrams()].concat()
}

/// All datagrams in one stream, and each alone.
fn framed() -> Vec<Vec<u8>> {
    let mut stream = Vec::new();
    let mut seeds = Vec::new();
    for datagram in seeds::datagrams() {
        wire::framing::write(&datagram, &mut stream);
        let mut alone = Vec::new();
        wire::framing::write(&datagram, &mut alone);
        seeds.push(alone);
    }
    seeds.push(stream);
    seeds
}

/// A request for an allocation, the same with a name and a nonce, other requests, a datagram for a
/// peer, and data of a channel, each alone and one after the other.
fn asked_of_turn() -> Vec<Vec<u8>> {
    let message = |kind: [u8; 2], attributes: &[u8]| {
        let mut message = kind.to_vec();
        message.extend((attributes.len() as u16).to_be_bytes());
        message.extend([0x21, 0x12, 0xa4, 0x42]);
        message.extend([7; 12]);
        message.extend(attributes);
        message
    };
    let credentials = [
        &[0x00, 0x06, 0, 15][..],
        b"1800000000:PA_1\0",
        &[0x00, 0x14, 0, 4],
        b"weir",
        &[0x00, 0x15, 0, 8],
        b"65920080",
        &[0x00, 0x19, 0, 4, 17, 0, 0, 0],
        &[0x00, 0x08, 0, 20],
        &[0xaa; 20],
    ];
    let peer = [0x00, 0x12, 0, 8, 0, 1, 0x3f, 0xd8, 0xe1, 0x12, 0xa6, 0x43];
    let data = [&peer[..], &[0x00, 0x13, 0, 4, 1, 2, 3, 4]].concat();
    let mut seeds = vec![
        message([0, 3], &[0x00, 0x19, 0, 4, 17, 0, 0, 0]),
        message([0, 3], &credentials.concat()),
        message([0, 8], &peer),
        message([0, 9], &[&[0x00, 0x0c, 0, 4, 0x40, 0, 0, 0][..], &peer].concat()),
        message([0, 4], &[0x00, 0x0d, 0, 4, 0, 0, 2, 88]),
        message([0, 0x16], &data),
        vec![0x40, 0, 0, 4, 1, 2, 3, 4],
        message([0, 1], &[]),
        message([0, 1], &[0x00, 0x03, 0, 4, 0, 0, 0, 6, 0x80, 0x28, 0, 4, 0, 0, 0, 0]),
        message([1, 1], &peer),
        // EVEN-PORT, RESERVATION-TOKEN, both families, DONT-FRAGMENT, and the algorithm for
        // passwords.
        message(
            [0, 3],
            &[0x00, 0x19, 0, 4, 17, 0, 0, 0, 0x00, 0x18, 0, 1, 0x80, 0, 0, 0],
        ),
        message(
            [0, 3],
            &[0x00, 0x19, 0, 4, 17, 0, 0, 0, 0x00, 0x22, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8],
        ),
        message(
            [0, 3],
            &[
                0x00, 0x19, 0, 4, 17, 0, 0, 0, 0x80, 0x00, 0, 4, 2, 0, 0, 0, 0x00, 0x1a, 0, 0,
            ],
        ),
        message([0, 4], &[0x00, 0x17, 0, 4, 1, 0, 0, 0, 0x00, 0x1d, 0, 4, 0, 2, 0, 0]),
    ];
    seeds.push(seeds.concat());
    seeds
}
