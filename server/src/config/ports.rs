//! The ports of a configuration.

use std::net::{IpAddr, SocketAddr};

use super::{Config, ConfigError, Rtc, Sip, Tls, Turn};
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

/// Whether all these ports are different. A TCP port of media that nobody named is left out where
/// it is not; returns a warning of that.
///
/// Errors: two settings name the same. Of a path's local address, only the port says whether it is
/// the TCP port of media.
pub(super) fn check(
    bind: &[IpAddr],
    http: u16,
    rtc: &mut Rtc,
    sip: Option<&Sip>,
    tls: Option<&Tls>,
    turn: Option<&Turn>,
) -> Result<Option<String>, ConfigError> {
    let tls = tls.map(|tls| tls.port);
    let turn = turn.and_then(|turn| turn.port);
    let media = turn.filter(|port| rtc.dataplane.ports.contains(*port));
    check_different(&[("port", Some(http)), ("tls.port", tls), ("turn.port", turn)])?;
    check_different(&[("rtc.port", media), ("turn.port", turn)])?;
    if let Some(port) = sip.and_then(|sip| relayed(bind, rtc, sip)) {
        return Err(ConfigError::SamePort(port, ["rtc.port", "sip.interfaces.ports"]));
    }
    let Some(TcpPort { port, is_named }) = rtc.dataplane.tcp else {
        return Ok(None);
    };
    let mut ranges = sip
        .iter()
        .flat_map(|sip| &sip.interfaces)
        .map(|interface| &interface.ports.0);
    let conflict = match port {
        _ if rtc.dataplane.ports.contains(port) => "`rtc.port`",
        _ if port == http => "`port`",
        _ if Some(port) == tls => "`tls.port`",
        _ if Some(port) == turn => "`turn.port`",
        _ if ranges.any(|range| range.contains(&port)) => "one of the `ports` of `sip.interfaces`",
        _ => return Ok(None),
    };
    if is_named {
        return Err(ConfigError::TcpPort(port, conflict));
    }
    rtc.dataplane.tcp = None;
    Ok(Some(format!(
        "no media over TCP: its usual port {port} is {conflict}; name another in rtc.tcp_port"
    )))
}

/// A UDP port of media that is also one to give out for relayed calls at the same address.
fn relayed(bind: &[IpAddr], rtc: &Rtc, sip: &Sip) -> Option<u16> {
    let is_bound = |address: IpAddr| bind.iter().any(|bound| bound.is_unspecified() || *bound == address);
    let relays = sip.interfaces.iter().filter(|interface| is_bound(interface.address));
    let mut ports = rtc.dataplane.ports.range();
    let ranges: Vec<_> = relays.map(|interface| &interface.ports.0).collect();
    ports.find(|port| ranges.iter().any(|range| range.contains(port)))
}

/// The sockets that clients reach this program at, but for those of proxies and of calls.
pub(crate) fn services(config: &Config) -> Vec<SocketAddr> {
    let dataplane = &config.rtc.dataplane;
    let ports: Vec<u16> = dataplane
        .ports
        .range()
        .chain(dataplane.tcp.as_ref().map(|tcp| tcp.port))
        .chain([config.port])
        .chain(config.tls.as_ref().map(|tls| tls.port))
        .chain(config.turn.as_ref().and_then(|turn| turn.port))
        .collect();
    let bound = config.bind.iter();
    bound
        .flat_map(|address| ports.iter().map(|port| SocketAddr::new(*address, *port)))
        .collect()
}

