//! One key or flag at a time.

use std::net::IpAddr;
use std::time::Duration;

use wire::sdp::HashFunction;

use super::table::{Fate, fate};
use super::{Flags, text, transport};
use crate::call::{Dtls, Ice, Protocol};
use crate::config::{Feature, Learning};
use crate::ng::value::{Dictionary, Value};

/// Keys that are also sent as a flag with the value after a dash, as `ICE-remove`.
const PREFIXES: &[&str] = &[
    "replace",
    "ice",
    "sdes",
    "dtls-reverse",
    "dtls-fingerprint",
    "dtls",
    "rtcp-mux",
    "endpoint-learning",
    "transport-protocol",
    "codec-strip",
    "codec-except",
    "codec-offer",
    "codec-mask",
    "codec-transcode",
    "codec-consume",
    "address-family",
    "from-interface",
    "to-interface",
    "direction",
    "osrtp",
    "bundle",
    "t.38",
    "t38",
];

/// Keys that the commands themselves read.
const READ_ELSEWHERE: &[&str] = &["command", "sdp", "call-id", "from-tag", "to-tag", "via-branch", "limit"];

impl Flags {
    /// The flags of a request.
    pub(crate) fn of(request: &Dictionary) -> Self {
        let mut flags = Self::default();
        for (name, value) in request.iter() {
            let name = plain(&String::from_utf8_lossy(name));
            // As a key, `to-tag` names the tag; as a flag, it asks the relay to heed the tag.
            if !READ_ELSEWHERE.contains(&name.as_str()) {
                flags.set(&name, value);
            }
        }
        for (name, direction) in flags.terms.interfaces.iter_mut().zip(&flags.direction) {
            name.get_or_insert_with(|| direction.clone());
        }
        flags
    }

    /// One key with its value, or a flag with none. The name is in small letters with dashes.
    pub(super) fn set(&mut self, name: &str, value: &Value) {
        match name {
            "flags" => self.flags(value),
            "rtpp-flags" => self.text_flags(value),
            "direction" => self.direction.extend(value.texts().into_iter().map(lossy)),
            "address-family" => self.set_family(&lossy_value(value)),
            "media-address" => {
                self.terms.media_address = address(value);
                self.unless_read(self.terms.media_address.is_some(), name, value);
            }
            "from-interface" => self.terms.interfaces[0] = Some(lossy_value(value)),
            "to-interface" => self.terms.interfaces[1] = Some(lossy_value(value)),
            "received-from" => {
                self.terms.received_from = value.texts().last().and_then(|text| lossy(text).parse().ok())
            }
            "transport-protocol" => self.set_protocol(&lossy_value(value)),
            "codec" => self.codec(value),
            "delete-delay" => {
                self.delete_delay = value
                    .integer()
                    .and_then(|it| u64::try_from(it).ok())
                    .map(Duration::from_secs);
                self.unless_read(self.delete_delay.is_some(), name, value);
            }
            "tos" => {
                self.terms.tos = value.integer().and_then(|tos| u8::try_from(tos).ok());
                self.unless_read(self.terms.tos.is_some(), name, value);
            }
            "label" | "from-label" | "set-label" => self.terms.label = value.text().map(<[u8]>::to_vec),
            "metadata" => self.terms.metadata = value.text().map(<[u8]>::to_vec),
            "supports" => self.supports_load_limit = value.texts().contains(&&b"load limit"[..]),
            "replace" | "ice" | "ice-lite" | "sdes" | "dtls" | "dtls-reverse" | "dtls-fingerprint" | "rtcp-mux"
            | "endpoint-learning" | "osrtp" | "t38" | "t.38" => {
                value
                    .texts()
                    .into_iter()
                    .for_each(|text| self.choice(name, &lossy(text)));
            }
            "ptime" | "ptime-reverse" | "reverse-ptime" => {
                if !is_off(value) {
                    self.feature(Feature::Ptime);
                    let wanted = match name {
                        "ptime" => &mut self.terms.ptime,
                        _ => &mut self.ptime_reverse,
                    };
                    *wanted = value.integer().and_then(|it| u64::try_from(it).ok());
                }
            }
            _ if is_off(value) && fate(name) == Some(Fate::Ignored) => {}
            "drop-traffic" if value.text() == Some(b"stop") => {}
            _ => self.flag(name),
        }
    }

