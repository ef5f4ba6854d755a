//! Fields whose values are narrower than their types in messages.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::sync::Arc;
use std::time::Duration;

use southbound::{MessageId, NodeId};
use wire::{Mid, PayloadType, Rid};

use crate::{Error, v1};

/// The value of a field that must be there.
pub(crate) fn required<T>(field: &'static str, value: Option<T>) -> Result<T, Error> {
    value.ok_or(Error::Missing(field))
}

/// The value of a field that must be there, read.
pub(crate) fn read<M, T: TryFrom<M, Error = Error>>(field: &'static str, value: Option<M>) -> Result<T, Error> {
    required(field, value)?.try_into()
}

/// The value of a field that may be absent, read.
pub(crate) fn read_optional<M, T: TryFrom<M, Error = Error>>(value: Option<M>) -> Result<Option<T>, Error> {
    value.map(T::try_from).transpose()
}

/// The values of a list, read.
pub(crate) fn read_all<M, T: TryFrom<M, Error = Error>>(values: Vec<M>) -> Result<Vec<T>, Error> {
    values.into_iter().map(T::try_from).collect()
}

/// The messages of a list of values.
pub(crate) fn write_all<M: From<T>, T>(values: Vec<T>) -> Vec<M> {
    values.into_iter().map(M::from).collect()
}

/// A number of a narrower type.
pub(crate) fn narrow<T: TryFrom<u32>>(field: &'static str, value: u32) -> Result<T, Error> {
    let error = Error::OutOfRange {
        field,
        value: value.into(),
    };
    T::try_from(value).map_err(|_| error)
}

/// A number of a narrower type, where there is one.
pub(crate) fn narrow_optional<T: TryFrom<u32>>(field: &'static str, value: Option<u32>) -> Result<Option<T>, Error> {
    value.map(|value| narrow(field, value)).transpose()
}

pub(crate) fn payload_type(field: &'static str, value: u32) -> Result<PayloadType, Error> {
    let error = Error::OutOfRange {
        field,
        value: value.into(),
    };
    PayloadType::new(narrow(field, value)?).ok_or(error)
}

pub(crate) fn mid(field: &'static str, name: Option<String>) -> Result<Option<Mid>, Error> {
    let read = |name: String| Mid::new(&name).ok_or_else(|| unfit(field, &name, Mid::MAX));
    name.map(read).transpose()
}

pub(crate) fn rid(field: &'static str, name: Option<String>) -> Result<Option<Rid>, Error> {
    let read = |name: String| Rid::new(&name).ok_or_else(|| unfit(field, &name, Rid::MAX));
    name.map(read).transpose()
}

/// The fault of a text that is no token.
fn unfit(field: &'static str, name: &str, len_max: usize) -> Error {
    match name.is_empty() || name.len() > len_max {
        true => Error::Length { field, len: name.len() },
        false => Error::Characters(field),
    }
}

/// A part of a whole.
pub(crate) fn fraction(field: &'static str, value: f64) -> Result<f64, Error> {
    match (0.0..=1.0).contains(&value) {
        true => Ok(value),
        false => Err(Error::NoFraction(field)),
    }
}

/// A label, which both sides share.
pub(crate) fn label(label: &Arc<str>) -> String {
    label.as_ref().to_owned()
}

impl From<Duration> for v1::Duration {
    fn from(duration: Duration) -> Self {
        Self {
            seconds: duration.as_secs(),
            nanos: duration.subsec_nanos(),
        }
    }
}

impl TryFrom<v1::Duration> for Duration {
    type Error = Error;

    fn try_from(message: v1::Duration) -> Result<Self, Error> {
        let v1::Duration { seconds, nanos } = message;
        match nanos < 1_000_000_000 {
            true => Ok(Duration::new(seconds, nanos)),
            false => Err(Error::OutOfRange {
                field: "Duration.nanos",
                value: nanos.into(),
            }),
        }
    }
}

impl From<IpAddr> for v1::IpAddress {
    fn from(address: IpAddr) -> Self {
        Self {
            octets: octets(address),
        }
    }
}

impl TryFrom<v1::IpAddress> for IpAddr {
    type Error = Error;

    fn try_from(message: v1::IpAddress) -> Result<Self, Error> {
        ip("IpAddress.octets", &message.octets)
    }
}

impl From<SocketAddr> for v1::SocketAddress {
    fn from(address: SocketAddr) -> Self {
        let (flow_info, scope_id) = match address {
            SocketAddr::V4(_) => (0, 0),
            SocketAddr::V6(address) => (address.flowinfo(), address.scope_id()),
        };
        Self {
            octets: octets(address.ip()),
            port: address.port().into(),
            flow_info,
            scope_id,
        }
    }
}

impl TryFrom<v1::SocketAddress> for SocketAddr {
    type Error = Error;

    fn try_from(message: v1::SocketAddress) -> Result<Self, Error> {
        let port = narrow("SocketAddress.port", message.port)?;
        Ok(match ip("SocketAddress.octets", &message.octets)? {
            IpAddr::V4(ip) => SocketAddrV4::new(ip, port).into(),
            IpAddr::V6(ip) => SocketAddrV6::new(ip, port, message.flow_info, message.scope_id).into(),
        })
    }
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

fn ip(field: &'static str, octets: &[u8]) -> Result<IpAddr, Error> {
    if let Ok(octets) = <[u8; 4]>::try_from(octets) {
        return Ok(Ipv4Addr::from(octets).into());
    }
    match <[u8; 16]>::try_from(octets) {
        Ok(octets) => Ok(Ipv6Addr::from(octets).into()),
        Err(_) => Err(Error::Length {
            field,
            len: octets.len(),
        }),
    }
}

impl From<MessageId> for v1::MessageId {
    fn from(message: MessageId) -> Self {
        Self {
            node: message.node.0,
            number: message.number,
        }
    }
}

impl From<v1::MessageId> for MessageId {
    fn from(message: v1::MessageId) -> Self {
        Self {
            node: NodeId(message.node),
            number: message.number,
        }
    }
}
