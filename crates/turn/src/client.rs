//! One client: its allocation, and what becomes of its messages.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use is::stun::{Class, Method, StunMessage, TransId};

use crate::Server;
use crate::attributes::Attributes;
use crate::limits::{CHANNEL_LIFETIME, CHANNELS_MAX, DATA_MAX, LIFETIME, LIFETIME_MAX};
use crate::message;

/// The number of UDP among protocols.
const UDP: u8 = 17;

/// The time by the monotonic clock, and since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// The monotonic clock's.
    pub now: Instant,
    /// Since 1970-01-01 UTC.
    pub unix: Duration,
}

/// The family of a relayed address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// Why a client gets no port for an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The user has as many allocations as one may have.
    Quota,
    /// There is no port.
    NoPort,
}

/// The consequence of a client's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// There is none.
    Nothing,
    /// The client is answered.
    Answer(Vec<u8>),
    /// A peer is sent a datagram from the relayed address.
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

#[derive(Debug)]
struct Allocation {
    username: String,
    relayed: SocketAddr,
    /// The request that made it.
    made_by: TransId,
    lifetime: Duration,
    expires: Instant,
    channels: BTreeMap<u16, Channel>,
}

/// A channel by which a peer is named.
#[derive(Debug)]
struct Channel {
    peer: SocketAddr,
    expires: Instant,
}

/// A valid request of a client.
struct Request<'a> {
    message: StunMessage<'a>,
    attributes: Attributes,
    key: [u8; 16],
}

impl Client {
    /// A client without an allocation.
    pub fn new(address: SocketAddr) -> Self {
        Client {
            address,
            allocation: None,
        }
    }

