//! A client of a TURN server (RFC 8656): one allocation and one channel, without refreshes. So a
//! run may last as long as a channel does, ten minutes.

use std::io;
use std::net::SocketAddr;
use std::ops::Range;

use is::Protocol;
use is::stun::{StunMessage, StunMessageBuilder, TransId};
use livekit_protocol::IceServer;
use md5::{Digest, Md5};
use turn::{encode, sign};

use super::link::{Framing, Link};

/// The channel's number.
const CHANNEL: Framing = Framing::Channel(NUMBER);
const NUMBER: u16 = 0x4000;
/// The attribute REQUESTED-TRANSPORT: UDP.
const REQUESTED_UDP: [u8; 8] = [0, 0x19, 0, 4, 17, 0, 0, 0];
/// The place of the transaction's number in a message.
const ID: Range<usize> = 8..20;
/// How often an answer is waited for.
const TRIES: u32 = 20;
/// The attribute FINGERPRINT, which the STUN library puts last.
const FINGERPRINT_LEN: usize = 8;

/// A TURN server with credentials.
#[derive(Clone, Debug)]
pub(crate) struct TurnAccess {
    address: SocketAddr,
    protocol: Protocol,
    username: String,
    password: String,
}

impl TurnAccess {
    /// The first server that is reached by this protocol, at an address without a name.
    pub(super) fn find(servers: &[IceServer], protocol: Protocol) -> Option<Self> {
        let transport = if protocol == Protocol::Tcp { "tcp" } else { "udp" };
        servers.iter().find_map(|server| {
            let fits = |url: &String| {
                let (address, query) = url.strip_prefix("turn:")?.split_once("?transport=")?;
                address.parse().ok().filter(|_| query == transport)
            };
            Some(TurnAccess {
                address: server.urls.iter().find_map(fits)?,
                protocol,
                username: server.username.clone(),
                password: server.credential.clone(),
            })
        })
    }
}

/// A link over which `peer` is reached by a channel.
///
/// Errors: those of sockets; the server refuses.
pub(super) fn connect(access: &TurnAccess, peer: SocketAddr) -> io::Result<(Link, Framing)> {
    let mut link = match access.protocol {
        Protocol::Tcp => Link::tcp(access.address)?,
        _ => Link::udp(access.address)?,
    };
    let asked = StunMessageBuilder::new().allocate().request().build(TransId::new());
    let refusal = exchange(&mut link, &encode(asked, None))?;
    let challenge = parse(&refusal)?;
    let (Some(realm), Some(nonce)) = (challenge.realm(), challenge.nonce()) else {
        return Err(io::Error::other("the TURN server does not ask for credentials"));
    };
    let key: [u8; 16] = Md5::digest(format!("{}:{realm}:{}", access.username, access.password)).into();
    let allocate = StunMessageBuilder::new().allocate().request();
    let bind = StunMessageBuilder::new()
        .channel_bind()
        .request()
        .channel_number(NUMBER)
        .xor_peer_address(peer);
    for (request, more) in [(allocate, &REQUESTED_UDP[..]), (bind, &[])] {
        let request = request.username(&access.username).realm(realm).nonce(nonce);
        let answer = exchange(&mut link, &signed(request.build(TransId::new()), more, &key))?;
        if let Some((code, _)) = parse(&answer)?.error_code() {
            return Err(io::Error::other(format!("the TURN server refuses with {code}")));
        }
    }
    Ok((link, CHANNEL))
}

/// The answer to a request. Over UDP it is sent again until there is one, because a busy server
/// loses datagrams.
fn exchange(link: &mut Link, request: &[u8]) -> io::Result<Vec<u8>> {
    let (mut answer, mut tries) = (Vec::new(), 1);
    link.send(CHANNEL, request.to_vec())?;
    loop {
        match link.read(&mut answer) {
            Ok(()) if CHANNEL.first(&answer)?.is_some() && answer.get(ID) == request.get(ID) => return Ok(answer),
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && tries < TRIES => {
                tries += 1;
                if let Link::Datagrams(_) = link {
                    link.send(CHANNEL, request.to_vec())?;
                }
            }
            Err(error) => return Err(error),
        }
    }
}

fn parse(answer: &[u8]) -> io::Result<StunMessage<'_>> {
    StunMessage::parse(answer).map_err(io::Error::other)
}

/// A request with these attributes more, authenticated.
fn signed(message: StunMessage<'_>, more: &[u8], key: &[u8]) -> Vec<u8> {
    let mut bytes = encode(message, None);
    bytes.truncate(bytes.len() - FINGERPRINT_LEN);
    bytes.extend(more);
    sign(&mut bytes, key);
    bytes
}