    fn flags(&mut self, value: &Value) {
        for flag in value.texts() {
            let flag = lossy(flag);
            match flag.split_once('=') {
                Some((name, value)) => self.set(&plain(name), &Value::from(value)),
                None => self.named(&flag),
            }
        }
    }

    fn text_flags(&mut self, value: &Value) {
        let mut transport = transport::Words::default();
        for (name, value) in text::read(&lossy_value(value)) {
            match value.text() {
                Some(b"") if transport.take(&name) => {}
                Some(b"") if name == "internal" || name == "external" => self.direction.push(name),
                Some(b"") => self.named(&name),
                _ => self.set(&plain(&name), &value),
            }
        }
        if let Some(protocol) = transport.protocol() {
            self.set_protocol(protocol);
        }
    }

    /// A flag, alone or with a key as prefix. The text after the key keeps its case, which matters
    /// for suites and codecs.
    fn named(&mut self, flag: &str) {
        let name = plain(flag);
        let found = PREFIXES
            .iter()
            .find(|prefix| name.strip_prefix(**prefix).is_some_and(|rest| rest.starts_with('-')));
        match found {
            _ if PREFIXES.contains(&name.as_str()) => self.flag(&name),
            _ if fate(&name).is_some_and(|fate| matches!(fate, Fate::Ignored | Fate::NoDifference)) => self.flag(&name),
            Some(prefix) if flag.is_char_boundary(prefix.len() + 1) => {
                let value = &flag[prefix.len() + 1..];
                match *prefix {
                    "codec-strip" => self.terms.codecs.strip.push(value.to_owned()),
                    "codec-except" => self.terms.codecs.except.push(value.to_owned()),
                    "codec-offer" => self.terms.codecs.offer.push(value.to_owned()),
                    "codec-mask" => self.terms.codecs.mask.push(value.to_owned()),
                    "codec-transcode" => self.transcode(value.to_owned()),
                    "codec-consume" => self.consume(value.to_owned()),
                    prefix => self.set(prefix, &Value::from(value)),
                }
            }
            _ => self.flag(&name),
        }
    }

    fn flag(&mut self, name: &str) {
        match name {
            "trust-address" => self.terms.trust_address = Some(true),
            "sip-source-address" => self.terms.trust_address = Some(false),
            "asymmetric" => self.terms.sources.asymmetric = true,
            "strict-source" => self.terms.sources.strict = true,
            "media-handover" => self.terms.sources.handover = true,
            "reset" => self.terms.reset = true,
            "full-rtcp-attribute" => self.terms.attributes.rtcp_in_full = true,
            "no-rtcp-attribute" => self.terms.attributes.no_rtcp = true,
            "original-sendrecv" => self.terms.attributes.original_direction = true,
            "generate-mid" => self.terms.attributes.mid = true,
            "loop-protect" => self.terms.loop_protect = true,
            "fragment" => self.fragment = true,
            "recrypt" => self.terms.keying.recrypt = true,
            "pad-crypto" => self.terms.keying.sdes.padded = true,
            "fatal" => self.fatal = true,
            "fast" => self.fast = true,
            "to-tag" => self.to_tag = true,
            "webrtc" => self.webrtc(),
            "ice-reject" | "reject-ice" => self.terms.ice_reject = true,
            "single-codec" => self.terms.single_codec = true,
            "ptime" | "ptime-reverse" | "reverse-ptime" => self.feature(Feature::Ptime),
            "force-transcoding" | "codec-transcode" | "codec-consume" => self.feature(Feature::Transcode),
            "inject-dtmf" => self.feature(Feature::InjectDtmf),
            _ => match fate(name).or(fate(beginning(name))) {
                Some(Fate::NoDifference | Fate::Done) => {}
                Some(Fate::Ignored | Fate::Refused) => self.undone.ignored.push(name),
                None => self.undone.unknown.push(name),
            },
        }
    }

