//! Writes the lines about ICE.

use std::collections::HashSet;
use std::net::IpAddr;

use wire::sdp::IceCredentials;

use super::Writer;
use crate::sdp::Section;

/// An address of ours to be tried by ICE; always a host's.
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
    pub(super) fn candidates(&mut self, candidates: &[Candidate], foundation: usize, preference: u32) {
        for Candidate {
            component,
            address,
            port,
        } in candidates
        {
            let priority = (preference << 8) + (256 - u32::from(*component));
            self.attribute(format_args!(
                "candidate:{foundation} {component} UDP {priority} {address} {port} typ host"
            ));
        }
    }

    pub(super) fn credentials(&mut self, credentials: &IceCredentials) {
        self.attribute(format_args!("ice-ufrag:{}", credentials.ufrag));
        self.attribute(format_args!("ice-pwd:{}", credentials.password));
    }
}

/// Foundation and preference of our candidates beside those of a section: a new foundation, and a
/// lower preference than any host candidate, so that media bypasses us if it can.
pub(super) fn beside(section: &Section<'_>) -> (usize, u32) {
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
