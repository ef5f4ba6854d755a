//! The address at which other machines of the cluster reach this one.

use std::net::{IpAddr, SocketAddr};

/// The address for others. One that listens on every address is reached at the first of this
/// machine's own: what clients outside of a NAT know may not lead back in. `setting` is the name of
/// the setting that says another one.
///
/// Shape: `HOST:PORT`.
/// Errors: nobody has said at which address others reach it.
pub(crate) fn advertised(
    setting: &str,
    advertise: Option<&str>,
    listen: SocketAddr,
    local_ips: &[IpAddr],
) -> Result<String, String> {
    if let Some(address) = advertise {
        return Ok(address.to_owned());
    }
    if !listen.ip().is_unspecified() {
        return Ok(listen.to_string());
    }
    let is_reached = |ip: &&IpAddr| ip.is_ipv4() || listen.is_ipv6();
    match local_ips.iter().find(is_reached) {
        Some(ip) => Ok(SocketAddr::new(*ip, listen.port()).to_string()),
        None => Err(format!(
            "`cluster:` needs `{setting}`, the address at which others reach {listen}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_told_an_address_that_they_can_connect_to() {
        let local: [IpAddr; 2] = ["2001:db8::5", "10.0.0.5"].map(|ip| ip.parse().unwrap());
        let told = |listen: &str, advertise, local: &[IpAddr]| {
            advertised("advertise", advertise, listen.parse().unwrap(), local)
        };
        assert_eq!(told("0.0.0.0:1", Some("a.example:2"), &local).unwrap(), "a.example:2");
        assert_eq!(told("192.0.2.1:1", None, &local).unwrap(), "192.0.2.1:1");
        assert_eq!(told("0.0.0.0:1", None, &local).unwrap(), "10.0.0.5:1");
        assert_eq!(told("[::]:1", None, &local).unwrap(), "[2001:db8::5]:1");
        let error = told("0.0.0.0:1", None, &local[..1]).unwrap_err();
        assert!(error.contains("advertise"), "{error}");
    }
}
