//! Steps of a device: one language for vectors and random histories.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use dataplane::{Inject, LegId, MasterKey, Path, Protection, ReplicaId, ReplicaSnapshot, SrtpProfile, Update};
use wire::PayloadType;

/// One thing done to a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Time passes.
    Wait(Duration),
    /// The agent writes an entry.
    Write(Update),
    /// A datagram arrives.
    Send(Send),
    /// The agent gives a datagram that arrived before back to the device ([`Inject::Receive`]).
    Receive(Send),
    /// The agent injects something.
    Inject(Injection),
}

/// A datagram that arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Send {
    /// Between which addresses.
    pub path: Path,
    /// Unencrypted; the harness encrypts RTP and RTCP of a leg with keys.
    pub bytes: Vec<u8>,
    /// Whether one bit is changed after encryption; without effect on unencrypted packets.
    pub tampered: bool,
}

/// An [`Inject`] that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Injection {
    /// A datagram, unchanged.
    Datagram(Path, Vec<u8>),
    /// A compound RTCP packet.
    Rtcp(LegId, Vec<u8>),
    /// Retransmissions.
    Resend(ReplicaId, Vec<u16>),
    /// State of a replica on another device.
    Resume(ReplicaId, ReplicaSnapshot),
    /// Another device is to continue it.
    Release {
        /// Which replica.
        replica: ReplicaId,
        /// The other device begins with a key frame.
        at_key_frame: bool,
    },
    /// A packet in place of media.
    Fill {
        /// Of which replica.
        replica: ReplicaId,
        /// Its payload type.
        payload_type: PayloadType,
        /// Of its timestamp, in units per second.
        clock_rate: u32,
        /// None for padding.
        payload: Vec<u8>,
    },
    /// A burst of padding.
    Probe {
        /// The leg to send it to.
        leg: LegId,
        /// Its name.
        probe: u32,
        /// How fast, in bits per second.
        rate: u64,
        /// The least bytes of UDP payload.
        bytes: u32,
        /// The least packets.
        packets: u32,
    },
    /// Statistics.
    Report(LegId),
    /// How much a relay has passed on.
    ReportRelay(SocketAddr),
}

impl Injection {
    /// As a device takes it.
    pub fn as_inject(&self) -> Inject<'_> {
        match self {
            Injection::Datagram(path, bytes) => Inject::Datagram { path: *path, bytes },
            Injection::Rtcp(leg, bytes) => Inject::Rtcp { leg: *leg, bytes },
            Injection::Resend(replica, sequences) => Inject::Resend {
                replica: *replica,
                sequences,
            },
            Injection::Resume(replica, from) => Inject::Resume {
                replica: *replica,
                from: *from,
            },
            Injection::Release { replica, at_key_frame } => Inject::Release {
                replica: *replica,
                at_key_frame: *at_key_frame,
            },
            Injection::Fill {
                replica,
                payload_type,
                clock_rate,
                payload,
            } => Inject::Fill {
                replica: *replica,
                payload_type: *payload_type,
                clock_rate: *clock_rate,
                payload,
            },
            Injection::Probe {
                leg,
                probe,
                rate,
                bytes,
                packets,
            } => Inject::Probe {
                leg: *leg,
                probe: *probe,
                rate: *rate,
                bytes: *bytes,
                packets: *packets,
            },
            Injection::Report(leg) => Inject::Report { leg: *leg },
            Injection::ReportRelay(at) => Inject::ReportRelay { at: *at },
        }
    }
}

/// The path of peer number `peer`. Every fourth peer uses IPv6. Devices with real sockets
/// translate.
///
/// Panics when `peer` is 2^16 or more.
pub fn path_of(peer: u32) -> Path {
    let [high, low] = u16::try_from(peer).expect("fewer than 65,536 peers").to_be_bytes();
    let (local, remote): (IpAddr, IpAddr) = match peer % 4 {
        3 => (
            Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
            Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, peer as u16).into(),
        ),
        _ => (
            Ipv4Addr::new(192, 0, 2, 1).into(),
            Ipv4Addr::new(10, 1, high, low).into(),
        ),
    };
    Path {
        local: SocketAddr::new(local, 7000),
        remote: SocketAddr::new(remote, 5000),
    }
}

