//! The regions of clients, and those that rooms are pinned to.

use std::cmp::Reverse;
use std::net::IpAddr;

use access::RoomNames;
use serde::Deserialize;

use super::{ConfigError, Network};

/// The longest name of a region.
const NAME_MAX: usize = 255;

/// The file's form of a region.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RegionFile {
    name: String,
    /// The networks whose clients are in it.
    networks: Vec<Network>,
}

/// The file's form of rooms that may only be in some regions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PinnedFile {
    /// A name. A `*` at its end stands for any rest.
    rooms: String,
    regions: Vec<String>,
}

/// The regions of clients. Without a cluster there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Regions {
    /// That of this machine, if it has one.
    own: Option<String>,
    /// Networks with their regions, the smallest first.
    networks: Vec<(Network, String)>,
}

impl Regions {
    /// Those of a machine's own region and of networks.
    pub(crate) fn new(own: Option<String>, networks: Vec<(Network, String)>) -> Self {
        let mut networks = networks;
        networks.sort_by_key(|(network, _)| Reverse(network.prefix_len()));
        Self { own, networks }
    }

    /// The region of this machine, if it has one.
    pub(crate) fn own(&self) -> Option<&str> {
        self.own.as_deref()
    }

    /// The region of the smallest network that an address is in.
    pub(crate) fn of(&self, address: IpAddr) -> Option<&str> {
        let found = self.networks.iter().find(|(network, _)| network.contains(address));
        found.map(|(_, region)| region.as_str())
    }
}

/// Whether a text may be the name of a region. It is passed on in a header of HTTP.
pub(crate) fn is_region(name: &str) -> bool {
    (1..=NAME_MAX).contains(&name.len()) && !name.contains(char::is_control)
}

/// The regions of clients, in a machine of this region.
///
/// Errors: a region has no name.
pub(super) fn regions(own: Option<&str>, files: Vec<RegionFile>) -> Result<Regions, ConfigError> {
    let mut networks = Vec::new();
    for RegionFile { name, networks: of } in files {
        if !is_region(&name) {
            return Err(ConfigError::Cluster(
                "needs a name of 1 to 255 bytes for each of `regions`".to_owned(),
            ));
        }
        networks.extend(of.into_iter().map(|network| (network, name.clone())));
    }
    Ok(Regions::new(own.map(str::to_owned), networks))
}

/// The rooms that may only be in some regions.
///
/// Errors: rooms have no region, or no name; a `*` is not at the end.
pub(super) fn pinned(files: Vec<PinnedFile>) -> Result<Vec<controller::PinnedRooms>, ConfigError> {
    let pin = |PinnedFile { rooms, regions }| {
        let stem = rooms.strip_suffix('*').unwrap_or(&rooms);
        if rooms.is_empty() || stem.contains('*') {
            let why =
                format!("needs the name of a room in `pinned.rooms`, with a `*` at most at its end, not {rooms:?}");
            return Err(ConfigError::Cluster(why));
        }
        if regions.is_empty() || !regions.iter().all(|region| is_region(region)) {
            let why =
                format!("needs the names of regions in `pinned.regions` of {rooms:?}: without one nobody could join");
            return Err(ConfigError::Cluster(why));
        }
        Ok(controller::PinnedRooms {
            rooms: RoomNames::new(vec![rooms]),
            regions,
        })
    };
    files.into_iter().map(pin).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(name: &str, networks: &[&str]) -> RegionFile {
        RegionFile {
            name: name.to_owned(),
            networks: networks.iter().map(|text| text.parse().unwrap()).collect(),
        }
    }

    #[test]
    fn the_smallest_network_of_an_address_names_its_region() {
        let files = vec![
            region("north", &["10.0.0.0/8", "2001:db8::/32"]),
            region("lab", &["10.1.2.0/24"]),
        ];
        let regions = regions(Some("south"), files).unwrap();
        let of = |address: &str| regions.of(address.parse().unwrap());
        assert_eq!(of("10.1.2.3"), Some("lab"));
        assert_eq!(of("10.1.3.3"), Some("north"));
        assert_eq!(of("2001:db8::7"), Some("north"));
        assert_eq!(of("192.0.2.1"), None);
        assert_eq!(regions.own(), Some("south"));
    }

    #[test]
    fn rooms_are_pinned_to_regions_that_have_names() {
        let pin = |rooms: &str, regions: &[&str]| {
            let regions = regions.iter().map(|region| (*region).to_owned()).collect();
            let rooms = rooms.to_owned();
            pinned(vec![PinnedFile { rooms, regions }])
        };
        let pinned = pin("eu-*", &["eu"]).unwrap();
        assert!(pinned[0].rooms.admits("eu-1") && !pinned[0].rooms.admits("us-1"));
        assert!(pin("*", &["eu", "ch"]).is_ok());
        for (rooms, regions) in [
            ("", &["eu"][..]),
            ("a*b", &["eu"]),
            ("a", &[]),
            ("a", &[""]),
            ("a", &["e\nu"]),
        ] {
            let error = pin(rooms, regions).unwrap_err().to_string();
            assert!(error.contains("pinned."), "{error}");
        }
    }
}
