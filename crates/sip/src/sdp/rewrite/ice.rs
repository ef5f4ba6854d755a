//! Writes the lines about ICE.

use std::collections::HashSet;
use std::net::IpAddr;

use wire::sdp::IceCredentials;

use super::Writer;
use crate::sdp::Section;

/// An address of ours to be tried by ICE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// 1 for RTP, 2 for RTCP.
    pub component: u8,
    /// The address.
    pub address: IpAddr,
    /// The port.
    pub port: u16,
}

impl Writer {
    /// Candidates with one foundation, of a priority without the part that tells components apart.
    pub(super) fn candidates(&mut self, candidates: &[Candidate], foundation: usize, preference: u32, is_relay: bool) {
        for Candidate {
            component,
            address,
            port,
        } in candidates
        {
            let priority = (preference << 8) + (256 - u32::from(*component));
            let candidate = format!("candidate:{foundation} {component} UDP {priority} {address} {port}");
            if is_relay {
                self.attribute(format_args!("{candidate} typ relay raddr {address} rport {port}"));
            } else {
                self.attribute(format_args!("{candidate} typ host"));
            }
        }
    }

    pub(super) fn credentials(&mut self, credentials: &IceCredentials) {
        self.attribute(format_args!("ice-ufrag:{}", credentials.ufrag));
        self.attribute(format_args!("ice-pwd:{}", credentials.password));
    }
}

/// Foundation and preference of our candidates beside those of a section: a new foundation, and a
/// lower preference than any host candidate, so that media bypasses us if it can. Relays have the
/// lowest type preference (RFC 8445 section 5.1.2.2).
pub(super) fn beside(section: &Section<'_>, is_relay: bool) -> (usize, u32) {
    let theirs = section.lines.iter().filter_map(|line| match line.attribute() {
        Some(("candidate", value)) => Some(value.split_ascii_whitespace().collect::<Vec<_>>()),
        _ => None,
    });
    let (mut foundations, mut preference) = (HashSet::new(), 126 << 16);
    for words in theirs {
        foundations.extend(words.first().copied());
        let is_host = words.get(7).is_some_and(|kind| kind.eq_ignore_ascii_case("host"));
        let priority = words.get(3).and_then(|priority| priority.parse::<u32>().ok());
        if let Some(priority) = priority.filter(|_| is_host) {
            preference = preference.min((priority >> 8).saturating_sub(1));
        }
    }
    if is_relay {
        preference = 65_535;
    }
    let is_free = |foundation: &usize| !foundations.contains(foundation.to_string().as_str());
    (
        (1..).find(is_free).expect("there are more numbers than candidates"),
        preference,
    )
}

pub(super) fn is_ice(name: &str) -> bool {
    matches!(
        name,
        "ice-ufrag"
            | "ice-pwd"
            | "ice-options"
            | "ice-lite"
            | "ice-mismatch"
            | "ice-pacing"
            | "candidate"
            | "remote-candidates"
            | "end-of-candidates"
    )
}

/// Whether the value of `a=candidate` is a relay.
pub(super) fn is_relay(candidate: &str) -> bool {
    let kind = candidate.split_ascii_whitespace().nth(7);
    kind.is_some_and(|kind| kind.eq_ignore_ascii_case("relay"))
}
