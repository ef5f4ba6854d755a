//! How ports, networks, times and lists are written.

use std::fmt;
use std::marker::PhantomData;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, Deserializer, IntoDeserializer, SeqAccess, Visitor};

/// A time, written in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seconds(pub Duration);

/// Ports from one to another, both included, written `30000-40000`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PortRange(pub RangeInclusive<u16>);

/// Addresses that begin alike, written `10.0.0.0/8`; one address alone is that one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Network {
    address: IpAddr,
    bits: u8,
}

/// One, or a list.
#[derive(Clone, Debug)]
pub(crate) enum Many<T> {
    /// One.
    One(T),
    /// Any number.
    List(Vec<T>),
}

impl Default for PortRange {
    fn default() -> Self {
        PortRange(30_000..=40_000)
    }
}

impl FromStr for PortRange {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = text
            .split_once('-')
            .and_then(|(first, last)| Some(first.trim().parse().ok()?..=last.trim().parse().ok()?));
        match parsed {
            Some(range) if !range.is_empty() => Ok(PortRange(range)),
            _ => Err("ports are written \"30000-40000\""),
        }
    }
}

impl Network {
    /// Whether the address is in it.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        let [ours, theirs] = [self.address, address].map(bits);
        let differing = (ours ^ theirs).checked_shr(u32::from(width(self.address) - self.bits));
        self.address.is_ipv4() == address.is_ipv4() && differing.unwrap_or(0) == 0
    }

    /// The number of bits that its addresses have in common.
    pub(crate) fn prefix_len(&self) -> u8 {
        self.bits
    }

    /// Its first and its last address.
    pub(crate) fn range(&self) -> RangeInclusive<IpAddr> {
        let free = u32::from(width(self.address) - self.bits);
        let hosts = u128::MAX.checked_shr(128 - free).unwrap_or(0);
        let first = bits(self.address) & !hosts;
        let address = |bits: u128| match self.address {
            IpAddr::V4(_) => IpAddr::from((bits as u32).to_be_bytes()),
            IpAddr::V6(_) => IpAddr::from(bits.to_be_bytes()),
        };
        address(first)..=address(first | hosts)
    }
}

/// An address as a number.
fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

impl FromStr for Network {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "a network is written \"10.0.0.0/8\", or as one address";
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse().map_err(|_| FORM)?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| FORM)?;
        let bits = bits.unwrap_or(width(address));
        if bits > width(address) {
            return Err(FORM);
        }
        Ok(Network { address, bits })
    }
}

impl<T> Many<T> {
    /// All of them.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        match self {
            Many::One(one) => std::slice::from_ref(one).iter(),
            Many::List(list) => list.iter(),
        }
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.iter().len() == 0
    }
}

impl<T> Default for Many<T> {
    fn default() -> Self {
        Many::List(Vec::new())
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_f64(SecondsVisitor)
    }
}

struct SecondsVisitor;

impl Visitor<'_> for SecondsVisitor {
    type Value = Seconds;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of seconds, such as 600 or 2.5")
    }

    fn visit_f64<E: de::Error>(self, seconds: f64) -> Result<Seconds, E> {
        let seconds = Duration::try_from_secs_f64(seconds).map(Seconds);
        seconds.map_err(|_| de::Error::custom("a time is a number of seconds from 0"))
    }

    fn visit_u64<E: de::Error>(self, seconds: u64) -> Result<Seconds, E> {
        Ok(Seconds(Duration::from_secs(seconds)))
    }

    fn visit_i64<E: de::Error>(self, seconds: i64) -> Result<Seconds, E> {
        self.visit_f64(seconds as f64)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Seconds, E> {
        let meant = seconds_in(text).map(|seconds| format!(": write {seconds}"));
        Err(de::Error::custom(format!(
            "a time is a number of seconds, without a unit{}",
            meant.unwrap_or_default()
        )))
    }
}

/// The seconds of a time with a unit, such as `10m`.
fn seconds_in(text: &str) -> Option<f64> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number: f64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim() {
        "ms" => 0.001,
        "s" | "sec" | "seconds" => 1.0,
        "m" | "min" | "minutes" => 60.0,
        "h" | "hours" => 3_600.0,
        "d" | "days" => 86_400.0,
        _ => return None,
    };
    Some(number * unit)
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Many<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ManyVisitor(PhantomData))
    }
}

struct ManyVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ManyVisitor<T> {
    type Value = Many<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one value or a list of them")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Many<T>, E> {
        Ok(Many::default())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Many<T>, E> {
        T::deserialize(text.into_deserializer()).map(Many::One)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Many<T>, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Many::List)
    }
}

impl<'de> Deserialize<'de> for PortRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer)
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer)
    }
}

fn parsed<'de, D: Deserializer<'de>, T: FromStr<Err: fmt::Display>>(deserializer: D) -> Result<T, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
}