/// The peer at `path`: the inverse of [`path_of`]. `None` for any other path.
pub fn peer_at(path: Path) -> Option<u32> {
    let peer = match path.remote.ip() {
        IpAddr::V4(address) => u16::from_be_bytes([address.octets()[2], address.octets()[3]]),
        IpAddr::V6(address) => address.segments()[7],
    };
    Some(u32::from(peer)).filter(|peer| path_of(*peer) == path)
}

/// The first port of relays; below it is everything else.
const RELAY_PORTS: u16 = 20_000;

/// The address of relay number `relay`. Devices with real sockets translate.
///
/// Panics when `relay` is 2^15 or more.
pub fn relay_at(relay: u32) -> SocketAddr {
    assert!(relay < 1 << 15, "fewer than 32,768 relays");
    SocketAddr::new(Ipv4Addr::new(192, 0, 2, 1).into(), RELAY_PORTS + relay as u16)
}

/// The relay at an address: the inverse of [`relay_at`]. `None` for any other address.
pub fn relay_of(at: SocketAddr) -> Option<u32> {
    let number = at.port().checked_sub(RELAY_PORTS)?;
    Some(number.into()).filter(|relay| relay_at(*relay) == at)
}

/// The address of peer number `peer` towards relays: one port for all.
///
/// Panics when `peer` is 2^16 or more.
pub fn party_at(peer: u32) -> SocketAddr {
    let [high, low] = u16::try_from(peer).expect("fewer than 65,536 peers").to_be_bytes();
    SocketAddr::new(Ipv4Addr::new(10, 2, high, low).into(), 5000)
}

/// The peer at an address that [`party_at`] gave. `None` for any other address.
pub fn party_of(address: SocketAddr) -> Option<u32> {
    let IpAddr::V4(ip) = address.ip() else { return None };
    let peer = u16::from_be_bytes([ip.octets()[2], ip.octets()[3]]).into();
    Some(peer).filter(|peer| party_at(*peer) == address)
}

/// A key made of a number, for one direction: the sending key of a peer in [`protection`].
pub fn master_key(profile: SrtpProfile, seed: u32) -> MasterKey {
    let Protection::Srtp { ingress, .. } = protection(profile, seed) else {
        unreachable!("protection makes keys");
    };
    ingress
}

/// Keys made of a number, so that a text can name them. Different numbers give different keys in
/// both directions.
pub fn protection(profile: SrtpProfile, seed: u32) -> Protection {
    let key = |direction: u8| {
        let fill = |len: usize, salt: u8| -> Vec<u8> {
            let seed = seed.to_be_bytes();
            (0..len)
                .map(|at| seed[at % 4] ^ (at as u8) ^ direction ^ salt)
                .collect()
        };
        MasterKey::new(profile, &fill(profile.key_len(), 0), &fill(profile.salt_len(), 0x5a)).expect("right lengths")
    };
    Protection::Srtp {
        ingress: key(0),
        egress: key(0x80),
    }
}

/// The number that [`protection`] made these keys of.
pub fn seed_of(ingress: &MasterKey) -> u32 {
    let key = ingress.key();
    u32::from_be_bytes([key[0], key[1] ^ 1, key[2] ^ 2, key[3] ^ 3])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_and_paths_name_each_other() {
        for peer in 0..2_000 {
            assert_eq!(peer_at(path_of(peer)), Some(peer));
        }
    }

    #[test]
    fn keys_name_their_seed() {
        for seed in [0, 1, 77, 0x0102_0304, u32::MAX] {
            let Protection::Srtp { ingress, egress } = protection(SrtpProfile::AeadAes256Gcm, seed) else {
                panic!("protection makes keys");
            };
            assert_eq!(seed_of(&ingress), seed);
            assert_ne!(ingress.key(), egress.key());
        }
    }
}
