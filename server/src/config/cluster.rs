//! The configuration of a machine in a cluster.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use controller::PinnedRooms;
use serde::Deserialize;
use southbound::Versions;

use super::regions::{PinnedFile, RegionFile, is_region, pinned, regions};
use super::{ConfigError, Regions, Seconds};

/// The port of media nodes for controllers, unless another is named.
const PORT: u16 = 7890;

/// The port of controllers for each other, unless another is named.
const FORWARD_PORT: u16 = 7891;

/// The port of relays of SIP calls for each other, unless another is named.
const SIP_PORT: u16 = 7892;

/// The longest name of a machine.
const NAME_MAX: usize = 255;

/// The time in which participants leave a media node that drains, unless another is named.
const MOVE_WITHIN: Duration = Duration::from_secs(60);

/// The file's form. Only there when the file has a section `cluster`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClusterFile {
    /// The name of the machine; by default its host name.
    name: Option<String>,
    /// The region that it is in.
    region: Option<String>,
    /// The address at which its media node listens for controllers.
    listen: Option<SocketAddr>,
    /// The address of that as controllers reach it: `HOST:PORT`.
    advertise: Option<String>,
    /// The same of its controller, for other controllers.
    #[serde(default)]
    controllers: ListenerFile,
    /// The same of its relay of SIP calls, for other relays.
    #[serde(default)]
    sip: ListenerFile,
    ca: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
    /// The file of the keys that controllers seal snapshots with.
    secrets: Option<PathBuf>,
    /// The transports that its media node takes.
    capacity: Option<u32>,
    /// The seconds in which participants leave its media node while that drains.
    move_within: Option<Seconds>,
    /// The protection of media between this media node and others.
    #[serde(default)]
    trunk_encryption: TrunkEncryption,
    /// The newest version of the protocol of the cluster that it speaks.
    protocol_version: Option<u32>,
    /// The regions of clients.
    #[serde(default)]
    regions: Vec<RegionFile>,
    /// The rooms that may only be in some regions.
    #[serde(default)]
    pinned: Vec<PinnedFile>,
    /// The store of the cluster.
    store: Option<stores::Config>,
}

/// The file's form of an address at which a machine listens.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ListenerFile {
    listen: Option<SocketAddr>,
    advertise: Option<String>,
}

/// The protection of media between media nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TrunkEncryption {
    /// SRTP, with keys that controllers make.
    #[default]
    Srtp,
    /// None: the operator protects the network between media nodes otherwise.
    None,
}

/// An address at which a machine listens for others of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listener {
    /// The address of this machine.
    pub listen: SocketAddr,
    /// The address of that as others reach it, if it is another one: `HOST:PORT`.
    pub advertise: Option<String>,
}

/// The files of a machine's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClusterFiles {
    /// The certificate of the cluster's authority.
    pub ca: PathBuf,
    /// The certificate of this machine, which has its roles in it.
    pub certificate: PathBuf,
    /// The key of that certificate.
    pub key: PathBuf,
}

/// A machine in a cluster.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    /// The name of the machine in the cluster.
    pub name: String,
    /// The region that it is in.
    pub region: Option<String>,
    /// The address at which its media node listens for controllers.
    pub listen: SocketAddr,
    /// The address of that as controllers reach it, if it is another one: `HOST:PORT`.
    pub advertise: Option<String>,
    /// The address at which its controller listens for other controllers.
    pub controllers: Listener,
    /// The address at which its relay of SIP calls listens for other relays.
    pub sip: Listener,
    /// The certificate that it has.
    pub files: ClusterFiles,
    /// The file of the keys that controllers seal snapshots with. Media nodes need none.
    pub secrets: Option<PathBuf>,
    /// The transports that its media node takes, if a number is given. A client has one or two.
    pub capacity: Option<u32>,
    /// The time in which participants leave its media node while that drains.
    pub move_within: Duration,
    /// The protection of media between its media node and others.
    pub trunk_encryption: TrunkEncryption,
    /// The versions of the protocol between controllers and media nodes that it speaks.
    pub versions: Versions,
    /// The regions of clients.
    pub regions: Regions,
    /// The rooms that may only be in some regions.
    pub pinned: Vec<PinnedRooms>,
    /// The store that the machines of the cluster share.
    pub store: stores::Config,
}

impl ClusterFile {
    /// The files that have secrets in them.
    pub(super) fn secret_files(&self) -> impl Iterator<Item = &Path> {
        [&self.key].into_iter().chain(&self.secrets).map(PathBuf::as_path)
    }

