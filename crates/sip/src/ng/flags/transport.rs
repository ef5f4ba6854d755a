//! The transport protocol in a string of flags, where it is a word alone, or several.

const SECURE: u8 = 1;
const FEEDBACK: u8 = 2;
const DTLS: u8 = 4;

/// The words so far: `RTP/SAVPF` alone, or `SRTP AVPF`, as for rtpproxy.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Words(Option<u8>);

impl Words {
    /// Takes a word, if it is about the protocol. Of several whole ones the last counts.
    pub(super) fn take(&mut self, word: &str) -> bool {
        let before = self.0.unwrap_or(0);
        let bits = match word {
            "RTP" => before & !SECURE,
            "AVP" => before & !FEEDBACK,
            "SRTP" => before | SECURE,
            "AVPF" => before | FEEDBACK,
            "DTLS" => before | DTLS,
            "RTP/AVP" => 0,
            "RTP/AVPF" => FEEDBACK,
            "RTP/SAVP" => SECURE,
            "RTP/SAVPF" => SECURE | FEEDBACK,
            "UDP/TLS/RTP/SAVP" => DTLS,
            "UDP/TLS/RTP/SAVPF" => DTLS | FEEDBACK,
            _ => return false,
        };
        self.0 = Some(bits);
        true
    }

    /// The protocol that they name.
    pub(super) fn protocol(self) -> Option<&'static str> {
        let bits = self.0?;
        let feedback = bits & FEEDBACK != 0;
        Some(match (bits & DTLS != 0, bits & SECURE != 0) {
            (true, _) if feedback => "UDP/TLS/RTP/SAVPF",
            (true, _) => "UDP/TLS/RTP/SAVP",
            (_, true) if feedback => "RTP/SAVPF",
            (_, true) => "RTP/SAVP",
            _ if feedback => "RTP/AVPF",
            _ => "RTP/AVP",
        })
    }
}
