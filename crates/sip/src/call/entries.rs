//! Turns the state of a call into the entries of the data plane.

use super::{Call, Component, Dialogue, Media};
use crate::plan::{Entry, Hop, Keys};

impl Call {
    /// The entries to install now. There are none before an answer: until then only the caller is
    /// known to listen.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        for dialogue in self
            .dialogues
            .iter()
            .filter(|dialogue| dialogue.answered && !dialogue.is_over())
        {
            dialogue
                .media
                .iter()
                .filter(|media| !media.refused)
                .for_each(|media| media.entries(&mut entries));
        }
        entries
    }
}

impl Dialogue {
    /// All addresses of ours in it, with whose side and which component they are.
    pub(crate) fn locals(&self) -> impl Iterator<Item = (std::net::SocketAddr, usize, usize, Component)> {
        let sides = self
            .media
            .iter()
            .enumerate()
            .flat_map(|(index, media)| media.sides.iter().enumerate().map(move |side| (index, side)));
        sides.flat_map(|(index, (end, side))| {
            let pair = side.local.iter();
            pair.flat_map(move |pair| {
                [
                    (pair.rtp(), index, end, Component::Rtp),
                    (pair.rtcp(), index, end, Component::Rtcp),
                ]
            })
        })
    }
}

impl Media {
    fn entries(&self, entries: &mut Vec<Entry>) {
        for end in [0, 1] {
            entries.extend(self.entry(end, Component::Rtp));
            if self.is_rtp && !self.sides[end].mux {
                entries.extend(self.entry(end, Component::Rtcp));
            }
        }
    }

    /// The entry for packets from the party at `end`; none while its address or its protection is
    /// not known.
    fn entry(&self, end: usize, component: Component) -> Option<Entry> {
        let side = &self.sides[end];
        let ingress_protection = side.security.ingress_protection()?;
        let carries_rtcp = self.is_rtp && (side.mux || component == Component::Rtcp);
        let checks = side
            .ice
            .clone()
            .map(|ours| (ours, side.heard.as_ref().and_then(|heard| heard.ice.clone())));
        Some(Entry {
            at: side.local(component)?,
            accept: side.accept(component)?,
            ingress_protection,
            rtp: if component == Component::Rtp {
                self.hop(end, Component::Rtp)
            } else {
                None
            },
            rtcp: if carries_rtcp {
                self.hop(end, Component::Rtcp)
            } else {
                None
            },
            checks,
            clock_rate: if carries_rtcp {
                side.clock_rate(self.is_protected(end))
            } else {
                None
            },
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
