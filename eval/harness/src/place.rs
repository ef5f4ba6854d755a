use std::io;
use std::net::Ipv4Addr;
use std::process::Command;

/// A network namespace for one server, and the cable to it from this one, where the clients are.
///
/// The interfaces keep the kernel's defaults: super-packets cross the cable whole, as they reach a
/// NIC that segments them. It is removed when dropped; after a kill, the parent of this process has
/// to remove it.
#[derive(Debug)]
pub struct Place {
    namespace: String,
    number: u8,
}

/// The server's end of the cable.
pub const SERVER_INTERFACE: &str = "eth0";

impl Place {
    /// Makes the namespace `prefix`-`name`; `number` distinguishes its addresses from those of
    /// other places.
    pub fn create(prefix: &str, name: &str, number: u8) -> io::Result<Self> {
        let place = Self {
            namespace: format!("{prefix}-{name}"),
            number,
        };
        let (namespace, ours) = (&place.namespace, place.interface());
        shell(&format!("ip netns add {namespace}"))?;
        // Neighbours and routers of the other family would be asked after during measurements.
        let quiet = "sysctl -q -w net.ipv6.conf.all.disable_ipv6=1";
        shell(quiet)?;
        shell(&format!("ip netns exec {namespace} {quiet}"))?;
        shell(&format!(
            "ip link add {ours} type veth peer name {SERVER_INTERFACE} netns {namespace}"
        ))?;
        shell(&format!("ip address add {}/24 dev {ours}", place.clients()))?;
        shell(&format!("ip link set {ours} up"))?;
        shell("ip link set lo up")?;
        for line in [
            format!("ip address add {}/24 dev {SERVER_INTERFACE}", place.server()),
            format!("ip link set {SERVER_INTERFACE} up"),
            "ip link set lo up".into(),
        ] {
            shell(&format!("ip netns exec {namespace} {line}"))?;
        }
        Ok(place)
    }

    /// The clients' end of the cable.
    pub fn interface(&self) -> String {
        format!("cable{}", self.number)
    }

    /// The server's address. From the range set aside for benchmarks (RFC 2544).
    pub fn server(&self) -> Ipv4Addr {
        Ipv4Addr::new(198, 18, self.number, 1)
    }

    /// The clients' address.
    pub fn clients(&self) -> Ipv4Addr {
        Ipv4Addr::new(198, 18, self.number, 2)
    }

    /// The words in front of a command that is to run there.
    pub fn words(&self) -> Vec<String> {
        ["ip", "netns", "exec", &self.namespace].map(String::from).to_vec()
    }

    /// The segmentation and merging offloads of the interface.
    pub fn offloads(&self) -> String {
        let said = shell(&format!("ethtool -k {}", self.interface())).unwrap_or_default();
        let state = |feature: &&str| {
            said.lines()
                .find_map(|line| line.trim().strip_prefix(feature)?.strip_prefix(": "))
        };
        let named = OFFLOADS
            .iter()
            .filter_map(|feature| Some(format!("{feature} {}", state(feature)?)));
        named.collect::<Vec<_>>().join(", ")
    }
}

/// The offloads that decide the cost of a run of packets.
const OFFLOADS: [&str; 4] = [
    "tx-udp-segmentation",
    "generic-segmentation-offload",
    "generic-receive-offload",
    "tx-checksumming",
];

impl Drop for Place {
    fn drop(&mut self) {
        // The interfaces go with it.
        let _ = shell(&format!("ip netns delete {}", self.namespace));
    }
}

/// Runs a command and returns its output.
pub fn shell(line: &str) -> io::Result<String> {
    let mut words = line.split_whitespace();
    let program = words.next().unwrap_or_default();
    let output = Command::new(program)
        .args(words)
        .output()
        .map_err(|error| io::Error::new(error.kind(), format!("{program}: {error}")))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(io::Error::other(format!("{line}: {}", said.trim())))
    }
}