    fn feature(&mut self, feature: Feature) {
        if !self.undone.features.contains(&feature) {
            self.undone.features.push(feature);
        }
    }

    fn transcode(&mut self, codec: String) {
        self.feature(Feature::Transcode);
        self.terms.codecs.transcode.push(codec);
    }

    fn consume(&mut self, codec: String) {
        self.feature(Feature::Transcode);
        self.terms.codecs.consume.push(codec);
    }

    fn set_family(&mut self, name: &str) {
        match name.to_ascii_uppercase().as_str() {
            "IP4" => self.terms.v6 = Some(false),
            "IP6" => self.terms.v6 = Some(true),
            // Some scripts leave it empty where they have no preference.
            "" => {}
            _ => self.undone.unknown.push(&format!("address-family={name}")),
        }
    }

    /// Names a value that cannot be used.
    fn unless_read(&mut self, is_read: bool, name: &str, value: &Value) {
        let said = value
            .integer()
            .map_or_else(|| lossy_value(value), |number| number.to_string());
        if !is_read && !said.is_empty() {
            self.undone.unknown.push(&format!("{name}={said}"));
        }
    }

    /// The flags that a browser needs.
    fn webrtc(&mut self) {
        self.terms.protocol = Some(Protocol::Exactly("UDP/TLS/RTP/SAVPF".to_owned()));
        self.terms.ice = Ice::Force;
        self.terms.mux.offer = true;
        self.terms.mux.require = true;
        self.terms.attributes.no_rtcp = true;
        self.terms.keying.sdes.off = true;
        self.terms.attributes.mid = true;
    }

    fn set_protocol(&mut self, name: &str) {
        match name.to_ascii_uppercase().as_str() {
            "ACCEPT" => self.terms.protocol = Some(Protocol::Accept),
            "RTP/AVP" | "RTP/AVPF" | "RTP/SAVP" | "RTP/SAVPF" | "UDP/TLS/RTP/SAVP" | "UDP/TLS/RTP/SAVPF" => {
                self.terms.protocol = Some(Protocol::Exactly(name.to_ascii_uppercase()));
            }
            _ => self.undone.unknown.push(&format!("transport-protocol={name}")),
        }
    }

    /// One word of a key that takes several.
    fn choice(&mut self, name: &str, value: &str) {
        let word = plain(value);
        match (name, word.as_str()) {
            ("replace", "origin") => self.terms.replace.origin = true,
            ("replace", "origin-full") => self.terms.replace.origin_full = true,
            ("replace", "sdp-version") => self.terms.replace.version = true,
            ("replace", "force-increment-sdp-ver") => self.terms.replace.version_always = true,
            ("replace", "username") => self.terms.replace.username = true,
            ("replace", "session-name") => self.terms.replace.session_name = true,
            ("replace", "zero-address") => self.terms.replace.zero_address = true,
            // The address of the session is replaced in any case: otherwise nothing would be
            // relayed.
            ("replace", "session-connection") => {}
            ("ice", "remove") => self.terms.ice = Ice::Remove,
            ("ice", "force") => self.terms.ice = Ice::Force,
            ("ice", "optional") => self.terms.ice = Ice::Optional,
            ("ice", "default") => self.terms.ice = Ice::Default,
            ("ice", "reject") => self.terms.ice_reject = true,
            ("ice", "force-relay") => self.terms.ice = Ice::ForceRelay,
            // We are lite towards everybody, and send all our candidates at once.
            ("ice", "trickle" | "ice2" | "lite-both" | "lite-forward" | "lite-backward") => {}
            ("ice-lite", "off" | "no" | "none") => self.undone.ignored.push("ICE-lite=off"),
            ("ice-lite", _) => {}
            ("t38" | "t.38", "decode" | "force") => self.feature(Feature::T38),
            ("t38" | "t.38", _) => {}
            ("rtcp-mux", "offer") => self.terms.mux.offer = true,
            ("rtcp-mux", "require") => self.terms.mux.require = true,
            ("rtcp-mux", "demux") => self.terms.mux.demux = true,
            ("rtcp-mux", "accept") => self.terms.mux.accept = true,
            ("rtcp-mux", "reject") => self.terms.mux.reject = true,
            ("dtls", "passive") => self.terms.keying.dtls = Dtls::Passive,
            ("dtls", "active") => self.terms.keying.dtls = Dtls::Active,
            ("dtls", "off" | "no" | "disable" | "disabled") => self.terms.keying.dtls = Dtls::Off,
            ("dtls-reverse", "passive") => self.terms.keying.dtls_reverse = Some(Dtls::Passive),
            ("dtls-reverse", "active") => self.terms.keying.dtls_reverse = Some(Dtls::Active),
            ("dtls-fingerprint", _) if hash_function(&word).is_some() => {
                self.terms.keying.fingerprint = hash_function(&word)
            }
            ("endpoint-learning", "off") => self.terms.sources.learning = Some(Learning::Off),
            ("endpoint-learning", "immediate") => self.terms.sources.learning = Some(Learning::Immediate),
            ("endpoint-learning", "delayed") => self.terms.sources.learning = Some(Learning::Delayed),
            ("endpoint-learning", "heuristic") => self.terms.sources.learning = Some(Learning::Heuristic),
            ("sdes", _) => self.choice_of_sdes(value, &word),
            ("osrtp", _) => self.choice_of_osrtp(&word),
            _ => self.undone.unknown.push(&format!("{name}={value}")),
        }
    }

