//! A peer connection that goes on at another node.
//!
//! To its client it is an ICE restart after which the other side has another certificate. Sections,
//! payload types and mids stay. SSRCs change: numbers begin anew, and a decoder takes numbers that
//! go back for late packets.

use southbound::{Channel, DtlsRole, TransportId};

use super::Peer;
use crate::negotiation::section::{Down, Section};
use environment::Random;
use wire::sdp::SessionDescription;

impl Peer {
    /// Whether an offer restarts ICE.
    pub(crate) fn is_restarted_by(&self, offer: &SessionDescription) -> bool {
        let credentials = |known: &super::Remote| {
            let mut ice = offer.sections.iter().filter_map(|section| section.ice.as_ref());
            ice.any(|ice| *ice != known.ice)
        };
        self.remote.as_ref().is_some_and(credentials)
    }

    /// The data channels that we have opened, with the streams that the peer knows them by. They
    /// were opened in their order, on every second stream.
    pub(crate) fn known_channels(&self) -> Vec<Channel> {
        let is_client = self
            .remote
            .as_ref()
            .is_some_and(|remote| remote.dtls == DtlsRole::Client);
        let streams = (u16::from(!is_client)..).step_by(2);
        let opens = self.opens.iter().zip(streams).map(|(channel, stream)| Channel {
            stream: Some(channel.stream.unwrap_or(stream)).filter(|_| self.channels.contains(&channel.label)),
            ..channel.clone()
        });
        opens.collect()
    }

    /// Goes on with another transport, of another node, with these data channels. Returns the
    /// transport that it had.
    pub(crate) fn move_to(
        &mut self,
        transport: TransportId,
        random: &mut Random,
        channels: Vec<Channel>,
    ) -> TransportId {
        self.restart(random);
        self.opens = channels;
        self.channels.clear();
        self.has_moved = true;
        for sides in self.sections.iter_mut().filter_map(Section::sides_mut) {
            if let Down::Track(downlink) = &mut sides.down {
                (downlink.ssrc, downlink.repair) = (self.ssrcs.next(), self.ssrcs.next());
            }
        }
        std::mem::replace(&mut self.transport, transport)
    }

    /// Whether what was sent over the transport before is to be sent over this one from now on. The
    /// peer has just described itself.
    pub(crate) fn take_moved(&mut self) -> bool {
        std::mem::take(&mut self.has_moved)
    }
}
