//! Every target for two seconds; see the crate's documentation for longer runs.

use fuzz::{brief, seeds, seeds_relay, seeds_signalling};

#[test]
fn rtp() {
    brief::run("rtp", fuzz::rtp, &seeds::rtp());
}

#[test]
fn rtcp() {
    brief::run("rtcp", fuzz::rtcp, &seeds::rtcp());
}

#[test]
fn transport_feedback() {
    brief::run(
        "transport_feedback",
        fuzz::transport_feedback,
        &seeds::transport_feedback(),
    );
}

#[test]
fn vp8() {
    brief::run("vp8", fuzz::vp8, &seeds::vp8());
}

#[test]
fn vp9() {
    brief::run("vp9", fuzz::vp9, &seeds::vp9());
}

#[test]
fn h264() {
    brief::run("h264", fuzz::h264, &seeds::h264());
}

#[test]
fn h265() {
    brief::run("h265", fuzz::h265, &seeds::h265());
}

#[test]
fn av1() {
    brief::run("av1", fuzz::av1, &seeds::av1());
}

#[test]
fn dependency() {
    brief::run("dependency", fuzz::dependency, &seeds::dependency());
}

#[test]
fn red() {
    brief::run("red", fuzz::red, &seeds::red());
}

#[test]
fn relayed() {
    let seeds = [seeds::rtp(), seeds::rtcp(), seeds::datagrams()].concat();
    brief::run("relayed", fuzz::relayed, &seeds);
}

#[test]
fn stun_username() {
    brief::run("stun_username", fuzz::stun_username, &seeds::stun());
}

#[test]
fn classify() {
    brief::run("classify", fuzz::classify, &seeds::datagrams());
}

#[test]
fn sdp() {
    brief::run("sdp", fuzz::sdp, &seeds_signalling::sdp());
}

#[test]
fn srtp() {
    brief::run("srtp", fuzz::srtp, &seeds::rtp());
}

#[test]
fn admission_query() {
    brief::run("admission_query", fuzz::admission_query, &seeds_signalling::queries());
}

#[test]
fn token_forged() {
    brief::run("token_forged", fuzz::token_forged, &seeds_signalling::tokens());
}

#[test]
fn signal() {
    brief::run("signal", fuzz::signal, &seeds_signalling::signal());
}

#[test]
fn receiver_reports() {
    brief::run("receiver_reports", fuzz::receiver_reports, &seeds::receiver_reports());
}

#[test]
fn ng_values() {
    brief::run("ng_values", fuzz::ng_values, &seeds_relay::ng_values());
}

#[test]
fn ng_requests() {
    brief::run("ng_requests", fuzz::ng_requests, &seeds_relay::ng_requests());
}

#[test]
fn rtpproxy_commands() {
    brief::run(
        "rtpproxy_commands",
        fuzz::rtpproxy_commands,
        &seeds_relay::rtpproxy_commands(),
    );
}

#[test]
fn sip_sdp() {
    brief::run("sip_sdp", fuzz::sip_sdp, &seeds_relay::sip_sdp());
}