fn check_different(named: &[(&'static str, Option<u16>)]) -> Result<(), ConfigError> {
    for (nth, (second, port)) in named.iter().enumerate() {
        // 0 is any port that is free.
        let Some(port) = port.filter(|port| *port != 0) else {
            continue;
        };
        if let Some((first, _)) = named[..nth].iter().find(|(_, other)| *other == Some(port)) {
            return Err(ConfigError::SamePort(port, [*first, *second]));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::super::{File, first_of};
    use super::*;
    use crate::cli;
    use crate::dataplane::MediaPorts;

    #[test]
    fn the_usual_port_has_one_for_tcp_beside_it() {
        let port = |udp, named| tcp(udp, named).map(|tcp| (tcp.port, tcp.is_named));
        assert_eq!(port(7882, None), Some((7881, false)));
        assert_eq!(port(7882, Some(7881)), Some((7881, true)));
        assert_eq!(port(7882, Some(0)), None);
        assert_eq!(port(9000, None), None);
        assert_eq!(port(9000, Some(443)), Some((443, true)));
    }

    /// Whether there is a TCP port of media then, and the warning.
    fn checked(text: &str) -> Result<(bool, Option<String>), ConfigError> {
        let file = File::parse(text).whole("weir.yaml").unwrap();
        let mut rtc = file.rtc.complete(&cli::Serve::default()).unwrap();
        let sip = file.sip.map(|sip| sip.complete(|| None).unwrap());
        let turn = file.turn.map(|turn| turn.complete(None).unwrap());
        let bind = first_of([file.bind, vec![Ipv4Addr::UNSPECIFIED.into()]]).unwrap();
        let port = file.port.unwrap_or(7880);
        let warning = check(&bind, port, &mut rtc, sip.as_ref(), file.tls.as_ref(), turn.as_ref())?;
        Ok((rtc.dataplane.tcp.is_some(), warning))
    }

    #[test]
    fn a_tcp_port_is_no_other_port() {
        assert_eq!(checked("rtc: {}").unwrap(), (true, None));
        let interfaces = "sip: {interfaces: [{address: 192.0.2.1}]}";
        assert_eq!(checked(interfaces).unwrap(), (true, None));
        let among_relays = format!("rtc: {{tcp_port: 35000}}\n{interfaces}");
        for (text, other) in [
            ("rtc: {port: 5000, tcp_port: 5000}", "`rtc.port`"),
            ("rtc: {port: 5000-5003, tcp_port: 5003}", "`rtc.port`"),
            ("rtc: {tcp_port: 7880}", "`port`"),
            ("rtc: {tcp_port: 443}\ntls: {}", "`tls.port`"),
            ("rtc: {tcp_port: 3478}\nturn: {port: 3478}", "`turn.port`"),
            (among_relays.as_str(), "sip.interfaces"),
        ] {
            let error = checked(text).unwrap_err().to_string();
            assert!(error.contains("tcp_port") && error.contains(other), "{error}");
        }
    }

    #[test]
    fn ports_of_media_are_not_given_out_for_relays() {
        let sip = "sip: {interfaces: [{address: 192.0.2.1, ports: 30000-40000}]}";
        for good in ["rtc: {port: 29999}", "bind: [192.0.2.2]\nrtc: {port: 30000}"] {
            assert!(checked(&format!("{good}\n{sip}")).is_ok(), "{good}");
        }
        for bad in ["rtc: {port: 29990-30000}", "bind: [192.0.2.1]\nrtc: {port: 30000}"] {
            let error = checked(&format!("{bad}\n{sip}")).unwrap_err().to_string();
            let names = ["30000", "`rtc.port`", "`sip.interfaces.ports`"];
            assert!(names.iter().all(|name| error.contains(name)), "{error}");
        }
    }

    #[test]
    fn a_tcp_port_that_nobody_named_makes_way() {
        for (text, other) in [
            ("port: 7881", "`port`"),
            ("tls: {port: 7881}", "`tls.port`"),
            ("turn: {port: 7881}", "`turn.port`"),
        ] {
            let (is_open, warning) = checked(text).unwrap();
            assert!(!is_open && warning.is_some_and(|warning| warning.contains(other)));
        }
    }

    #[test]
    fn the_command_line_names_ports_first() {
        let arguments = cli::Serve {
            dev: true,
            rtc_port: Some(MediaPorts::one(9000)),
            rtc_tcp_port: Some(9001),
            ..cli::Serve::default()
        };
        let config = Config::load(&arguments).unwrap();
        let dataplane = config.rtc.dataplane;
        let tcp = dataplane.tcp.map(|tcp| tcp.port);
        assert_eq!((dataplane.ports, tcp), (MediaPorts::one(9000), Some(9001)));
    }

    #[test]
    fn https_and_turn_have_ports_of_their_own() {
        assert!(checked("tls: {port: 443}\nturn: {port: 3478}").is_ok());
        for (text, one, other) in [
            ("port: 443\ntls: {}", "`port`", "`tls.port`"),
            ("turn: {port: 443}\ntls: {}", "`tls.port`", "`turn.port`"),
            ("turn: {port: 7880}", "`port`", "`turn.port`"),
            ("turn: {port: 7882}", "`rtc.port`", "`turn.port`"),
            (
                "rtc: {port: 3476-3479}\nturn: {port: 3478}",
                "`rtc.port`",
                "`turn.port`",
            ),
        ] {
            let error = checked(text).unwrap_err().to_string();
            assert!(error.contains(one) && error.contains(other), "{error}");
        }
    }
}
