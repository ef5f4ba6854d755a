//! One client: what becomes of its messages.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::Server;
use crate::allocation::Allocation;
use crate::answer::Answer;
use crate::authentication::Authenticated;
use crate::encoding;
use crate::errors::ErrorCode;
use crate::kinds::{DATA, XOR_MAPPED_ADDRESS};
use crate::limits::DATA_MAX;
use crate::message::{Class, Message, Method};
use crate::port::{Opened, PortRequest, Refusal};

/// The time by the monotonic clock, and since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// The monotonic clock's.
    pub now: Instant,
    /// Since 1970-01-01 UTC.
    pub unix: Duration,
}

/// The consequence of a client's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// There is none.
    Nothing,
    /// The client is answered. It has proved that it has credentials and receives at its address.
    Answer(Vec<u8>),
    /// The sender is answered. It has proved nothing: over UDP its address may be another's, so
    /// there is a limit to such answers ([`AnswerLimit`](crate::AnswerLimit)).
    OpenAnswer(Vec<u8>),
    /// A peer is sent a datagram from the relayed address of its family.
    Forward {
        /// The peer.
        peer: SocketAddr,
        /// The datagram.
        data: &'a [u8],
    },
}

/// One client, at one address and port.
#[derive(Debug)]
pub struct Client {
    address: SocketAddr,
    allocation: Option<Allocation>,
}

impl Client {
    /// A client without an allocation.
    pub fn new(address: SocketAddr) -> Self {
        Client {
            address,
            allocation: None,
        }
    }

    /// The relayed addresses of its allocation, one of each family at most. The port of one that is
    /// gone is to be closed.
    pub fn relayed(&self) -> &[SocketAddr] {
        let allocation = self.allocation.as_ref();
        allocation.map_or(&[], |allocation| &allocation.relayed)
    }

    /// When its allocation expires, unless it is refreshed.
    pub fn due(&self) -> Option<Instant> {
        self.allocation.as_ref().map(|allocation| allocation.expires)
    }

    /// Removes an allocation that has expired.
    pub fn expire(&mut self, now: Instant) {
        self.allocation.take_if(|allocation| allocation.expires <= now);
    }

