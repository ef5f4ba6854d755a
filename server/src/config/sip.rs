//! The configuration of SIP proxies' calls.

mod interfaces;
mod values;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use super::ConfigError;
pub(super) use interfaces::media_interface;
use interfaces::{Interface, InterfaceFile};
pub(crate) use values::{Many, Network, PortRange, Seconds};

/// The default address of rtpengine, where proxies look for it.
const NG: &str = "127.0.0.1:2223";

/// The default address of rtpproxy.
const RTPPROXY: &str = "127.0.0.1:22222";

/// The relay of SIP calls. Only there when the file has a section `sip`. The defaults of all times
/// and limits are rtpengine's.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Sip {
    /// rtpengine's control protocol.
    pub ng: Option<Ng>,
    /// rtpproxy's control protocol.
    pub rtpproxy: Option<Rtpproxy>,
    /// The interfaces for media; this machine's first address when there is none.
    #[serde(skip)]
    pub interfaces: Vec<Interface>,
    /// The file's form of them.
    #[serde(rename = "interfaces")]
    interface_files: Vec<InterfaceFile>,
    /// The networks that may control it; only this machine when there are none.
    pub allow: Vec<Network>,
    /// Networks of loopback and link-local addresses that parties may have. Otherwise only a party
    /// at an interface with such an address may have one.
    pub allow_media: Vec<Network>,
    /// The method of learning addresses from packets, unless a proxy requests another.
    pub learning: Learning,
    /// How long they are learned, from the first packet.
    pub learning_window: Seconds,
    /// How long an answered call may be without any packet.
    pub media_timeout: Seconds,
    /// The same for a call on hold.
    pub silent_timeout: Seconds,
    /// How long a call may wait for its answer.
    pub offer_timeout: Seconds,
    /// How long a deleted call keeps its ports and its statistics.
    pub delete_delay: Seconds,
    /// The most calls.
    pub max_calls: usize,
    /// Whether the source of the SIP message is used instead of the address in the description,
    /// unless a proxy requests otherwise.
    pub sip_source: bool,
    /// Requests of a proxy to ignore with a warning. The offer is refused otherwise.
    pub tolerate: Vec<Feature>,
    /// A folder in which to keep calls over the end of the process; with none they end with it.
    pub state: Option<PathBuf>,
}

/// The addresses for rtpengine's protocol.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Ng {
    /// Over UDP; when nothing else is named either, where rtpengine listens.
    pub listen: Many<SocketAddr>,
    /// Over TCP.
    pub tcp: Many<SocketAddr>,
    /// Over HTTP.
    pub http: Many<SocketAddr>,
}

/// The addresses for rtpproxy's protocol.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Rtpproxy {
    /// Over UDP; when nothing else is named either, where rtpproxy listens.
    pub listen: Many<SocketAddr>,
    /// Over a Unix stream socket at this path.
    pub unix: Option<PathBuf>,
}

/// How addresses are learned from packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Learning {
    /// Not at all.
    Off,
    /// From the first packet, for good.
    Immediate,
    /// For a while; the last one stays.
    Delayed,
    /// For a while; the one most like what was said stays.
    #[default]
    Heuristic,
}

/// Functions that a relay without codecs does not have, by rtpengine's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Feature {
    /// Codecs that were not offered.
    #[serde(rename = "transcode")]
    Transcode,
    /// Packets of another length.
    #[serde(rename = "ptime")]
    Ptime,
    /// Fax as sound, or sound as fax.
    #[serde(rename = "T.38", alias = "T38", alias = "t38")]
    T38,
    /// Tones put into sound.
    #[serde(rename = "inject-DTMF", alias = "inject-dtmf")]
    InjectDtmf,
}

