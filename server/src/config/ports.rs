//! The ports of a configuration.

use super::{ConfigError, Rtc, Sip};
use crate::dataplane::TcpPort;

/// The UDP port of media, unless another is named.
pub(super) const MEDIA: u16 = 7882;
/// The TCP port of media beside that one.
const MEDIA_TCP: u16 = 7881;

/// The TCP port of media beside a UDP port: the one that is `named`, with 0 for none. Beside the
/// usual UDP port there is one even if none is named.
pub(super) fn tcp(udp: u16, named: Option<u16>) -> Option<TcpPort> {
    let usual = (udp == MEDIA).then_some(MEDIA_TCP);
    let port = named.or(usual).filter(|port| *port != 0)?;
    Some(TcpPort {
        port,
        is_named: named.is_some(),
    })
}

/// Whether the ports of media are different from others.
///
/// Errors: the TCP port is the UDP port, the HTTP port, or one that relayed calls may get. Of a
/// path's local address, only the port says which of them it is.
pub(super) fn check(http: u16, rtc: &Rtc, sip: Option<&Sip>) -> Result<(), ConfigError> {
    let Some(TcpPort { port, .. }) = rtc.dataplane.tcp else {
        return Ok(());
    };
    let mut ranges = sip
        .iter()
        .flat_map(|sip| &sip.interfaces)
        .map(|interface| &interface.ports.0);
    let conflict = match port {
        _ if port == rtc.port => "`rtc.port`",
        _ if port == http => "`port`",
        _ if ranges.any(|range| range.contains(&port)) => "one of the `ports` of `sip.interfaces`",
        _ => return Ok(()),
    };
    Err(ConfigError::TcpPort(port, conflict))
}

#[cfg(test)]
mod tests {
    use super::super::{Config, File};
    use super::*;
    use crate::cli;

    #[test]
    fn the_usual_port_has_one_for_tcp_beside_it() {
        let port = |udp, named| tcp(udp, named).map(|tcp| (tcp.port, tcp.is_named));
        assert_eq!(port(7882, None), Some((7881, false)));
        assert_eq!(port(7882, Some(7881)), Some((7881, true)));
        assert_eq!(port(7882, Some(0)), None);
        assert_eq!(port(9000, None), None);
        assert_eq!(port(9000, Some(443)), Some((443, true)));
    }

    #[test]
    fn a_tcp_port_is_no_other_port() {
        let check = |text: &str| {
            let file = File::parse("weir.yaml", text).unwrap();
            let rtc = file.rtc.complete(&cli::Serve::default()).unwrap();
            let sip = file.sip.map(|sip| sip.complete(|| None).unwrap());
            check(file.port.unwrap_or(7880), &rtc, sip.as_ref())
        };
        assert!(check("rtc: {}").is_ok());
        let interfaces = "sip: {interfaces: [{address: 192.0.2.1}]}";
        assert!(check(interfaces).is_ok());
        let among_relays = format!("rtc: {{tcp_port: 35000}}\n{interfaces}");
        for (text, other) in [
            ("rtc: {port: 5000, tcp_port: 5000}", "rtc.port"),
            ("port: 7881", "`port`"),
            (among_relays.as_str(), "sip.interfaces"),
        ] {
            let error = check(text).unwrap_err().to_string();
            assert!(error.contains("tcp_port") && error.contains(other), "{error}");
        }
    }

    #[test]
    fn the_command_line_names_ports_first() {
        let arguments = cli::Serve {
            dev: true,
            rtc_port: Some(9000),
            rtc_tcp_port: Some(9001),
            ..cli::Serve::default()
        };
        let config = Config::load(&arguments).unwrap();
        let tcp = config.rtc.dataplane.tcp.map(|tcp| tcp.port);
        assert_eq!((config.rtc.port, tcp), (9000, Some(9001)));
    }
}
