//! The ports of a configuration.

use super::{ConfigError, Rtc, Sip, Tls, Turn};
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

/// Whether the ports of media are different from others. A TCP port that nobody named is left out
/// where it is not; returns a warning of that.
///
/// Errors: the TCP port is a UDP port, the HTTP port, or one that relayed calls may get. Of a
/// path's local address, only the port says which of them it is.
pub(super) fn check(http: u16, rtc: &mut Rtc, sip: Option<&Sip>) -> Result<Option<String>, ConfigError> {
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

/// Whether the ports of HTTPS and of the TURN server are different from others and from each other.
///
/// Errors: two settings name the same.
pub(super) fn check_others(http: u16, rtc: &Rtc, tls: Option<&Tls>, turn: Option<&Turn>) -> Result<(), ConfigError> {
    let media = rtc.dataplane.tcp.as_ref().map(|tcp| tcp.port);
    let tls = ("tls.port", tls.map(|tls| tls.port));
    let turn = ("turn.port", turn.and_then(|turn| turn.port));
    check_different(&[("port", Some(http)), tls, turn])?;
    check_different(&[("rtc.tcp_port", media), tls, turn])?;
    let among_media = turn.1.filter(|port| rtc.dataplane.ports.contains(*port));
    check_different(&[("rtc.port", among_media), turn])
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
    use super::super::{Config, File};
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

    #[test]
    fn a_tcp_port_is_no_other_port() {
        let check = |text: &str| {
            let file = File::parse("weir.yaml", text).unwrap();
            let mut rtc = file.rtc.complete(&cli::Serve::default()).unwrap();
            let sip = file.sip.map(|sip| sip.complete(|| None).unwrap());
            let warning = check(file.port.unwrap_or(7880), &mut rtc, sip.as_ref())?;
            Ok::<_, ConfigError>((rtc.dataplane.tcp.is_some(), warning))
        };
        assert_eq!(check("rtc: {}").unwrap(), (true, None));
        let interfaces = "sip: {interfaces: [{address: 192.0.2.1}]}";
        assert_eq!(check(interfaces).unwrap(), (true, None));
        let (is_open, warning) = check("port: 7881").unwrap();
        assert!(!is_open && warning.is_some_and(|warning| warning.contains("`port`")));
        let among_relays = format!("rtc: {{tcp_port: 35000}}\n{interfaces}");
        for (text, other) in [
            ("rtc: {port: 5000, tcp_port: 5000}", "rtc.port"),
            ("rtc: {port: 5000-5003, tcp_port: 5003}", "rtc.port"),
            ("rtc: {tcp_port: 7880}", "`port`"),
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
        let check = |text: &str| {
            let file = File::parse("weir.yaml", text).unwrap();
            let rtc = file.rtc.complete(&cli::Serve::default()).unwrap();
            let turn = file.turn.map(|turn| turn.complete(None).unwrap());
            check_others(file.port.unwrap_or(7880), &rtc, file.tls.as_ref(), turn.as_ref())
        };
        assert!(check("tls: {port: 443}\nturn: {port: 3478}").is_ok());
        for (text, one, other) in [
            ("port: 443\ntls: {}", "`port`", "`tls.port`"),
            ("rtc: {tcp_port: 443}\ntls: {}", "`rtc.tcp_port`", "`tls.port`"),
            ("turn: {port: 443}\ntls: {}", "`tls.port`", "`turn.port`"),
            ("turn: {port: 7880}", "`port`", "`turn.port`"),
            ("turn: {port: 7882}", "`rtc.port`", "`turn.port`"),
            (
                "rtc: {port: 3476-3479}\nturn: {port: 3478}",
                "`rtc.port`",
                "`turn.port`",
            ),
        ] {
            let error = check(text).unwrap_err().to_string();
            assert!(error.contains(one) && error.contains(other), "{error}");
        }
    }
}