impl Sip {
    /// Completes missing values. `default` is the interface for media when none is named, and has
    /// the addresses of those that name none.
    pub(crate) fn complete(mut self, default: impl Fn() -> Option<Interface>) -> Result<Self, ConfigError> {
        if self.ng.is_none() && self.rtpproxy.is_none() {
            self.ng = Some(Ng::default());
        }
        if let Some(ng) = &mut self.ng
            && [&ng.listen, &ng.tcp, &ng.http].iter().all(|list| list.is_empty())
        {
            ng.listen = Many::One(NG.parse().expect("an address"));
        }
        if let Some(rtpproxy) = &mut self.rtpproxy
            && rtpproxy.listen.is_empty()
            && rtpproxy.unix.is_none()
        {
            rtpproxy.listen = Many::One(RTPPROXY.parse().expect("an address"));
        }
        let open = self.control_addresses().find(|address| !address.ip().is_loopback());
        if let Some(address) = open.filter(|_| self.allow.is_empty()) {
            return Err(ConfigError::SipForEverybody(*address));
        }
        let files = std::mem::take(&mut self.interface_files);
        let named = files.into_iter().map(|file| file.complete(&default));
        self.interfaces = named.collect::<Result<_, _>>()?;
        if self.interfaces.is_empty() {
            self.interfaces = vec![default().ok_or(ConfigError::SipNowhere)?];
        }
        Ok(self)
    }

    /// Whether whoever is at this address may control calls.
    pub(crate) fn allows(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        match self.allow.is_empty() {
            true => address.is_loopback(),
            false => self.allow.iter().any(|network| network.contains(address)),
        }
    }

    /// The addresses at which proxies control calls.
    pub(crate) fn control_addresses(&self) -> impl Iterator<Item = &SocketAddr> {
        let ng = self
            .ng
            .iter()
            .flat_map(|ng| [&ng.listen, &ng.tcp, &ng.http])
            .flat_map(Many::iter);
        let rtpproxy = self.rtpproxy.iter().flat_map(|rtpproxy| rtpproxy.listen.iter());
        ng.chain(rtpproxy)
    }
}

impl Default for Sip {
    fn default() -> Self {
        let seconds = |seconds| Seconds(Duration::from_secs(seconds));
        Sip {
            ng: None,
            rtpproxy: None,
            interfaces: Vec::new(),
            interface_files: Vec::new(),
            allow: Vec::new(),
            allow_media: Vec::new(),
            learning: Learning::default(),
            learning_window: seconds(3),
            media_timeout: seconds(60),
            silent_timeout: seconds(3600),
            offer_timeout: seconds(3600),
            delete_delay: seconds(30),
            max_calls: 20_000,
            sip_source: false,
            tolerate: Vec::new(),
            state: None,
        }
    }
}

impl From<Learning> for sip::Learning {
    fn from(learning: Learning) -> Self {
        match learning {
            Learning::Off => Self::Off,
            Learning::Immediate => Self::Immediate,
            Learning::Delayed => Self::Delayed,
            Learning::Heuristic => Self::Heuristic,
        }
    }
}

