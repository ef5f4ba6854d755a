//! The configuration of a machine in a cluster.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use serde::Deserialize;

use super::ConfigError;

/// The port of media nodes for controllers, unless another is named.
const PORT: u16 = 7890;

/// The longest name of a machine or a region.
const NAME_MAX: usize = 255;

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
    ca: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
    /// The store of the cluster, as it is written.
    store: Option<serde_json::Value>,
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
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "a media node is not entered into the store yet")
)]
pub(crate) struct Cluster {
    /// The name of the machine in the cluster.
    pub name: String,
    /// The region that it is in.
    pub region: Option<String>,
    /// The address at which its media node listens for controllers.
    pub listen: SocketAddr,
    /// The address of that as controllers reach it, if it is another one: `HOST:PORT`.
    pub advertise: Option<String>,
    /// The certificate that it has.
    pub files: ClusterFiles,
    /// The cluster's store, as it is written. It is read by the part that opens the store.
    pub store: Option<serde_json::Value>,
}

impl ClusterFile {
    /// The complete settings.
    ///
    /// Errors: a name is too long or empty, the machine has none, a port is 0, or `advertise` is
    /// not a host with a port.
    pub(super) fn complete(self) -> Result<Cluster, ConfigError> {
        let error = |why: &str| Err(ConfigError::Cluster(why.to_owned()));
        let Some(name) = self.name.or_else(host_name) else {
            return error("needs a `name`: this machine has none");
        };
        let is_name = |name: &str| (1..=NAME_MAX).contains(&name.len());
        if !is_name(&name) || !self.region.as_deref().is_none_or(is_name) {
            return error("needs a `name` and a `region` of 1 to 255 bytes");
        }
        let listen = self.listen.unwrap_or((Ipv4Addr::UNSPECIFIED, PORT).into());
        if listen.port() == 0 {
            return error("needs a port that controllers can be told in `listen`, not 0");
        }
        let is_address = |address: &str| {
            let parts = address.rsplit_once(':');
            parts.is_some_and(|(host, port)| {
                let is_host = !host.is_empty() && (host.starts_with('[') == host.ends_with(']'));
                let is_whole = host.starts_with('[') || !host.contains(':');
                is_host && is_whole && port.parse::<u16>().is_ok_and(|port| port > 0)
            })
        };
        if !self.advertise.as_deref().is_none_or(is_address) {
            return error("needs HOST:PORT in `advertise`, such as 192.0.2.7:7890");
        }
        Ok(Cluster {
            name,
            region: self.region,
            listen,
            advertise: self.advertise,
            files: ClusterFiles {
                ca: self.ca,
                certificate: self.certificate,
                key: self.key,
            },
            store: self.store,
        })
    }
}

/// The name that the operating system has for this machine.
fn host_name() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty() && name != "(none)")
}

#[cfg(test)]
mod tests {
    use super::super::File;
    use super::*;

    const FILES: &str = "ca: ca.pem, certificate: one.pem, key: one.key";

    fn completed(rest: &str) -> Result<Cluster, String> {
        let text = format!("cluster: {{{FILES}{rest}}}");
        let file = File::parse(&text)
            .whole("weir.yaml")
            .map_err(|error| error.to_string())?;
        let cluster = file.cluster.expect("a cluster");
        cluster.complete().map_err(|error| error.to_string())
    }

    #[test]
    fn a_machine_has_its_host_name_and_the_usual_port() {
        let cluster = completed("").unwrap();
        assert_eq!(Some(cluster.name), host_name());
        assert_eq!(cluster.listen, SocketAddr::from(([0, 0, 0, 0], 7890)));
        assert_eq!((cluster.region, cluster.advertise, cluster.store), (None, None, None));
        assert_eq!(cluster.files.key, PathBuf::from("one.key"));
    }

    #[test]
    fn all_settings_are_taken() {
        let rest = ", name: one, region: north, listen: '127.0.0.1:1', advertise: 'media.example:2', \
                    store: {etcd: {endpoints: ['http://127.0.0.1:2379']}}";
        let cluster = completed(rest).unwrap();
        assert_eq!(
            (cluster.name.as_str(), cluster.region.as_deref()),
            ("one", Some("north"))
        );
        assert_eq!(cluster.advertise.as_deref(), Some("media.example:2"));
        assert!(cluster.store.unwrap().get("etcd").is_some());
        assert!(completed(", store: memory").unwrap().store.is_some());
    }

    #[test]
    fn errors_name_the_setting() {
        for (rest, part) in [
            (", name: ''", "name"),
            (", listen: '127.0.0.1:0'", "listen"),
            (", listen: 7890", "listen"),
            (", advertise: media.example", "advertise"),
            (", advertise: 'media.example:0'", "advertise"),
            (", advertise: '2001:db8::1:7890'", "advertise"),
            (", cert: one.pem", "cert"),
        ] {
            let error = completed(rest).unwrap_err();
            assert!(error.contains("cluster") && error.contains(part), "{rest}: {error}");
        }
        assert!(completed(", advertise: '[2001:db8::1]:7890'").is_ok());
        let error = File::parse("cluster: {ca: ca.pem, certificate: one.pem}").whole("weir.yaml");
        assert!(error.unwrap_err().to_string().contains("key"));
    }
}
