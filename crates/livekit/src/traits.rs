//! Traits of clients, by their own description of themselves.

use controller::ClientTraits;
use livekit_protocol::ClientInfo;
use livekit_protocol::client_info::Sdk;

use crate::client_rules::disabled_codecs;
use crate::convert::values;

/// The first version of the protocol whose clients tell tracks of one stream apart.
const STREAMS_IN_STEP: i32 = 10;

/// Traits of a client.
pub(crate) fn of(client: ClientInfo) -> ClientTraits {
    let is_pion = client.sdk() == Sdk::Go;
    // Unnamed ones are not LiveKit's.
    let is_named = client.sdk() != Sdk::Unknown;
    ClientTraits {
        applies_offer_after_greeting: is_pion,
        learns_tracks_by_packets: is_pion,
        plays_streams_in_step: client.protocol >= STREAMS_IN_STEP && !is_firefox(&client),
        // libwebrtc begins DTLS anew where an ICE restart names another certificate.
        can_move: is_named && !is_pion && !is_firefox(&client),
        disabled_codecs: disabled_codecs(&client),
        client_protocol: client.client_protocol,
        capabilities: values(client.capabilities),
    }
}

/// Firefox makes up track ids of its own and cannot tell two tracks of one stream apart.
fn is_firefox(client: &ClientInfo) -> bool {
    let names = ["firefox", "firefox mobile"];
    names.iter().any(|name| client.browser.eq_ignore_ascii_case(name))
}
