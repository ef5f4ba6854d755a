//! The parameters of a transport that its media depends on.

use southbound::RemoteTransport;
use wire::{ExtensionMap, Ssrc};

/// A transport, as far as its media must know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MediaParameters {
    /// Its RTP and RTCP are in clear.
    pub(crate) is_clear: bool,
    /// The SSRC of our RTCP that is from no stream, where the peer is at a known address. No ICE
    /// tells whether it is there.
    pub(crate) rtcp_ssrc: Option<Ssrc>,
    /// Header-extension ids of what the peer sends.
    pub(crate) extensions_in: ExtensionMap,
    /// Header-extension ids of what we send.
    pub(crate) extensions_out: ExtensionMap,
}

impl MediaParameters {
    /// Those of a description, at a node that may have clear RTP.
    pub(crate) fn described(remote: &RemoteTransport, clear_rtp: bool) -> Self {
        MediaParameters {
            is_clear: remote.fingerprints.is_empty() && clear_rtp,
            rtcp_ssrc: None,
            extensions_in: remote.extensions_in,
            extensions_out: remote.extensions_out,
        }
    }
}