    /// The complete settings of a machine that relays calls of SIP proxies or does not.
    ///
    /// Errors: a name is too long or empty, the machine has none, a port is 0, or the capacity is
    /// 0 where no calls are relayed, `advertise` is not a host with a port, the program speaks no
    /// such version, or no store can be made of `store`.
    pub(super) fn complete(self, relays_calls: bool) -> Result<Cluster, ConfigError> {
        let error = |why: &str| Err(ConfigError::Cluster(why.to_owned()));
        let Some(name) = self.name.or_else(host_name) else {
            return error("needs a `name`: this machine has none");
        };
        let is_name = (1..=NAME_MAX).contains(&name.len());
        if !is_name || !self.region.as_deref().is_none_or(is_region) {
            return error("needs a `name` and a `region` of 1 to 255 bytes");
        }
        let of_node = ListenerFile {
            listen: self.listen,
            advertise: self.advertise,
        };
        let of_node = of_node.complete(PORT, "")?;
        let controllers = self.controllers.complete(FORWARD_PORT, "controllers.")?;
        let sip = self.sip.complete(SIP_PORT, "sip.")?;
        if of_node.listen == controllers.listen {
            return error("names the same address in `listen` and in `controllers.listen`");
        }
        if [of_node.listen, controllers.listen].contains(&sip.listen) {
            return error("names the address of `sip.listen` in `listen` or in `controllers.listen` as well");
        }
        if self.capacity == Some(0) && !relays_calls {
            return error(
                "needs a `capacity` above 0: nobody could join. With 0 a machine only relays calls, and needs a section `sip`",
            );
        }
        let versions = self.protocol_version.map(|newest| Versions::OURS.up_to(newest));
        let Some(versions) = versions.unwrap_or(Some(Versions::OURS)) else {
            let Versions { oldest, newest } = Versions::OURS;
            let why = format!("needs a `protocol_version` from {oldest} to {newest}, which this program speaks");
            return Err(ConfigError::Cluster(why));
        };
        let regions = regions(self.region.as_deref(), self.regions)?;
        let pinned = pinned(self.pinned)?;
        let store = self.store.unwrap_or_default();
        stores::check(&store).map_err(ConfigError::Store)?;
        Ok(Cluster {
            name,
            region: self.region,
            listen: of_node.listen,
            advertise: of_node.advertise,
            controllers,
            sip,
            files: ClusterFiles {
                ca: self.ca,
                certificate: self.certificate,
                key: self.key,
            },
            secrets: self.secrets,
            capacity: self.capacity,
            move_within: self.move_within.map_or(MOVE_WITHIN, |time| time.0),
            trunk_encryption: self.trunk_encryption,
            versions,
            regions,
            pinned,
            store,
        })
    }
}

impl Cluster {
    /// Whether its media node takes media of others without encryption.
    pub(crate) fn has_clear_trunks(&self) -> bool {
        self.trunk_encryption == TrunkEncryption::None
    }
}

impl ListenerFile {
    /// The address, with this port unless the file has another. `section` is the beginning of its
    /// settings' names.
    ///
    /// Errors: the port is 0, or `advertise` is not a host with a port.
    fn complete(self, port: u16, section: &str) -> Result<Listener, ConfigError> {
        let listen = self.listen.unwrap_or((Ipv4Addr::UNSPECIFIED, port).into());
        if listen.port() == 0 {
            let why = format!("needs a port that others can be told in `{section}listen`, not 0");
            return Err(ConfigError::Cluster(why));
        }
        let advertise = self.advertise;
        if !advertise.as_deref().is_none_or(is_address) {
            let why = format!("needs HOST:PORT in `{section}advertise`, such as 192.0.2.7:{port}");
            return Err(ConfigError::Cluster(why));
        }
        Ok(Listener { listen, advertise })
    }
}

/// Whether a text is `HOST:PORT`, with an IPv6 address in brackets.
fn is_address(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(host, port)| {
        let is_host = !host.is_empty() && (host.starts_with('[') == host.ends_with(']'));
        let is_whole = host.starts_with('[') || !host.contains(':');
        is_host && is_whole && port.parse::<u16>().is_ok_and(|port| port > 0)
    })
}

/// The name that the operating system has for this machine.
fn host_name() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty() && name != "(none)")
}

#[cfg(test)]
mod tests;
