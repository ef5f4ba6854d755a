//! One allocation, and the requests about it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::Instant;

use crate::answer::Answer;
use crate::authentication::Authenticated;
use crate::errors::ErrorCode;
use crate::kinds::{
    ADDRESS_ERROR_CODE, CHANNEL_NUMBER, LIFETIME as LIFETIME_KIND, REQUESTED_ADDRESS_FAMILY, REQUESTED_TRANSPORT,
    RESERVATION_TOKEN, XOR_MAPPED_ADDRESS, XOR_RELAYED_ADDRESS,
};
use crate::limits::{CHANNEL_LIFETIME, CHANNELS_MAX, LIFETIME};
use crate::message::Malformed;
use crate::port::{self, Opened, PortRequest, Refusal, Token};
use crate::{Family, Server};

/// The numbers of channels. RFC 8656 ends at 0x4fff, which coturn's client and others that are as
/// old as RFC 5766 do not know. No other protocol is at this port.
const CHANNELS: RangeInclusive<u16> = 0x4000..=0x7fff;
/// The number of UDP among protocols.
const UDP: u8 = 17;

/// An allocation of one user.
#[derive(Debug)]
pub(crate) struct Allocation {
    username: String,
    /// One of each family at most.
    pub relayed: Vec<SocketAddr>,
    /// The request that made it.
    pub made_by: [u8; 12],
    pub expires: Instant,
    token: Option<Token>,
    /// The family that was asked for as well and is missing, and why.
    missing: Option<(Family, ErrorCode)>,
    channels: BTreeMap<u16, Channel>,
}

/// A channel by which a peer is named.
#[derive(Debug)]
struct Channel {
    peer: SocketAddr,
    expires: Instant,
}

impl From<Malformed> for ErrorCode {
    fn from(_: Malformed) -> Self {
        ErrorCode::BadRequest
    }
}

impl Allocation {
    /// Makes an allocation as a request asks for it.
    pub(crate) fn make(
        server: &Server,
        now: Instant,
        request: &Authenticated<'_>,
        open: &mut dyn FnMut(&str, PortRequest) -> Result<Opened, Refusal>,
    ) -> Result<Self, ErrorCode> {
        let message = &request.message;
        match message.exact::<4>(REQUESTED_TRANSPORT)? {
            None => return Err(ErrorCode::BadRequest),
            Some([UDP, ..]) => {}
            Some(_) => return Err(ErrorCode::UnsupportedTransportProtocol),
        }
        // It cannot be anything else.
        message.exact::<4>(LIFETIME_KIND)?;
        let (asked, is_dual) = port::asked(server, message)?;
        let mut open = |port| match port {
            PortRequest::Any(family) | PortRequest::Even { family, .. } if !server.has_peer_of(family) => {
                Err(ErrorCode::AddressFamilyNotSupported)
            }
            port => open(request.username, port).map_err(Refusal::code),
        };
        let first = open(asked);
        let second = is_dual.then(|| open(PortRequest::Any(Family::V6)));
        let missing = match (&first, &second) {
            (Ok(_), Some(Err(code))) => Some((Family::V6, *code)),
            (Err(code), Some(Ok(_))) => Some((Family::V4, *code)),
            _ => None,
        };
        let opened: Vec<Opened> = first.into_iter().chain(second.and_then(Result::ok)).collect();
        if opened.is_empty() {
            return Err(first.err().unwrap_or(ErrorCode::InsufficientCapacity));
        }
        Ok(Allocation {
            username: request.username.to_owned(),
            relayed: opened.iter().map(|opened| opened.relayed).collect(),
            made_by: message.id(),
            expires: now + LIFETIME,
            token: opened.iter().find_map(|opened| opened.token),
            missing,
            channels: BTreeMap::new(),
        })
    }

    /// Completes the answer that it was made.
    pub(crate) fn describe(&self, answer: Answer, client: SocketAddr) -> Answer {
        let relayed = |answer: Answer, address: &SocketAddr| answer.address(XOR_RELAYED_ADDRESS, *address);
        let answer = self.relayed.iter().fold(answer, relayed);
        let answer = answer
            .address(XOR_MAPPED_ADDRESS, client)
            .attribute(LIFETIME_KIND, &seconds(LIFETIME.as_secs()));
        let answer = match &self.token {
            Some(token) => answer.attribute(RESERVATION_TOKEN, token),
            None => answer,
        };
        match self.missing {
            Some((family, code)) => {
                let family = if family == Family::V4 { 1 } else { 2 };
                let (class, number) = (code.number() / 100, code.number() % 100);
                let value = [&[family, 0, class as u8, number as u8], code.reason().as_bytes()].concat();
                answer.attribute(ADDRESS_ERROR_CODE, &value)
            }
            None => answer,
        }
    }

