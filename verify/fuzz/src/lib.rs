//! Can a peer break a parser? There is one function for each parser, which passes bytes to it and
//! checks the properties that must hold for any bytes.
//!
//! A target panics when an invariant breaks: an offset out of bounds, an iterator that does not
//! end, a value that changes when it is written and read again. The absence of panics in the parser
//! itself is checked by calling it.
//!
//! No input may be expensive for its length either: each target has a [`Limit`](targets::Limit) of
//! its allocations for an input, and its work must grow in proportion to [`hostile`] inputs.
//!
//! There are three ways to run a target:
//!
//! - `cargo test -p fuzz` runs each for two seconds over mutated [`seeds`], [`seeds_relay`],
//!   [`seeds_signalling`] and [`hostile`] ones, always the same. On failure it prints the input.
//!   `FUZZ_SECONDS` and `FUZZ_SEED` change the duration and the seed.
//! - `make fuzz` does the same for a minute each, with allocations measured; `FUZZ_SECONDS=600` and
//!   `FUZZ_TARGET=sdp` change the duration and the target.
//! - `cargo +nightly fuzz run --fuzz-dir verify/fuzz/coverage <target>` runs one under libFuzzer,
//!   guided by coverage, without a time limit.
//!
//! To add a target: its function in a module here, its seeds in [`seeds`], one line in [`targets`]
//! and `tests/brief.rs`, and for libFuzzer one file in `fuzz_targets` and one `[[bin]]` in
//! `coverage/Cargo.toml`.

#![forbid(unsafe_code)]

pub mod brief;
pub mod cost;
pub mod hostile;
pub mod seeds;
pub mod seeds_relay;
pub mod seeds_signalling;
pub mod targets;

mod api;
mod api_schema;
mod datagram;
mod descriptor;
mod handshake;
mod mutator;
mod receiver;
mod red;
mod relay;
mod relayed;
mod rtcp;
mod rtp;
mod sdp;
mod signalling;
mod southbound;
mod srtp;
mod stage;
mod whip_request;
mod worker;

pub use api::api;
pub use api_schema::{api_schema, every_field};
pub use datagram::{classify, dcep, dtls_records, framing, sctp_packet, stun_username, turn_messages, turn_requests};
pub use descriptor::{av1, dependency, h264, h265, vp8, vp9};
pub use handshake::{dtls_forged, dtls_handshake};
pub use receiver::receiver_reports;
pub use red::red;
pub use relay::{ng_requests, ng_values, rtpproxy_commands, sip_sdp};
pub use relayed::relayed;
pub use rtcp::{rtcp, transport_feedback};
pub use rtp::rtp;
pub use sdp::{sdp, sdp_read};
pub use signalling::{admission_query, join_request, signal, signal_json, token_forged};
pub use southbound::{links, sealed, southbound};
pub use srtp::srtp;
pub use whip_request::whip_request;
pub use worker::worker;

/// Panics unless `part` lies inside `whole`: a view must not invent bytes.
fn assert_inside(whole: &[u8], part: &[u8]) {
    let (whole, part) = (whole.as_ptr_range(), part.as_ptr_range());
    assert!(
        whole.start <= part.start && part.end <= whole.end,
        "a view points outside its bytes"
    );
}
