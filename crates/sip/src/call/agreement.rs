//! Changes of a call that may be refused.
//!
//! An offer in a call that is answered changes nothing until it is answered: if it is refused, all
//! is as before (RFC 3261 section 14.1). A refusal is not reported by every proxy. So the media
//! that were agreed stay beside the offered ones and are what is relayed, until an answer; the next
//! offer begins with them again.

use std::collections::BTreeSet;

use super::{Component, Dialogue, Media, Side, Terms};
use crate::ports::PortPool;
use crate::sdp::Description;

/// The media that were agreed before an offer.
#[derive(Debug)]
pub(crate) struct Agreement {
    pub(crate) media: Vec<Media>,
    pub(crate) offered: usize,
    pub(crate) interfaces: [usize; 2],
    /// The end that offers a change.
    pub(crate) offerer: usize,
    /// The sections of which a change is offered, where a proxy offers each by itself.
    pub(crate) sections: BTreeSet<usize>,
    /// The offer and its terms, to tell when it comes again.
    offer: Option<(Vec<u8>, Terms)>,
}

impl Agreement {
    /// One of an earlier process. Its offer is not known when it comes again.
    pub(crate) fn resumed(media: Vec<Media>, offered: usize, interfaces: [usize; 2], offerer: usize) -> Self {
        Self {
            media,
            offered,
            interfaces,
            offerer,
            sections: BTreeSet::new(),
            offer: None,
        }
    }

    /// It is not needed any more.
    pub(crate) fn release(mut self, ports: &mut PortPool) {
        self.media.iter_mut().for_each(|media| media.release(ports));
    }
}

impl Dialogue {
    /// The media as they are, in case that an offer of this end or an answer to it fails.
    pub(crate) fn agreed(&self, offerer: usize, ports: &mut PortPool) -> Agreement {
        Agreement {
            media: self.media.iter().map(|media| media.share(ports)).collect(),
            offered: self.offered,
            interfaces: [self.ends[0].interface, self.ends[1].interface],
            offerer,
            sections: BTreeSet::new(),
            offer: None,
        }
    }

    /// A change of one section is offered, beginning with what was agreed, whatever was offered
    /// since.
    pub(crate) fn offer_section(&mut self, index: usize, offerer: usize, ports: &mut PortPool) {
        if self.is_established() && self.agreement.is_none() {
            self.agreement = Some(self.agreed(offerer, ports));
        }
        let Some(agreement) = &mut self.agreement else { return };
        agreement.sections.insert(index);
        if let (Some(agreed), Some(media)) = (agreement.media.get(index), self.media.get_mut(index)) {
            let agreed = agreed.share(ports);
            std::mem::replace(media, agreed).release(ports);
        }
    }

    /// The offered change of one section is answered. Changes of others may yet be.
    pub(crate) fn commit_section(&mut self, index: usize, ports: &mut PortPool) {
        let Some(agreement) = &mut self.agreement else { return };
        agreement.sections.remove(&index);
        if agreement.sections.is_empty() {
            return self.commit(ports);
        }
        while agreement.media.len() <= index {
            agreement.media.push(Media::new("audio"));
        }
        let agreed = self.media[index].share(ports);
        std::mem::replace(&mut agreement.media[index], agreed).release(ports);
    }

    /// Whether an offer changes what is relayed, rather than begins it.
    pub(crate) fn is_established(&self) -> bool {
        self.answered && !self.is_over()
    }

    /// An offer that may be refused was made.
    pub(super) fn await_answer(&mut self, agreed: Agreement, offer: &Description<'_>, terms: &Terms) {
        self.agreement = Some(Agreement {
            offer: Some((offer.bytes(), terms.clone())),
            ..agreed
        });
    }

    /// The reply to an offer that came before and is not answered yet.
    pub(super) fn repeated(&self, end: usize, offer: &Description<'_>, terms: &Terms) -> Option<Vec<u8>> {
        let agreement = self.agreement.as_ref().filter(|agreement| agreement.offerer == end)?;
        let (bytes, known) = agreement.offer.as_ref()?;
        let identity = self.ends[1 - end].identity.as_ref()?;
        (known == terms && *bytes == offer.bytes()).then(|| identity.written().to_vec())
    }

    /// The offered change is answered.
    pub(crate) fn commit(&mut self, ports: &mut PortPool) {
        self.agreement
            .take()
            .into_iter()
            .for_each(|before| before.release(ports));
    }

    /// The offered change is not answered: there is another offer, or one of the other party, which
    /// this is the answer to.
    pub(super) fn roll_back(&mut self, answering: Option<usize>, ports: &mut PortPool) {
        let is_void = |agreement: &Agreement| answering.is_none_or(|end| agreement.offerer == end);
        if self.agreement.as_ref().is_some_and(is_void)
            && let Some(before) = self.agreement.take()
        {
            self.restore(before, ports);
        }
    }

    /// All is as it was.
    pub(super) fn restore(&mut self, before: Agreement, ports: &mut PortPool) {
        self.media.iter_mut().for_each(|media| media.release(ports));
        self.media = before.media;
        self.offered = before.offered;
        for (end, interface) in self.ends.iter_mut().zip(before.interfaces) {
            end.interface = interface;
        }
    }

    /// A port of the offered change is not to be had, so the offer needs another reply.
    pub(super) fn forget_offer(&mut self) {
        self.agreement.iter_mut().for_each(|agreement| agreement.offer = None);
    }

    /// The media that are relayed.
    pub(crate) fn relayed(&self) -> &[Media] {
        let agreed = self.agreement.as_ref().map(|agreement| &agreement.media);
        agreed.unwrap_or(&self.media)
    }

    /// All sides, of the relayed media and of offered ones.
    pub(crate) fn sides(&self) -> impl Iterator<Item = &Side> {
        let agreed = self.agreement.iter().flat_map(|agreement| &agreement.media);
        agreed.chain(&self.media).flat_map(|media| &media.sides)
    }

    /// The same, to change them.
    pub(crate) fn sides_mut(&mut self) -> impl Iterator<Item = &mut Side> {
        let agreed = self.agreement.iter_mut().flat_map(|agreement| &mut agreement.media);
        agreed.chain(&mut self.media).flat_map(|media| &mut media.sides)
    }
}

impl Media {
    fn share(&self, ports: &mut PortPool) -> Self {
        let [one, other] = &self.sides;
        Self {
            kind: self.kind.clone(),
            protocols: self.protocols.clone(),
            sides: [one.share(ports), other.share(ports)],
            choice: self.choice.clone(),
            codec: self.codec.clone(),
            format: self.format.clone(),
            ..*self
        }
    }
}

impl Side {
    fn share(&self, ports: &mut PortPool) -> Self {
        Self {
            local: self.local.as_ref().map(|pair| ports.share(pair)),
            heard: self.heard.clone(),
            mid: self.mid.clone(),
            security: self.security.clone(),
            ice: self.ice.clone(),
            qualities: self.qualities.clone(),
            ..*self
        }
    }

    /// The component that has this address of ours.
    pub(crate) fn component_at(&self, at: std::net::SocketAddr) -> Option<Component> {
        let pair = self.local.as_ref()?;
        match at {
            _ if pair.rtp() == at => Some(Component::Rtp),
            _ if pair.rtcp() == at => Some(Component::Rtcp),
            _ => None,
        }
    }
}