    /// The relayed address of its allocation. Once it is gone its port is to be closed.
    pub fn relayed(&self) -> Option<SocketAddr> {
        self.allocation.as_ref().map(|allocation| allocation.relayed)
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
        open: impl FnOnce(&str, Family) -> Result<SocketAddr, Refusal>,
    ) -> Outcome<'a> {
        self.expire(times.now);
        match bytes.first() {
            Some(0..=3) => {}
            Some(64..=79) => return self.channel_data(times.now, bytes).unwrap_or(Outcome::Nothing),
            _ => return Outcome::Nothing,
        }
        let Ok(message) = StunMessage::parse(bytes) else {
            return Outcome::Nothing;
        };
        let answer = match message.class() {
            Class::Request => self.request(server, times, message, bytes, open),
            Class::Indication if message.is_send_indication() => return self.send(server, &message),
            _ => None,
        };
        answer.map_or(Outcome::Nothing, Outcome::Answer)
    }

    /// Takes a datagram that arrived at the relayed address; returns the message for the client, if
    /// it comes from a peer.
    pub fn receive_from_peer(&self, server: &Server, now: Instant, peer: SocketAddr, data: &[u8]) -> Option<Vec<u8>> {
        let allocation = self.allocation.as_ref()?;
        if !server.is_peer(peer) || data.len() > DATA_MAX {
            return None;
        }
        let mut channels = allocation.channels.iter();
        match channels.find(|(_, channel)| channel.peer == peer && channel.expires > now) {
            Some((number, _)) => {
                let len = data.len() as u16;
                Some([&number.to_be_bytes()[..], &len.to_be_bytes(), data].concat())
            }
            None => message::data(peer, data),
        }
    }

    fn channel_data<'a>(&self, now: Instant, bytes: &'a [u8]) -> Option<Outcome<'a>> {
        let ([first, second, high, low], after) = bytes.split_first_chunk::<4>()?;
        let number = u16::from_be_bytes([*first, *second]);
        let len = usize::from(u16::from_be_bytes([*high, *low]));
        let data = after.get(..len).filter(|data| data.len() <= DATA_MAX)?;
        let channel = self.allocation.as_ref()?.channels.get(&number)?;
        let peer = channel.peer;
        (channel.expires > now).then_some(Outcome::Forward { peer, data })
    }

    fn send<'a>(&self, server: &Server, message: &StunMessage<'a>) -> Outcome<'a> {
        let peer = message.xor_peer_address().filter(|peer| server.is_peer(*peer));
        let data = message.data().filter(|data| data.len() <= DATA_MAX);
        match (&self.allocation, peer, data) {
            (Some(_), Some(peer), Some(data)) => Outcome::Forward { peer, data },
            _ => Outcome::Nothing,
        }
    }

    /// The answer to a request.
    fn request(
        &mut self,
        server: &Server,
        times: Times,
        message: StunMessage<'_>,
        bytes: &[u8],
        open: impl FnOnce(&str, Family) -> Result<SocketAddr, Refusal>,
    ) -> Option<Vec<u8>> {
        let (method, id) = (message.method(), message.trans_id());
        let key = match self.authenticate(server, times.unix, &message) {
            Ok(key) => key,
            Err(code) => {
                let nonce = server.nonce(times.unix, self.address);
                return message::refused(method, id, code, Some((server.realm(), nonce.as_str())), None);
            }
        };
        let Some(attributes) = Attributes::read(bytes) else {
            return message::refused(method, id, 400, None, Some(&key));
        };
        if !attributes.unknown.is_empty() {
            return message::not_understood(bytes, &attributes.unknown, &key);
        }
        let request = Request {
            message,
            attributes,
            key,
        };
        let answered = match method {
            Method::Allocate => self.allocate(server, times.now, &request, open),
            Method::Refresh => self.refresh(times.now, &request),
            Method::CreatePermission => self.permit(server, &request),
            Method::ChannelBind => self.bind(server, times.now, &request),
            _ => return None,
        };
        match answered {
            Ok(answer) => Some(answer),
            Err(code) => message::refused(method, id, code, None, Some(&key)),
        }
    }

    /// The key of a request's credentials, or the code of the refusal.
    fn authenticate(&self, server: &Server, unix: Duration, message: &StunMessage<'_>) -> Result<[u8; 16], u16> {
        let (Some(username), Some(nonce)) = (message.username(), message.nonce()) else {
            return Err(401);
        };
        let key = server.key(username, unix).ok_or(401_u16)?;
        if message.realm() != Some(server.realm()) || !message.verify(&key, message::hmac_sha1) {
            return Err(401);
        }
        if !server.is_current(nonce, unix, self.address) {
            return Err(438);
        }
        Ok(key)
    }

    fn allocate(
        &mut self,
        server: &Server,
        now: Instant,
        request: &Request<'_>,
        open: impl FnOnce(&str, Family) -> Result<SocketAddr, Refusal>,
    ) -> Result<Vec<u8>, u16> {
        let id = request.message.trans_id();
        if let Some(allocation) = &self.allocation {
            // The answer was lost, and the client asks again.
            return match allocation.made_by == id {
                true => Ok(self.allocated(allocation, &request.key)),
                false => Err(437),
            };
        }
        match request.attributes.transport {
            None => return Err(400),
            Some(UDP) => {}
            Some(_) => return Err(442),
        }
        let family = match request.attributes.family {
            // A server without IPv4 has only one family to offer.
            None if !server.has_peer_of(Family::V4) => Family::V6,
            None | Some(1) => Family::V4,
            Some(2) => Family::V6,
            Some(_) => return Err(440),
        };
        if !server.has_peer_of(family) {
            return Err(440);
        }
        let username = request.message.username().unwrap_or_default();
        let relayed = open(username, family).map_err(|refusal| match refusal {
            Refusal::Quota => 486_u16,
            Refusal::NoPort => 508,
        })?;
        let lifetime = lifetime(request.message.lifetime());
        let allocation = Allocation {
            username: username.to_owned(),
            relayed,
            made_by: id,
            lifetime,
            expires: now + lifetime,
            channels: BTreeMap::new(),
        };
        let answer = self.allocated(&allocation, &request.key);
        self.allocation = Some(allocation);
        Ok(answer)
    }

    fn allocated(&self, allocation: &Allocation, key: &[u8]) -> Vec<u8> {
        message::allocated(
            allocation.made_by,
            allocation.relayed,
            self.address,
            allocation.lifetime,
            key,
        )
    }

    fn refresh(&mut self, now: Instant, request: &Request<'_>) -> Result<Vec<u8>, u16> {
        let id = request.message.trans_id();
        if request.message.lifetime() == Some(0) {
            // One that is gone already is no error.
            if self.allocation.is_some() {
                self.own(request)?;
            }
            self.allocation = None;
            return Ok(message::refreshed(id, Duration::ZERO, &request.key));
        }
        let allocation = self.own(request)?;
        allocation.lifetime = lifetime(request.message.lifetime());
        allocation.expires = now + allocation.lifetime;
        Ok(message::refreshed(id, allocation.lifetime, &request.key))
    }

    fn permit(&mut self, server: &Server, request: &Request<'_>) -> Result<Vec<u8>, u16> {
        let relayed = self.own(request)?.relayed;
        let peers = &request.attributes.peers;
        if peers.is_empty() {
            return Err(400);
        }
        if peers.iter().any(|peer| peer.is_ipv4() != relayed.is_ipv4()) {
            return Err(443);
        }
        match peers.iter().all(|peer| server.has_peer_at(peer.ip())) {
            true => Ok(message::permitted(request.message.trans_id(), &request.key)),
            false => Err(403),
        }
    }

    fn bind(&mut self, server: &Server, now: Instant, request: &Request<'_>) -> Result<Vec<u8>, u16> {
        let allocation = self.own(request)?;
        let message = &request.message;
        let (Some(channel), &[peer]) = (message.channel_number(), &request.attributes.peers[..]) else {
            return Err(400);
        };
        if !(0x4000..=0x4fff).contains(&channel) {
            return Err(400);
        }
        if peer.is_ipv4() != allocation.relayed.is_ipv4() {
            return Err(443);
        }
        if !server.is_peer(peer) {
            return Err(403);
        }
        // A channel has one peer, and a peer one channel.
        let differs = |(number, bound): (&u16, &Channel)| (*number == channel) != (bound.peer == peer);
        allocation.channels.retain(|_, channel| channel.expires > now);
        if allocation.channels.iter().any(differs) {
            return Err(400);
        }
        if allocation.channels.len() >= CHANNELS_MAX && !allocation.channels.contains_key(&channel) {
            return Err(508);
        }
        let expires = now + CHANNEL_LIFETIME;
        allocation.channels.insert(channel, Channel { peer, expires });
        Ok(message::bound(message.trans_id(), &request.key))
    }

    /// The allocation, if it is the requester's.
    fn own(&mut self, request: &Request<'_>) -> Result<&mut Allocation, u16> {
        let allocation = self.allocation.as_mut().ok_or(437_u16)?;
        match request.message.username() == Some(allocation.username.as_str()) {
            true => Ok(allocation),
            false => Err(441),
        }
    }
}

/// The lifetime of an allocation that asks for so many seconds.
fn lifetime(asked: Option<u32>) -> Duration {
    let asked = asked.map_or(LIFETIME, |seconds| Duration::from_secs(seconds.into()));
    asked.clamp(LIFETIME, LIFETIME_MAX)
}
