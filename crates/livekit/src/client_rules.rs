//! Codecs that some devices handle badly, so that they are not asked for them.
//!
//! Source: LiveKit's static rules (`pkg/clientconfiguration/conf.go`).

use controller::{CodecSet, DisabledCodecs, MIME_TYPES};
use livekit_protocol::{ClientInfo, Codec as Named, DisabledCodecs as DisabledCodecsMessage};
use wire::Codec;

/// The codecs that a client's device and browser handle badly.
pub(crate) fn disabled_codecs(client: &ClientInfo) -> DisabledCodecs {
    let [browser, os, model] = [&client.browser, &client.os, &client.device_model].map(|text| text.to_lowercase());
    let is_firefox = matches!(browser.as_str(), "firefox" | "firefox mobile");
    let encodes_in_hardware_badly = model == "xiaomi 2201117ti" && os == "android";
    if encodes_in_hardware_badly || (is_firefox && matches!(os.as_str(), "linux" | "android")) {
        return DisabledCodecs {
            everywhere: CodecSet::default(),
            publishing: CodecSet::of(&[Codec::H264]),
        };
    }
    if browser != "safari" {
        return DisabledCodecs::default();
    }
    DisabledCodecs {
        everywhere: CodecSet::of(&[Codec::Av1]),
        publishing: match is_newer(&client.browser_version, "18.3") {
            true => CodecSet::of(&[Codec::Vp9]),
            false => CodecSet::default(),
        },
    }
}

/// Disabled codecs as clients are told of them; `None` where nothing is disabled.
pub(crate) fn told(disabled: DisabledCodecs) -> Option<DisabledCodecsMessage> {
    let named = |codecs: CodecSet| {
        let codecs = MIME_TYPES.iter().filter(|(_, codec)| codecs.contains(*codec));
        codecs.map(|(mime, _)| named(mime)).collect()
    };
    (disabled != DisabledCodecs::default()).then(|| DisabledCodecsMessage {
        codecs: named(disabled.everywhere),
        publish: named(disabled.publishing),
    })
}

/// The codecs of a client that may publish all but the disabled ones.
pub(crate) fn enabled_codecs(disabled: DisabledCodecs) -> Vec<Named> {
    let enabled = MIME_TYPES.iter().filter(|(_, codec)| disabled.may_publish(*codec));
    // Retransmissions are a codec of their own in the list.
    enabled.map(|(mime, _)| *mime).chain(["video/rtx"]).map(named).collect()
}

fn named(mime: &str) -> Named {
    Named {
        mime: mime.to_owned(),
        fmtp_line: String::new(),
    }
}

/// Whether a version is beyond another: by its numbers, or as text where it has anything but one to
/// three numbers.
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

    fn disabled(browser: &str, version: &str, os: &str, model: &str) -> DisabledCodecs {
        disabled_codecs(&ClientInfo {
            browser: browser.to_owned(),
            browser_version: version.to_owned(),
            os: os.to_owned(),
            device_model: model.to_owned(),
            ..ClientInfo::default()
        })
    }

    #[test]
    fn the_rules_are_livekits() {
        let none = DisabledCodecs::default();
        let safari = |publishing: &[Codec]| DisabledCodecs {
            everywhere: CodecSet::of(&[Codec::Av1]),
            publishing: CodecSet::of(publishing),
        };
        let without_h264 = DisabledCodecs {
            everywhere: CodecSet::default(),
            publishing: CodecSet::of(&[Codec::H264]),
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
        let told_of = |browser, version| told(disabled(browser, version, "", ""));
        let told = told_of("safari", "18.4").expect("two codecs");
        let names = |codecs: &[Named]| codecs.iter().map(|codec| codec.mime.clone()).collect::<Vec<_>>();
        assert_eq!(
            (names(&told.codecs), names(&told.publish)),
            (vec!["video/AV1".into()], vec!["video/VP9".into()])
        );
        assert_eq!(told_of("chrome", "140"), None);
    }
}
