//! A participant's media: from its sockets to its counts, and from its sources to its sockets.

use std::time::Instant;

use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use wire::PacketKind;

use super::negotiation::track_id;
use super::{PUBLISHER, Participant, media_token};
use crate::client::error::ParticipantError;
use crate::client::offer;
use crate::clock;
use crate::media::{Ledger, Totals};
use crate::net::{Datagram, Inbox};
use crate::transport::sdp::{Kind, Media};
use crate::transport::{Incoming, TransportError};

impl Participant {
    /// Reads one of its transports.
    pub fn handle_media(
        &mut self,
        now: Instant,
        which: usize,
        inbox: &mut Inbox,
        totals: &mut Totals,
    ) -> Result<(), ParticipantError> {
        let transport = self.transports[which].as_ref().filter(|_| !self.left);
        let Some(socket) = transport.map(|transport| transport.socket().clone()) else {
            return Ok(());
        };
        let mut outcome = Ok(());
        let read = inbox.read(&socket, |datagram| match &mut self.downlink {
            Some(downlink) => downlink.push(which, &datagram),
            None => {
                if let Err(error) = self.receive(now, which, datagram, totals) {
                    outcome = Err(error);
                }
            }
        });
        read.map_err(TransportError::Socket)?;
        outcome?;
        self.drain_downlink(now, totals)
    }

    /// Handles the datagrams that have left a narrow downlink by now.
    pub fn drain_downlink(&mut self, now: Instant, totals: &mut Totals) -> Result<(), ParticipantError> {
        if self.downlink.is_none() {
            return Ok(());
        }
        let now_ns = clock::wall_ns();
        while let Some(mut queued) = self.downlink.as_mut().and_then(|downlink| downlink.pop(now_ns)) {
            let datagram = Datagram {
                bytes: &mut queued.bytes,
                from: queued.from,
                arrived_ns: queued.arrives_ns,
            };
            self.receive(now, queued.which, datagram, totals)?;
        }
        Ok(())
    }

    fn receive(
        &mut self,
        now: Instant,
        which: usize,
        datagram: Datagram<'_>,
        totals: &mut Totals,
    ) -> Result<(), ParticipantError> {
        let Some(transport) = &mut self.transports[which] else {
            return Ok(());
        };
        let arrived_ns = datagram.arrived_ns;
        if wire::classify(datagram.bytes) == PacketKind::Rtp {
            let tag = transport.rtp_overhead().filter(|_| totals.ledger.open_one_in() > 1);
            let clear = tag.and_then(|tag| datagram.bytes.len().checked_sub(tag));
            let clear = clear.and_then(|len| datagram.bytes.get_mut(..len));
            let is_known = |clear: &mut [u8]| self.inbound.recognize(now, arrived_ns, clear, &mut self.meter, totals);
            if self.dice.lose() || clear.is_some_and(is_known) {
                return Ok(());
            }
        }
        match transport.handle(now, datagram)? {
            Incoming::Rtp(packet) => {
                self.inbound.handle(now, arrived_ns, packet, &mut self.meter, totals);
            }
            Incoming::Rtcp(packet) => {
                self.sending
                    .handle(now, packet, &mut self.inbound, &mut self.publisher, transport);
            }
            Incoming::Nothing => {}
        }
        Ok(())
    }

    /// Lets a light client's media wait in `pool`, once it flows, instead of waking the thread from
    /// `epoll`.
    pub fn calm(&mut self, epoll: &Epoll, pool: &Epoll) -> Result<(), ParticipantError> {
        if self.in_the_pool || !self.plan.light || self.milestones.first_media.is_none() {
            return Ok(());
        }
        self.in_the_pool = true;
        for (which, transport) in self.transports.iter().enumerate() {
            if let Some(transport) = transport {
                let event = EpollEvent::new(EpollFlags::EPOLLIN, media_token(&self.plan, which));
                epoll.delete(transport.socket()).map_err(ParticipantError::Wait)?;
                pool.add(transport.socket(), event).map_err(ParticipantError::Wait)?;
            }
        }
        Ok(())
    }

    /// When its next media packet is due.
    pub fn media_due(&self) -> Option<Instant> {
        self.publisher.due().filter(|_| !self.left)
    }

    /// Sends the media that is due, and notes it.
    pub fn send_media(&mut self, now: Instant, ledger: &mut Ledger) {
        if let Some(transport) = &mut self.transports[PUBLISHER] {
            self.publisher.send_due(now, transport, ledger);
        }
    }

    /// Starts the sources once the server has agreed and the transport has keys.
    pub(super) fn start_publishing(&mut self, now: Instant) {
        let has_keys = self.transports[PUBLISHER]
            .as_ref()
            .is_some_and(|transport| transport.profile().is_some());
        let (Some(publish), Some(answer)) = (self.plan.publish, &self.answer) else {
            return;
        };
        if !has_keys || self.publisher.due().is_some() {
            return;
        }
        for (kind, source) in self.tracks() {
            let sends = |media: &&Media| media.extra.iter().any(|line| line.ends_with(&track_id(source)));
            let Some(section) = self.sections.iter().find(sends) else {
                continue;
            };
            let Some(negotiated) = offer::negotiated(answer, &section.mid) else {
                continue;
            };
            let start = now + self.plan.phase;
            match kind {
                Kind::Video => self
                    .publisher
                    .start_video(source, publish, &section.mid, negotiated, start),
                _ => self
                    .publisher
                    .start_audio(source, self.plan.speech, &section.mid, negotiated, start),
            }
        }
    }
}
