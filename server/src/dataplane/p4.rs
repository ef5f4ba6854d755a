//! Forwarding by a P4 switch between the clients and this host.
//!
//! The switch need not be there when the program starts. It is connected to whenever it is, and
//! until then the base does everything.

use std::net::{IpAddr, SocketAddr};

use backend_p4::{Mac, P4Config, P4Error, Prefix, Replication};
use layered::Offloads;
use serde::{Deserialize, Deserializer, de};
use tracing::info;

use super::Wake;
use crate::os::clock;

/// Settings of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings(P4Config);

/// The file's form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Switch {
    switch: SocketAddr,
    #[serde(default = "one")]
    device: u64,
    #[serde(default = "one")]
    election: u64,
    #[serde(default)]
    replication: Mode,
    host: u16,
    ports: Vec<Port>,
    #[serde(default)]
    rooms: Rooms,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Port {
    port: u16,
    #[serde(deserialize_with = "parsed")]
    mac: Mac,
    #[serde(default)]
    addresses: Vec<IpAddr>,
    #[serde(default)]
    routes: Vec<Route>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Route {
    #[serde(deserialize_with = "parsed")]
    to: Prefix,
    #[serde(deserialize_with = "parsed")]
    via: Mac,
}

/// The way in which the switch makes copies.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// By its multicast engine.
    #[default]
    Multicast,
    /// By clones that pass it again.
    Recirculation,
    /// By a binary tree of passes.
    Tree,
}

/// Rooms on the switch.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Rooms {
    /// None: only relays.
    #[default]
    None,
    /// Their packets also go to this host, which reports arrivals and active speakers.
    CopyAndPass,
}

fn one() -> u64 {
    1
}

/// A value that is written as a text.
fn parsed<'de, D: Deserializer<'de>, T: std::str::FromStr<Err: std::fmt::Display>>(from: D) -> Result<T, D::Error> {
    let text = String::deserialize(from)?;
    text.parse()
        .map_err(|error| de::Error::custom(format!("{text:?}: {error}")))
}

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let switch = Switch::deserialize(from)?;
        let port = |port: Port| backend_p4::Port {
            port: port.port,
            mac: port.mac,
            addresses: port.addresses,
            routes: port
                .routes
                .into_iter()
                .map(|route| backend_p4::Route {
                    to: route.to,
                    via: route.via,
                })
                .collect(),
        };
        let config = P4Config {
            switch: switch.switch,
            device: switch.device,
            election: switch.election,
            replication: match switch.replication {
                Mode::Multicast => Replication::Multicast,
                Mode::Recirculation => Replication::Recirculation,
                Mode::Tree => Replication::Tree,
            },
            host: switch.host,
            ports: switch.ports.into_iter().map(port).collect(),
            rooms: switch.rooms == Rooms::CopyAndPass,
        };
        config.check().map_err(de::Error::custom)?;
        Ok(Settings(config))
    }
}

/// Starts the driver of a switch.
///
/// Errors: the reason why there is none. The base does everything then.
pub(super) fn start(settings: &Settings, wake: Wake) -> Result<Offloads, P4Error> {
    let Settings(config) = settings.clone();
    let replication = config.replication.name();
    info!(switch = %config.switch, device = config.device, replication, "forwarding by a switch");
    let (relays, rooms) = backend_p4::start(config, clock::now(), wake)?;
    let mut offloads = Offloads::default();
    offloads.relays.push(Box::new(relays));
    if let Some(rooms) = rooms {
        offloads.replicas.push(Box::new(rooms));
    }
    Ok(offloads)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORTS: &str = "
      - port: 1
        mac: 02:00:00:00:00:01
        addresses: [10.0.1.1]
        routes: [{to: 10.0.1.0/24, via: 02:00:00:00:01:01}]
      - {port: 2, mac: 02:00:00:00:00:02, addresses: [10.0.2.1], routes: [{to: 0.0.0.0/0, via: 02:00:00:00:02:01}]}
";

    fn settings(head: &str, ports: &str) -> Result<Settings, String> {
        let text = format!("{head}\nports:{ports}");
        serde_saphyr::from_str(&text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_switch_is_described_by_its_ports() {
        let Settings(config) = settings("switch: 127.0.0.1:9559\nhost: 1", PORTS).unwrap();
        assert_eq!(
            (config.device, config.election, config.replication),
            (1, 1, Replication::Multicast)
        );
        assert!(!config.rooms);
        assert_eq!(config.ports.len(), 2);
        assert_eq!(config.ports[1].routes[0].via, Mac([2, 0, 0, 0, 2, 1]));
        let head = "switch: 127.0.0.1:9559\nhost: 1\nreplication: tree\nrooms: copy_and_pass";
        let Settings(config) = settings(head, PORTS).unwrap();
        assert_eq!((config.replication, config.rooms), (Replication::Tree, true));
    }

    #[test]
    fn an_error_names_the_line_and_the_reason() {
        let head = "switch: 127.0.0.1:9559\nhost: 1";
        let error = |head: &str, ports: &str| settings(head, ports).unwrap_err();
        let missing = error("switch: 127.0.0.1:9559\nhost: 7", PORTS);
        assert!(missing.contains("the host is behind port 7"), "{missing}");
        let mac = error(head, &PORTS.replace("mac: 02:00:00:00:00:02", "mac: 02:00"));
        assert!(
            mac.contains("02:00") && mac.contains("six bytes") && mac.contains("line 8"),
            "{mac}"
        );
        let prefix = error(head, &PORTS.replace("10.0.1.0/24", "10.0.1.0/33"));
        assert!(prefix.contains("10.0.1.0/33") && prefix.contains("line 7"), "{prefix}");
        let same = error(head, &PORTS.replace("port: 2", "port: 1"));
        assert!(same.contains("the number 1"), "{same}");
        for (wrong, name) in [("replicaton: tree", "replicaton"), ("rooms: copy", "copy")] {
            let error = error(&format!("{head}\n{wrong}"), PORTS);
            assert!(error.contains(name), "{error}");
        }
    }
}
