//! Options for keys that an answer may decline (RFC 8643).

use super::Flags;

impl Flags {
    pub(super) fn choice_of_osrtp(&mut self, word: &str) {
        let osrtp = &mut self.terms.keying.osrtp;
        match word {
            "offer" | "offer-rfc" => osrtp.offer = true,
            // It also stands for the older form, which offers a section twice. Both sections of one
            // are relayed.
            "accept" | "accept-rfc" => osrtp.accept = true,
            "offer-legacy" | "accept-legacy" => self.undone.ignored.push(&format!("OSRTP-{word}")),
            "off" | "no" | "none" => {}
            _ => self.undone.unknown.push(&format!("OSRTP={word}")),
        }
    }
}