    fn codec(&mut self, value: &Value) {
        let Value::Dictionary(codec) = value else {
            self.undone.unknown.push("codec");
            return;
        };
        for (name, value) in codec.iter() {
            let codecs = value.texts().into_iter().map(lossy);
            match name {
                b"strip" => self.terms.codecs.strip.extend(codecs),
                b"mask" => self.terms.codecs.mask.extend(codecs),
                b"except" => self.terms.codecs.except.extend(codecs),
                b"offer" => self.terms.codecs.offer.extend(codecs),
                b"transcode" => codecs.for_each(|codec| self.transcode(codec)),
                b"consume" => codecs.for_each(|codec| self.consume(codec)),
                _ => self.flag(&plain(&format!("codec-{}", lossy(name)))),
            }
        }
    }
}

/// Whether a value switches the feature off.
fn is_off(value: &Value) -> bool {
    const OFF: &[&[u8]] = &[
        b"off",
        b"no",
        b"none",
        b"disable",
        b"disabled",
        b"0",
        b"default",
        b"false",
    ];
    value.integer() == Some(0) || value.text().is_some_and(|text| OFF.contains(&text))
}

fn hash_function(name: &str) -> Option<HashFunction> {
    let mut known = HashFunction::ALL.into_iter();
    known.find(|hash| hash.name() == name || hash.name().replace('-', "") == name)
}

/// The name of a flag with a value after it, as `codec-accept` of `codec-accept-all`.
fn beginning(name: &str) -> &str {
    const WITH_VALUES: &[&str] = &[
        "codec-accept",
        "codec-ignore",
        "codec-set",
        "sdp-attr",
        "from-tags",
        "extmap",
        "bundle",
    ];
    let fits = |known: &&&str| name.strip_prefix(**known).is_some_and(|rest| rest.starts_with('-'));
    WITH_VALUES.iter().find(fits).copied().unwrap_or(name)
}

/// A name in small letters with dashes.
fn plain(name: &str) -> String {
    let dash = |letter: char| {
        if matches!(letter, ' ' | '_') {
            '-'
        } else {
            letter.to_ascii_lowercase()
        }
    };
    name.trim().chars().map(dash).collect()
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

fn lossy_value(value: &Value) -> String {
    value.texts().first().map(|text| lossy(text)).unwrap_or_default()
}

fn address(value: &Value) -> Option<IpAddr> {
    lossy_value(value).trim_matches(['[', ']']).parse().ok()
}