    /// Takes one message. `open` opens a port for an allocation of the user with this name, if it
    /// may have one more.
    pub fn receive<'a>(
        &mut self,
        server: &Server,
        times: Times,
        bytes: &'a [u8],
        mut open: impl FnMut(&str, PortRequest) -> Result<Opened, Refusal>,
    ) -> Outcome<'a> {
        self.expire(times.now);
        match bytes.first() {
            Some(0..=3) => {}
            Some(64..=127) => return self.channel_data(times.now, bytes).unwrap_or(Outcome::Nothing),
            _ => return Outcome::Nothing,
        }
        let Some(message) = Message::parse(bytes) else {
            return Outcome::Nothing;
        };
        match (message.class, message.method) {
            // Two servers that answer each other's answers would never end.
            (Class::Answer, _) | (Class::Request, Method::Send) => Outcome::Nothing,
            (Class::Indication, Method::Send) => self.send(server, &message).unwrap_or(Outcome::Nothing),
            (Class::Indication, _) => Outcome::Nothing,
            (Class::Request, Method::Binding) => Outcome::OpenAnswer(self.mapped(&message)),
            (Class::Request, _) => match Authenticated::check(message, server, times.unix, self.address) {
                Ok(request) => Outcome::Answer(self.request(server, times.now, &request, &mut open)),
                Err(answer) => Outcome::OpenAnswer(answer),
            },
        }
    }

    /// Takes a datagram that arrived at the relayed address; returns the message for the client, if
    /// it comes from a peer.
    pub fn receive_from_peer(&self, server: &Server, now: Instant, peer: SocketAddr, data: &[u8]) -> Option<Vec<u8>> {
        let allocation = self.allocation.as_ref()?;
        if !server.is_peer(peer) || data.len() > DATA_MAX {
            return None;
        }
        match allocation.channel_of(peer, now) {
            Some(number) => {
                let len = data.len() as u16;
                Some([&number.to_be_bytes()[..], &len.to_be_bytes(), data].concat())
            }
            None => encoding::data(peer, data),
        }
    }

    /// The answer to a request without an allocation's purpose: the address that it came from (RFC
    /// 8489 section 12). Credentials are not asked for, and not looked at.
    fn mapped(&self, message: &Message<'_>) -> Vec<u8> {
        let unknown = message.unknown();
        let answer = match unknown.is_empty() {
            true => Answer::success(message).address(XOR_MAPPED_ADDRESS, self.address),
            false => Answer::open_refusal(message, ErrorCode::UnknownAttribute, None).unknown(&unknown),
        };
        answer.finish(message, None)
    }

    fn channel_data<'a>(&self, now: Instant, bytes: &'a [u8]) -> Option<Outcome<'a>> {
        let ([first, second, high, low], after) = bytes.split_first_chunk::<4>()?;
        let number = u16::from_be_bytes([*first, *second]);
        let len = usize::from(u16::from_be_bytes([*high, *low]));
        let data = after.get(..len).filter(|data| data.len() <= DATA_MAX)?;
        let peer = self.allocation.as_ref()?.peer_of(number, now)?;
        Some(Outcome::Forward { peer, data })
    }

    fn send<'a>(&self, server: &Server, message: &Message<'a>) -> Option<Outcome<'a>> {
        let allocation = self.allocation.as_ref()?;
        let peer = message.peers().next()?.ok()?;
        let data = message.first(DATA).filter(|data| data.len() <= DATA_MAX)?;
        let is_taken = server.is_peer(peer) && allocation.relays_to(peer) && message.unknown().is_empty();
        is_taken.then_some(Outcome::Forward { peer, data })
    }

    /// The answer to a request of somebody with credentials.
    fn request(
        &mut self,
        server: &Server,
        now: Instant,
        request: &Authenticated<'_>,
        open: &mut dyn FnMut(&str, PortRequest) -> Result<Opened, Refusal>,
    ) -> Vec<u8> {
        let unknown = request.message.unknown();
        if !unknown.is_empty() {
            let answer = Answer::refusal(&request.message, ErrorCode::UnknownAttribute);
            return request.finish(answer.unknown(&unknown));
        }
        let answered = match request.method() {
            Method::Allocate => self.allocate(server, now, request, open),
            Method::Refresh => self.refresh(now, request),
            Method::CreatePermission => self.own(request).and_then(|own| own.permit(server, request)),
            Method::ChannelBind => self.own(request).and_then(|own| own.bind(server, now, request)),
            Method::Binding | Method::Send => Err(ErrorCode::BadRequest),
        };
        match answered {
            Ok(answer) => request.finish(answer),
            Err(code) => request.refuse(code),
        }
    }

    fn allocate(
        &mut self,
        server: &Server,
        now: Instant,
        request: &Authenticated<'_>,
        open: &mut dyn FnMut(&str, PortRequest) -> Result<Opened, Refusal>,
    ) -> Result<Answer, ErrorCode> {
        if let Some(allocation) = &self.allocation {
            // The answer was lost, and the client asks again.
            let is_again = allocation.made_by == request.message.id() && allocation.is_of(request);
            return is_again
                .then(|| allocation.describe(request.success(), self.address))
                .ok_or(ErrorCode::AllocationMismatch);
        }
        let allocation = Allocation::make(server, now, request, open)?;
        let answer = allocation.describe(request.success(), self.address);
        self.allocation = Some(allocation);
        Ok(answer)
    }

    fn refresh(&mut self, now: Instant, request: &Authenticated<'_>) -> Result<Answer, ErrorCode> {
        let is_end = Allocation::is_end(request)?;
        if is_end && self.allocation.is_none() {
            // One that is gone already is no error.
            return Ok(Allocation::gone(request));
        }
        let answer = self.own(request)?.refresh(now, request, is_end)?;
        self.allocation.take_if(|allocation| allocation.relayed.is_empty());
        Ok(answer)
    }

    /// The allocation, if it is the requester's.
    fn own(&mut self, request: &Authenticated<'_>) -> Result<&mut Allocation, ErrorCode> {
        let allocation = self.allocation.as_mut().ok_or(ErrorCode::AllocationMismatch)?;
        match allocation.is_of(request) {
            true => Ok(allocation),
            false => Err(ErrorCode::WrongCredentials),
        }
    }
}