impl From<Feature> for sip::Feature {
    fn from(feature: Feature) -> Self {
        match feature {
            Feature::Transcode => Self::Transcode,
            Feature::Ptime => Self::Ptime,
            Feature::T38 => Self::T38,
            Feature::InjectDtmf => Self::InjectDtmf,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sip(text: &str) -> Result<Sip, ConfigError> {
        let sip: Sip = serde_saphyr::from_str(text).unwrap();
        sip.complete(|| Some(Interface::default_at([192, 0, 2, 1].into(), None)))
    }

    #[test]
    fn an_empty_section_has_rtpengines_defaults() {
        let sip = sip("{}").unwrap();
        let listen: Vec<_> = sip.ng.as_ref().unwrap().listen.iter().copied().collect();
        assert_eq!(listen, [NG.parse::<SocketAddr>().unwrap()]);
        assert_eq!(sip.interfaces[0].ports, PortRange(30_000..=40_000));
        assert!(sip.rtpproxy.is_none() && sip.allows([127, 0, 0, 9].into()) && !sip.allows([10, 0, 0, 1].into()));
    }

    #[test]
    fn every_setting_can_be_given() {
        let sip = sip("
ng: {listen: ['127.0.0.1:2223', '10.0.0.1:2223'], tcp: '127.0.0.1:2223', http: '[::1]:2225'}
rtpproxy: {unix: /run/weir/rtpproxy.sock}
allow: [127.0.0.1, 10.0.0.0/8, '2001:db8::/32']
allow_media: [127.0.3.0/24, '::1']
interfaces:
  - {name: lan, address: 10.0.0.1, ports: 20000-20999}
  - {name: wan, address: 10.1.0.1, advertise: 203.0.113.7}
learning: heuristic
media_timeout: 2.5
tolerate: [ptime, transcode, T.38, inject-DTMF]
")
        .unwrap();
        assert_eq!(
            sip.ng.as_ref().map(|ng| (ng.listen.iter().len(), ng.tcp.iter().len())),
            Some((2, 1))
        );
        assert!(sip.rtpproxy.as_ref().unwrap().listen.is_empty());
        let media: Vec<String> = sip
            .allow_media
            .iter()
            .map(|network| format!("{:?}", network.range()))
            .collect();
        assert_eq!(media, ["127.0.3.0..=127.0.3.255", "::1..=::1"]);
        assert_eq!(sip.interfaces[0].ports, PortRange(20_000..=20_999));
        assert_eq!(sip.learning, Learning::Heuristic);
        let tolerated: Vec<sip::Feature> = sip.tolerate.iter().map(|feature| (*feature).into()).collect();
        for feature in sip::Feature::ALL {
            assert!(
                tolerated.contains(&feature),
                "{} is tolerated by this name",
                feature.name()
            );
        }
        assert_eq!(sip.media_timeout, Seconds(Duration::from_millis(2500)));
        for (address, allowed) in [
            ("10.255.0.1", true),
            ("::ffff:10.2.3.4", true),
            ("11.0.0.1", false),
            ("127.0.0.2", false),
            ("2001:db8:1::1", true),
            ("2001:db9::1", false),
        ] {
            assert_eq!(sip.allows(address.parse().unwrap()), allowed, "{address}");
        }
    }

    #[test]
    fn an_interface_without_an_address_is_at_that_of_the_machine() {
        let sip: Sip = serde_saphyr::from_str("interfaces: [{ports: 31000-31099}]").unwrap();
        let own = Interface::default_at([192, 0, 2, 1].into(), Some([203, 0, 113, 7].into()));
        let interfaces = sip.clone().complete(|| Some(own.clone())).unwrap().interfaces;
        let addresses = (interfaces[0].address, interfaces[0].advertise);
        assert_eq!(addresses, (own.address, own.advertise));
        assert_eq!(
            (interfaces.len(), &interfaces[0].ports),
            (1, &PortRange(31_000..=31_099))
        );
        let refused = sip.complete(|| None).unwrap_err();
        assert!(matches!(refused, ConfigError::SipNowhere), "{refused}");
    }

    #[test]
    fn control_from_elsewhere_needs_to_be_allowed() {
        let error = sip("ng: {listen: '10.0.0.1:2223'}").unwrap_err();
        assert!(matches!(error, ConfigError::SipForEverybody(_)), "{error}");
        assert!(sip("{ng: {listen: '10.0.0.1:2223'}, allow: [10.0.0.0/24]}").is_ok());
    }

    #[test]
    fn nonsense_is_an_error() {
        for text in [
            "{interfaces: [{address: 10.0.0.1, ports: '5-1'}]}",
            "{allow: [10.0.0.0/33]}",
            "{allow: [example.org]}",
            "{ng: {lisen: '127.0.0.1:1'}}",
            "{learning: always}",
            "{media_timeuot: 3}",
            "{tolerate: [recording]}",
        ] {
            assert!(serde_saphyr::from_str::<Sip>(text).is_err(), "{text}");
        }
    }
}
