//! Offers and answers.

use std::time::Instant;

use livekit_protocol::{SessionDescription as Described, signal_request};
use wire::MediaKind;
use wire::sdp::{Direction, SessionDescription, Setup};

use super::describe::{self, Section, Usage};
use super::transport::Transport;
use super::{Effect, PUBLISHER, Phase, SUBSCRIBER, Session};

/// Sections of each kind that a client in single mode has free from the beginning.
const FREE_SECTIONS: u32 = 3;

impl Session {
    /// The offer that a client in single mode brings along.
    pub(crate) fn first_offer(&mut self, now: Instant) -> Option<Described> {
        if self.how.dual {
            return None;
        }
        self.add_receiving(FREE_SECTIONS, FREE_SECTIONS);
        self.sections.push(describe::data(self.sections.len()));
        Some(self.write_offer(now))
    }

    pub(super) fn add_receiving(&mut self, audios: u32, videos: u32) {
        for (kind, count) in [(MediaKind::Audio, audios), (MediaKind::Video, videos)] {
            for _ in 0..count {
                self.sections.push(describe::receiving(kind, self.sections.len()));
            }
        }
    }

    /// Offers the sections as they are, now or as soon as that makes sense.
    pub(super) fn offer(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if self.offering.out || self.phase != Phase::In {
            self.offering.again = true;
            return;
        }
        if self.how.dual && !self.sections.iter().any(|section| section.usage == Usage::Data) {
            self.sections.push(describe::data(self.sections.len()));
        }
        let offer = self.write_offer(now);
        let over = self.sections_over();
        out.push(Effect::Say(Box::new(signal_request::Message::Offer(offer)), over));
    }

    fn write_offer(&mut self, now: Instant) -> Described {
        self.offering.id += 1;
        (self.offering.out, self.offering.again) = (true, false);
        let sections = self.sections.iter().map(|section| section.media.clone()).collect();
        let sdp = self.describe(now, PUBLISHER, sections, Setup::ActPass);
        Described {
            r#type: "offer".to_owned(),
            sdp,
            id: self.offering.id,
            ..Described::default()
        }
    }

    /// Sources whose sections say that they send no more.
    fn sections_over(&self) -> Vec<u32> {
        let live = |id: &u32| self.sections.iter().any(|section| section.usage == Usage::Send(*id));
        self.ended.iter().filter(|id| !live(id)).copied().collect()
    }

    fn describe(&mut self, now: Instant, peer: usize, sections: Vec<wire::sdp::MediaSection>, setup: Setup) -> String {
        self.versions += 1;
        let (version, fingerprint) = (self.versions, self.fingerprint());
        let transport = self.transport(now, peer);
        describe::describe(version, sections, &transport.local, &fingerprint, setup)
    }

    pub(super) fn transport(&mut self, now: Instant, peer: usize) -> &mut Transport {
        let (address, rng) = (self.addresses[peer], &mut self.rng);
        self.transports[peer].get_or_insert_with(|| Transport::new(address, rng, now))
    }

    /// The server answers an offer. An answer to an earlier one is of no use.
    pub(super) fn hear_answer(&mut self, now: Instant, described: &Described, out: &mut Vec<Effect>) {
        if !self.offering.out || (described.id != 0 && described.id != self.offering.id) {
            return;
        }
        let Ok(answer) = SessionDescription::parse(&described.sdp) else {
            return;
        };
        self.offering.out = false;
        // We offered both roles: the server says which is left for us.
        self.connect(now, PUBLISHER, &answer, |theirs| theirs != Some(Setup::Active));
        for (section, answered) in self.sections.iter().zip(&answer.sections) {
            match section.usage {
                Usage::Send(id) => {
                    let source = self.sources.iter_mut().find(|source| source.id == id);
                    source.into_iter().for_each(|source| source.agree(answered));
                }
                Usage::Receive if answered.direction.sends() => {
                    self.downlink
                        .told(answered, described.mid_to_track_id.get(answered.mid.as_str()));
                }
                _ => {}
            }
        }
        if self.offering.again {
            self.offer(now, out);
        }
    }

    /// The server offers what there is to receive.
    pub(super) fn hear_offer(&mut self, now: Instant, described: &Described, out: &mut Vec<Effect>) {
        let Ok(offer) = SessionDescription::parse(&described.sdp) else {
            return;
        };
        for section in offer.sections.iter().filter(|section| section.direction.sends()) {
            self.downlink
                .told(section, described.mid_to_track_id.get(section.mid.as_str()));
        }
        let passive = self.how.passive;
        let sections = offer.sections.iter().map(describe::answered).collect();
        let sdp = self.describe(
            now,
            SUBSCRIBER,
            sections,
            if passive { Setup::Passive } else { Setup::Active },
        );
        self.connect(now, SUBSCRIBER, &offer, |_| !passive);
        let answer = Described {
            r#type: "answer".to_owned(),
            sdp,
            id: described.id,
            ..Described::default()
        };
        out.push(super::say(signal_request::Message::Answer(answer)));
    }

    fn connect(
        &mut self,
        now: Instant,
        peer: usize,
        theirs: &SessionDescription,
        is_active: impl Fn(Option<Setup>) -> bool,
    ) {
        let Some(section) = theirs
            .sections
            .iter()
            .find(|section| !section.rejected && section.ice.is_some())
        else {
            return;
        };
        let ice = section.ice.as_ref().expect("just found").clone();
        let (active, certificate) = (is_active(section.setup), self.certificate.clone());
        self.transport(now, peer)
            .connect(now, &ice, active, certificate.as_deref());
    }

    /// Sections for sources that were wanted while there was nobody to tell; whether there were
    /// any.
    pub(super) fn add_missing_sections(&mut self) -> bool {
        let has_section = |id: u32| self.sections.iter().any(|section| section.usage == Usage::Send(id));
        let missing: Vec<u32> = self
            .sources
            .iter()
            .map(|source| source.id)
            .filter(|id| !has_section(*id))
            .collect();
        missing.iter().for_each(|id| self.add_sending(*id));
        !missing.is_empty()
    }

    /// A new section for one of its sources.
    pub(super) fn add_sending(&mut self, id: u32) {
        let Some(source) = self.sources.iter().find(|source| source.id == id) else {
            return;
        };
        let (kind, track, ssrcs) = (source.kind(), source.client_id(), source.described_ssrcs());
        self.sections
            .push(describe::sending(kind, self.sections.len(), id, &track, &ssrcs));
    }

    /// The section of a source says that nothing is sent any more.
    pub(super) fn end_sending(&mut self, id: u32) {
        for Section { media, usage } in self
            .sections
            .iter_mut()
            .filter(|section| section.usage == Usage::Send(id))
        {
            media.direction = Direction::Inactive;
            *usage = Usage::Over;
        }
        self.ended.push(id);
    }
}
