//! Turns the state of a call into the entries of the data plane.

use southbound::relay::{Accept, Entry, Hop, Keys};

use super::media::Side;
use super::security::Security;
use super::{Call, Component, Dialogue, Media};
use crate::config::Learning;

/// The number of the window before an answer. Nothing is learned in it. It differs from the window
/// that the answer opens, so that the data plane reports sources again there.
const EARLY_WINDOW: u32 = u32::MAX;

impl Call {
    /// The entries to install now. Before an answer they are for early media: packets to the party
    /// that offered, since only that party is known to listen.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        for dialogue in self.dialogues.iter().filter(|dialogue| !dialogue.is_over()) {
            let relayed = dialogue.relayed();
            // A section may be new in a call that was answered, as one for fax.
            let added = dialogue.media.iter().skip(relayed.len());
            for media in relayed.iter().chain(added).filter(|media| !media.refused) {
                match dialogue.answered && media.is_answered() {
                    true => media.entries(&mut entries),
                    false => media.early_entries(&mut entries),
                }
            }
        }
        entries
    }
}

impl Dialogue {
    /// All addresses of ours in it.
    pub(crate) fn locals(&self) -> impl Iterator<Item = std::net::SocketAddr> {
        let pairs = self.sides().filter_map(|side| side.local.as_ref());
        pairs.flat_map(|pair| [pair.rtp(), pair.rtcp()])
    }
}

impl Media {
    /// Both parties have described themselves.
    fn is_answered(&self) -> bool {
        self.sides.iter().all(|side| side.heard.is_some())
    }

    fn entries(&self, entries: &mut Vec<Entry>) {
        for end in [0, 1] {
            entries.extend(self.entry(end, Component::Rtp));
            if self.is_rtp && !self.sides[end].mux {
                entries.extend(self.entry(end, Component::Rtcp));
            }
        }
    }

    /// The entries for packets from a party that has not answered to the one that offered. There
    /// are none if either has to know a key first or to prove its address.
    fn early_entries(&self, entries: &mut Vec<Entry>) {
        for end in [0, 1] {
            let (side, offerer) = (&self.sides[end], &self.sides[1 - end]);
            if side.heard.is_none() && offerer.takes_early_media() && side.is_plain() && offerer.is_plain() {
                entries.extend(self.early_entry(end, Component::Rtp));
                if self.is_rtp {
                    entries.extend(self.early_entry(end, Component::Rtcp));
                }
            }
        }
    }

    fn early_entry(&self, end: usize, component: Component) -> Option<Entry> {
        let hop = self.hop(end, component)?;
        let (rtp, rtcp) = match component {
            Component::Rtp => (Some(hop), None),
            Component::Rtcp => (None, Some(hop)),
        };
        Some(Entry {
            at: self.sides[end].local(component)?,
            accept: Accept::Learn {
                within: None,
                window: EARLY_WINDOW,
                rtp_only: false,
            },
            ingress_protection: Keys::Clear,
            rtp,
            rtcp,
            checks: None,
            clock_rate: None,
        })
    }

    /// The entry for packets from the party at `end`; none while its address or its protection is
    /// not known.
    fn entry(&self, end: usize, component: Component) -> Option<Entry> {
        let side = &self.sides[end];
        let ingress_protection = side.security.ingress_protection()?;
        // Some phones send RTCP to the port for RTP unannounced. A key opens RTCP at one port, as a
        // packet could be replayed at the other.
        let is_for_rtcp = side.mux || component == Component::Rtcp;
        let carries_rtcp = self.is_rtp && (is_for_rtcp || !matches!(ingress_protection, Keys::Srtp(_)));
        let checks = side
            .checked()
            .map(|ours| (ours.clone(), side.heard.as_ref().and_then(|heard| heard.ice.clone())));
        Some(Entry {
            at: side.local(component)?,
            accept: side.accept(component)?,
            ingress_protection,
            rtp: if component == Component::Rtp {
                self.hop(end, Component::Rtp)
            } else {
                None
            },
            rtcp: self.hop(end, Component::Rtcp).filter(|_| carries_rtcp),
            checks,
            clock_rate: side.clock_rate(self.is_protected(end)).filter(|_| carries_rtcp),
        })
    }

    /// The destination of packets from the party at `end`.
    fn hop(&self, end: usize, component: Component) -> Option<Hop> {
        let other = &self.sides[1 - end];
        let egress_protection: Keys = other.security.egress_protection()?;
        Some(Hop {
            from: other.local(component)?,
            to: other.destination(component)?,
            egress_protection,
            tos: self.tos,
        })
    }
}

impl Side {
    /// Weir neither opens nor seals its packets, and has no ICE with it.
    fn is_plain(&self) -> bool {
        matches!(self.security, Security::Clear) && self.ice.is_none()
    }

    /// It has offered, and packets for it are taken from an address that no description names.
    fn takes_early_media(&self) -> bool {
        self.heard.is_some() && self.policy.learning != Learning::Off && !self.policy.strict
    }
}
