//! Addresses as the kernel writes them.

use std::mem::{self, MaybeUninit};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// Which addresses a socket takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    /// IPv6, with IPv4 addresses mapped where it is bound to all addresses.
    V6,
}

/// A socket address in the kernel's form, with its length.
#[derive(Clone, Copy)]
pub(super) struct RawAddress {
    pub(super) storage: libc::sockaddr_storage,
    pub(super) len: libc::socklen_t,
}

impl RawAddress {
    pub(super) fn empty() -> Self {
        RawAddress {
            // SAFETY: a sockaddr_storage of zeros is a valid value: an address of no family.
            storage: unsafe { MaybeUninit::zeroed().assume_init() },
            len: mem::size_of::<libc::sockaddr_storage>() as libc::socklen_t,
        }
    }

    /// An address as a socket of `family` takes it: an IPv6 socket gets IPv4 addresses mapped.
    pub(super) fn new(address: SocketAddr, family: Family) -> Self {
        let mut this = RawAddress::empty();
        this.len = match (address, family) {
            (SocketAddr::V4(address), Family::V4) => this.put(v4(address)),
            (SocketAddr::V4(address), Family::V6) => this.put(v6(SocketAddrV6::new(
                address.ip().to_ipv6_mapped(),
                address.port(),
                0,
                0,
            ))),
            (SocketAddr::V6(address), _) => this.put(v6(address)),
        };
        this
    }

    fn put<T: Copy>(&mut self, address: T) -> libc::socklen_t {
        const { assert!(mem::size_of::<T>() <= mem::size_of::<libc::sockaddr_storage>()) };
        // SAFETY: the storage is larger than any address and aligned for all of them; T is one of
        // the kernel's plain structures.
        unsafe { (&raw mut self.storage).cast::<T>().write(address) };
        mem::size_of::<T>() as libc::socklen_t
    }

    /// The address, mapped ones as the IPv4 addresses they are; `None` for other families.
    pub(super) fn read(&self) -> Option<SocketAddr> {
        match i32::from(self.storage.ss_family) {
            libc::AF_INET => {
                // SAFETY: the family says that this is what the kernel wrote; the storage is large
                // enough and aligned.
                let address = unsafe { (&raw const self.storage).cast::<libc::sockaddr_in>().read() };
                Some(SocketAddr::new(
                    ip_v4(address.sin_addr).into(),
                    u16::from_be(address.sin_port),
                ))
            }
            libc::AF_INET6 => {
                // SAFETY: as above.
                let address = unsafe { (&raw const self.storage).cast::<libc::sockaddr_in6>().read() };
                let port = u16::from_be(address.sin6_port);
                match ip_v6(address.sin6_addr) {
                    IpAddr::V4(ip) => Some(SocketAddr::new(ip.into(), port)),
                    IpAddr::V6(ip) => Some(SocketAddrV6::new(ip, port, 0, address.sin6_scope_id).into()),
                }
            }
            _ => None,
        }
    }
}

fn v4(address: SocketAddrV4) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: address.port().to_be(),
        sin_addr: in_addr(*address.ip()),
        sin_zero: [0; 8],
    }
}

fn v6(address: SocketAddrV6) -> libc::sockaddr_in6 {
    libc::sockaddr_in6 {
        sin6_family: libc::AF_INET6 as libc::sa_family_t,
        sin6_port: address.port().to_be(),
        sin6_flowinfo: 0,
        sin6_addr: in6_addr(*address.ip()),
        sin6_scope_id: address.scope_id(),
    }
}

pub(super) fn in_addr(ip: Ipv4Addr) -> libc::in_addr {
    libc::in_addr {
        s_addr: u32::from_ne_bytes(ip.octets()),
    }
}

pub(super) fn in6_addr(ip: Ipv6Addr) -> libc::in6_addr {
    libc::in6_addr { s6_addr: ip.octets() }
}

pub(super) fn ip_v4(address: libc::in_addr) -> Ipv4Addr {
    Ipv4Addr::from(address.s_addr.to_ne_bytes())
}

/// An IPv6 address, or the IPv4 address that is mapped into it.
pub(super) fn ip_v6(address: libc::in6_addr) -> IpAddr {
    Ipv6Addr::from(address.s6_addr).to_canonical()
}
