//! Every target for two seconds; see the crate's documentation for longer runs.

use std::time::Duration;

use fuzz::{brief, targets};

macro_rules! briefly {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            let target = targets::named(stringify!($name));
            brief::run(target, Duration::from_secs(2), |target, input| (target.run)(input));
        })*

        #[test]
        fn every_target_is_run() {
            let run = [$(stringify!($name)),*];
            assert!(targets::TARGETS.iter().map(|target| target.name).eq(run));
        }
    };
}

briefly! {
    rtp rtcp transport_feedback vp8 vp9 h264 h265 av1 dependency red southbound links sealed relayed stun_username dcep sctp_packet dtls_records
    dtls_handshake dtls_forged
    classify framing turn_messages turn_requests srtp sdp_read sdp admission_query join_request token_forged signal signal_json api
    api_schema whip_request worker receiver_reports ng_values ng_requests rtpproxy_commands sip_sdp
}
