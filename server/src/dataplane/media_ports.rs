//! The UDP ports of media.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::str::FromStr;

use backend_udp::shard::SHARDS_MAX;
use serde::Deserialize;
use serde::de::{self, Deserializer};

/// One port that all workers share, written `7882`, or a port for each worker, written `7882-7885`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MediaPorts(RangeInclusive<u16>);

impl MediaPorts {
    /// One port that all workers share.
    pub(crate) const fn one(port: u16) -> Self {
        MediaPorts(port..=port)
    }

    /// The first one.
    pub(crate) fn first(&self) -> u16 {
        *self.0.start()
    }

    /// How many there are: one, or as many as there are workers.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Whether this is one of them.
    pub(crate) fn contains(&self, port: u16) -> bool {
        self.0.contains(&port)
    }

    /// An address with all of them, for the log.
    pub(crate) fn at(&self, address: IpAddr) -> String {
        let first = SocketAddr::new(address, self.first());
        match self.count() {
            1 => first.to_string(),
            _ => format!("{first}-{}", self.0.end()),
        }
    }

    /// All of them.
    pub(crate) fn range(&self) -> RangeInclusive<u16> {
        self.0.clone()
    }
}

impl FromStr for MediaPorts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let range = first
            .trim()
            .parse()
            .and_then(|first| Ok(first..=last.trim().parse::<u16>()?));
        match range {
            // The system chooses one port, not several that follow each other.
            Ok(range) if range.len() > 1 && range.contains(&0) => Err(form()),
            Ok(range) if (1..=SHARDS_MAX).contains(&range.len()) => Ok(MediaPorts(range)),
            _ => Err(form()),
        }
    }
}

fn form() -> String {
    format!("ports of media are written \"7882\" or \"7882-7885\", at most {SHARDS_MAX} of them")
}

impl fmt::Display for MediaPorts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.clone().into_inner() {
            (first, last) if first == last => write!(f, "{first}"),
            (first, last) => write!(f, "{first}-{last}"),
        }
    }
}

impl<'de> Deserialize<'de> for MediaPorts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // In YAML a number is a text, too.
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_or_a_range_is_read_and_written() {
        for (text, first, count) in [
            ("7882", 7_882, 1),
            ("7882-7885", 7_882, 4),
            ("0", 0, 1),
            ("1-64", 1, 64),
        ] {
            let ports: MediaPorts = text.parse().unwrap();
            assert_eq!(
                (ports.first(), ports.count(), ports.to_string().as_str()),
                (first, count, text)
            );
        }
        let ports: MediaPorts = "7882 - 7885".parse().unwrap();
        assert!(ports.contains(7885) && !ports.contains(7886));
        assert_eq!(ports.at([192, 0, 2, 1].into()), "192.0.2.1:7882-7885");
        assert_eq!("7882-7882".parse(), Ok(MediaPorts::one(7882)));
    }

    #[test]
    fn anything_else_is_refused_with_the_form() {
        for text in ["", "x", "70000", "7885-7882", "0-3", "1-65", "7882-", "-1", "7882,7883"] {
            let error = text.parse::<MediaPorts>().unwrap_err();
            assert!(error.contains("7882-7885") && error.contains("64"), "{text}: {error}");
        }
    }
}