    /// Whether a request to refresh is one to end.
    pub(crate) fn is_end(request: &Authenticated<'_>) -> Result<bool, ErrorCode> {
        Ok(request.message.exact(LIFETIME_KIND)? == Some([0; 4]))
    }

    /// The answer that there is no allocation any more.
    pub(crate) fn gone(request: &Authenticated<'_>) -> Answer {
        request.success().attribute(LIFETIME_KIND, &seconds(0))
    }

    /// Whether it is the requester's.
    pub(crate) fn is_of(&self, request: &Authenticated<'_>) -> bool {
        self.username == request.username
    }

    /// Refreshes it, or gives up the relayed address of the family that is named, or all of them.
    pub(crate) fn refresh(
        &mut self,
        now: Instant,
        request: &Authenticated<'_>,
        is_end: bool,
    ) -> Result<Answer, ErrorCode> {
        let family = request.message.exact::<4>(REQUESTED_ADDRESS_FAMILY)?;
        let family = family.map(|[number, ..]| Family::from_number(number));
        let is_named = |relayed: &SocketAddr| family.is_none_or(|family| family == Some(Family::of(*relayed)));
        if !self.relayed.iter().any(is_named) {
            return Err(ErrorCode::PeerAddressFamilyMismatch);
        }
        if is_end {
            self.relayed.retain(|relayed| !is_named(relayed));
            return Ok(Self::gone(request));
        }
        self.expires = now + LIFETIME;
        Ok(request.success().attribute(LIFETIME_KIND, &seconds(LIFETIME.as_secs())))
    }

    /// Permits peers, all of them or none (RFC 8656 section 10.2).
    pub(crate) fn permit(&self, server: &Server, request: &Authenticated<'_>) -> Result<Answer, ErrorCode> {
        let peers: Vec<SocketAddr> = request.message.peers().collect::<Result<_, _>>()?;
        if peers.is_empty() {
            return Err(ErrorCode::BadRequest);
        }
        if !peers.iter().all(|peer| self.relays_to(*peer)) {
            return Err(ErrorCode::PeerAddressFamilyMismatch);
        }
        match peers.iter().all(|peer| server.has_peer_at(peer.ip())) {
            true => Ok(request.success()),
            false => Err(ErrorCode::Forbidden),
        }
    }

    /// Binds a channel, or binds it again (RFC 8656 section 12.2).
    pub(crate) fn bind(
        &mut self,
        server: &Server,
        now: Instant,
        request: &Authenticated<'_>,
    ) -> Result<Answer, ErrorCode> {
        let channel = request.message.exact::<4>(CHANNEL_NUMBER)?;
        let peer = request.message.peers().next().transpose()?;
        let (Some([high, low, ..]), Some(peer)) = (channel, peer) else {
            return Err(ErrorCode::BadRequest);
        };
        let channel = u16::from_be_bytes([high, low]);
        if !CHANNELS.contains(&channel) {
            return Err(ErrorCode::BadRequest);
        }
        if !self.relays_to(peer) {
            return Err(ErrorCode::PeerAddressFamilyMismatch);
        }
        if !server.is_peer(peer) {
            return Err(ErrorCode::Forbidden);
        }
        // A channel has one peer, and a peer one channel.
        let differs = |(number, bound): (&u16, &Channel)| (*number == channel) != (bound.peer == peer);
        self.channels.retain(|_, channel| channel.expires > now);
        if self.channels.iter().any(differs) {
            return Err(ErrorCode::BadRequest);
        }
        if self.channels.len() >= CHANNELS_MAX && !self.channels.contains_key(&channel) {
            return Err(ErrorCode::InsufficientCapacity);
        }
        let expires = now + CHANNEL_LIFETIME;
        self.channels.insert(channel, Channel { peer, expires });
        Ok(request.success())
    }

    /// Whether it has a relayed address of a peer's family.
    pub(crate) fn relays_to(&self, peer: SocketAddr) -> bool {
        self.relayed.iter().any(|relayed| relayed.is_ipv4() == peer.is_ipv4())
    }

    /// The channel of a peer.
    pub(crate) fn channel_of(&self, peer: SocketAddr, now: Instant) -> Option<u16> {
        let mut channels = self.channels.iter();
        let found = channels.find(|(_, channel)| channel.peer == peer && channel.expires > now);
        found.map(|(number, _)| *number)
    }

    /// The peer of a channel.
    pub(crate) fn peer_of(&self, channel: u16, now: Instant) -> Option<SocketAddr> {
        let channel = self.channels.get(&channel).filter(|channel| channel.expires > now)?;
        Some(channel.peer).filter(|peer| self.relays_to(*peer))
    }
}

/// The value of LIFETIME.
fn seconds(seconds: u64) -> [u8; 4] {
    (seconds as u32).to_be_bytes()
}
