//! The interfaces for media of SIP calls.

use std::net::IpAddr;

use serde::Deserialize;

use super::{ConfigError, PortRange};

/// An interface for media.
#[derive(Clone, Debug)]
pub(crate) struct Interface {
    /// Its name in proxies' requests.
    pub name: String,
    /// An address of this machine.
    pub address: IpAddr,
    /// The address that descriptions advertise instead, behind a network address translator.
    pub advertise: Option<IpAddr>,
    /// The ports to give out.
    pub ports: PortRange,
}

/// The file's form of an interface. One without an address is at this machine's own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InterfaceFile {
    #[serde(default = "default_name")]
    name: String,
    #[serde(default)]
    address: Option<IpAddr>,
    #[serde(default)]
    advertise: Option<IpAddr>,
    #[serde(default)]
    ports: PortRange,
}

impl InterfaceFile {
    /// Completes an interface without an address by those of `default`.
    ///
    /// Errors: there is no such address.
    pub(super) fn complete(self, default: impl Fn() -> Option<Interface>) -> Result<Interface, ConfigError> {
        let (address, advertise) = match self.address {
            Some(address) => (address, self.advertise),
            None => {
                let own = default().ok_or(ConfigError::SipNowhere)?;
                (own.address, self.advertise.or(own.advertise))
            }
        };
        Ok(Interface {
            name: self.name,
            address,
            advertise,
            ports: self.ports,
        })
    }
}

impl Interface {
    /// The one there is when none is named.
    pub(super) fn default_at(address: IpAddr, advertise: Option<IpAddr>) -> Self {
        Interface {
            name: default_name(),
            address,
            advertise,
            ports: PortRange::default(),
        }
    }
}

/// The default interface for media of SIP calls: an address that is bound, or else this machine's
/// first. Descriptions advertise it by the address that clients are given.
pub(in crate::config) fn media_interface(bind: &[IpAddr], node_ips: &[IpAddr]) -> Option<Interface> {
    let bound = bind.iter().copied().find(|address| !address.is_unspecified());
    let own = || {
        let interfaces = if_addrs::get_if_addrs().ok()?;
        let mut addresses = interfaces.iter().map(if_addrs::Interface::ip);
        addresses.find(|address| address.is_ipv4() && !address.is_loopback())
    };
    let address = bound.or_else(own)?;
    let mut advertised = node_ips
        .iter()
        .copied()
        .filter(|other| other.is_ipv4() == address.is_ipv4());
    Some(Interface::default_at(
        address,
        advertised.find(|other| *other != address),
    ))
}

fn default_name() -> String {
    "default".to_owned()
}
