//! Codecs that some devices handle badly, so that they are not asked for them.
//!
//! Source: LiveKit's static rules (`pkg/clientconfiguration/conf.go`).

use livekit_protocol::{ClientInfo, Codec as Named, DisabledCodecs};
use wire::Codec;

/// The codecs a client must do without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Disabled {
    /// It neither publishes nor receives these.
    everywhere: &'static [Codec],
    /// It does not publish these.
    publishing: &'static [Codec],
}

impl Disabled {
    /// The codecs that a client's device and browser handle badly.
    pub(crate) fn of(client: &ClientInfo) -> Self {
        let [browser, os, model] = [&client.browser, &client.os, &client.device_model].map(|text| text.to_lowercase());
        let is_firefox = matches!(browser.as_str(), "firefox" | "firefox mobile");
        let encodes_in_hardware_badly = model == "xiaomi 2201117ti" && os == "android";
        if encodes_in_hardware_badly || (is_firefox && matches!(os.as_str(), "linux" | "android")) {
            return Self {
                everywhere: &[],
                publishing: &[Codec::H264],
            };
        }
        if browser != "safari" {
            return Self::default();
        }
        Self {
            everywhere: &[Codec::Av1],
            publishing: match is_newer(&client.browser_version, "18.3") {
                true => &[Codec::Vp9],
                false => &[],
            },
        }
    }

    pub(crate) fn may_publish(&self, codec: Codec) -> bool {
        self.may_receive(codec) && !self.publishing.contains(&codec)
    }

    pub(crate) fn may_receive(&self, codec: Codec) -> bool {
        !self.everywhere.contains(&codec)
    }

    /// As clients are told; `None` where nothing is disabled.
    pub(crate) fn to_proto(self) -> Option<DisabledCodecs> {
        let named = |codecs: &[Codec]| {
            let codecs = codecs.iter().map(|codec| Named {
                mime: format!("{}/{codec}", codec.kind()),
                fmtp_line: String::new(),
            });
            codecs.collect()
        };
        (self != Self::default()).then(|| DisabledCodecs {
            codecs: named(self.everywhere),
            publish: named(self.publishing),
        })
    }
}

/// Whether a version is beyond another: by its numbers, or as text where it has anything but one to three numbers.
fn is_newer(version: &str, than: &str) -> bool {
    match (numbers(version), numbers(than)) {
        (Some(version), Some(than)) => version > than,
        _ => version > than,
    }
}

fn numbers(version: &str) -> Option<[u32; 3]> {
    let mut found = [0; 3];
    let parts: Vec<&str> = version.split('.').collect();
    if parts.len() > found.len() {
        return None;
    }
    for (place, part) in found.iter_mut().zip(parts) {
        let is_plain = part.bytes().all(|byte| byte.is_ascii_digit()) && (part == "0" || !part.starts_with('0'));
        *place = part.parse().ok().filter(|_| is_plain)?;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disabled(browser: &str, version: &str, os: &str, model: &str) -> Disabled {
        Disabled::of(&ClientInfo {
            browser: browser.to_owned(),
            browser_version: version.to_owned(),
            os: os.to_owned(),
            device_model: model.to_owned(),
            ..ClientInfo::default()
        })
    }

    #[test]
    fn the_rules_are_livekits() {
        let none = Disabled::default();
        let safari = |publishing| Disabled {
            everywhere: &[Codec::Av1],
            publishing,
        };
        let without_h264 = Disabled {
            everywhere: &[],
            publishing: &[Codec::H264],
        };
        for (browser, version, os, model, expected) in [
            ("Safari", "18.3", "Mac OS X", "Mac", safari(&[])),
            ("safari", "9.1.3", "", "", safari(&[])),
            ("safari", "18.3.1", "", "", safari(&[Codec::Vp9])),
            ("safari", "18.10", "", "", safari(&[Codec::Vp9])),
            ("safari", "26.0", "", "", safari(&[Codec::Vp9])),
            ("safari", "", "", "", safari(&[])),
            ("Mobile Safari", "18.5", "iOS", "iPhone", none),
            ("Firefox", "140.0", "Linux", "", without_h264),
            ("Firefox Mobile", "140.0", "Android", "", without_h264),
            ("Firefox", "140.0", "Windows", "", none),
            ("Firefox", "140.0", "Mac OS X", "", none),
            ("Chrome", "140.0", "Linux", "", none),
            ("", "", "android", "Xiaomi 2201117TI", without_h264),
            ("", "", "ios", "xiaomi 2201117ti", none),
            ("", "", "", "", none),
        ] {
            assert_eq!(
                disabled(browser, version, os, model),
                expected,
                "{browser} {version} on {os}"
            );
        }
    }

    #[test]
    fn clients_are_told_by_the_names_of_the_protocol() {
        let told = disabled("safari", "18.4", "", "").to_proto().expect("two codecs");
        let names = |codecs: &[Named]| codecs.iter().map(|codec| codec.mime.clone()).collect::<Vec<_>>();
        assert_eq!(
            (names(&told.codecs), names(&told.publish)),
            (vec!["video/AV1".into()], vec!["video/VP9".into()])
        );
        assert_eq!(disabled("chrome", "140", "", "").to_proto(), None);
    }
}
