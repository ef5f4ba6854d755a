//! The address of this machine as it is seen outside, behind a NAT.

mod behaviour;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::net::{UdpSocket, lookup_host};
use tracing::warn;
use wire::stun;

use crate::config::StunServer;

/// How long an answer may take before the server is asked again.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often one server is asked.
const TRIES: usize = 3;
/// How many addresses of a name are asked.
const ADDRESSES_MAX: usize = 4;
/// How long the name of a server may take to be found.
const LOOK_UP: Duration = Duration::from_secs(5);

/// Whether an address may be behind a NAT: only private ones are.
pub(crate) fn is_private(address: IpAddr) -> bool {
    match address {
        // The second is the range of carriers' NATs (RFC 6598).
        IpAddr::V4(address) => address.is_private() || address.octets()[0] == 100 && address.octets()[1] & 0xc0 == 64,
        IpAddr::V6(address) => address.is_unique_local(),
    }
}

/// The answer of a STUN server about a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Binding {
    /// The address by which the server sees it.
    pub seen: SocketAddr,
    /// The other address from which the server can answer, if it has one (RFC 5780).
    pub other: Option<SocketAddr>,
}

/// The address by which the first STUN server that answers sees `local`.
pub(crate) async fn seen(local: IpAddr, servers: &[StunServer]) -> Option<IpAddr> {
    for server in servers {
        let Some(addresses) = addresses_of(server, local).await else {
            warn!(%server, "this STUN server's name has no address");
            continue;
        };
        for address in addresses {
            match ask((local, 0).into(), address).await {
                Some(binding) => return Some(binding.seen.ip()),
                None => warn!(%server, %address, %local, "this STUN server does not answer"),
            }
        }
    }
    warn!(%local, "no STUN server says by which address this one is seen");
    None
}

/// The addresses of a server in the family of `local`.
///
/// Errors: `None` if its name has no address.
pub(crate) async fn addresses_of(server: &StunServer, local: IpAddr) -> Option<Vec<SocketAddr>> {
    let name = (server.host.as_str(), server.port);
    let found = tokio::time::timeout(LOOK_UP, lookup_host(name)).await.ok()?.ok()?;
    let same_family = found.filter(|address| address.is_ipv4() == local.is_ipv4());
    Some(same_family.take(ADDRESSES_MAX).collect())
}

/// Asks a server from an address and a port of this machine; 0 is any port.
pub(crate) async fn ask(local: SocketAddr, server: SocketAddr) -> Option<Binding> {
    let socket = UdpSocket::bind(local).await.ok()?;
    // Answers of others are not received.
    socket.connect(server).await.ok()?;
    let id = transaction_id()?;
    let mut buffer = [0; 1_500];
    for _ in 0..TRIES {
        socket.send(&stun::binding_request(&id)).await.ok()?;
        let received = tokio::time::timeout(PATIENCE, socket.recv(&mut buffer)).await;
        if let Ok(Ok(len)) = received
            && let Some(seen) = stun::mapped_address(&buffer[..len], &id)
        {
            let other = behaviour::other_address(&buffer[..len], &id);
            return Some(Binding { seen, other });
        }
    }
    None
}

/// Whether an answer arrives that a server sends from its other address: packets of strangers reach
/// the port then.
pub(crate) async fn hears_strangers(local: SocketAddr, server: SocketAddr) -> Option<bool> {
    let socket = UdpSocket::bind(local).await.ok()?;
    let id = transaction_id()?;
    let mut buffer = [0; 1_500];
    for _ in 0..TRIES {
        socket
            .send_to(&behaviour::binding_request_for_other(&id), server)
            .await
            .ok()?;
        let received = tokio::time::timeout(PATIENCE, socket.recv_from(&mut buffer)).await;
        if let Ok(Ok((len, from))) = received
            && from.ip() != server.ip()
            && stun::mapped_address(&buffer[..len], &id).is_some()
        {
            return Some(true);
        }
    }
    Some(false)
}

fn transaction_id() -> Option<[u8; 12]> {
    let mut id = [0; 12];
    getrandom::fill(&mut id).ok()?;
    Some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A STUN server that sees everybody at 203.0.113.7, after it has ignored one request.
    async fn serve(socket: UdpSocket) {
        let mut buffer = [0; 100];
        for number in 0..10 {
            let Ok((len, from)) = socket.recv_from(&mut buffer).await else {
                return;
            };
            if number > 0 {
                let mut answer = buffer[..len].to_vec();
                answer[..4].copy_from_slice(&[1, 1, 0, 12]);
                answer.extend([0, 0x20, 0, 8, 0, 1, 0, 0]);
                let address = [203_u32, 0, 113, 7];
                let bits = address.iter().fold(0, |bits, byte| bits << 8 | byte);
                answer.extend((bits ^ 0x2112_a442_u32).to_be_bytes());
                socket.send_to(&answer, from).await.unwrap();
            }
        }
    }

    #[tokio::test]
    async fn a_server_says_by_which_address_this_machine_is_seen() {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let server = socket.local_addr().unwrap().to_string();
        tokio::spawn(serve(socket));
        let local = "127.0.0.1".parse().unwrap();
        let servers = ["[::1]:9", &server].map(|server| server.parse::<StunServer>().unwrap());
        assert_eq!(seen(local, &servers).await, Some("203.0.113.7".parse().unwrap()));
        assert_eq!(seen(local, &[]).await, None);
    }

    #[test]
    fn only_private_addresses_may_be_behind_a_nat() {
        for private in [
            "10.0.0.1",
            "172.31.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "100.127.0.1",
            "fd00::1",
        ] {
            assert!(is_private(private.parse().unwrap()), "{private}");
        }
        for public in ["203.0.113.7", "100.63.0.1", "100.128.0.1", "172.32.0.1", "2001:db8::1"] {
            assert!(!is_private(public.parse().unwrap()), "{public}");
        }
    }
}
