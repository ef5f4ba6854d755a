//! Browser and operating system behind a `User-Agent`, by the names that LiveKit's rules use.

use livekit_protocol::ClientInfo;
use livekit_protocol::client_info::Sdk;

/// Browsers by the mark that only they have among those that come later, and where their version
/// stands.
const BROWSERS: [(&str, &str, &str); 13] = [
    ("FxiOS/", "FxiOS/", "firefox ios"),
    ("CriOS/", "CriOS/", "chrome mobile ios"),
    ("EdgiOS/", "EdgiOS/", "edge mobile"),
    ("EdgA/", "EdgA/", "edge mobile"),
    ("Edg/", "Edg/", "edge"),
    ("OPR/", "OPR/", "opera"),
    ("SamsungBrowser/", "SamsungBrowser/", "samsung internet"),
    ("Mobile; rv:", "Firefox/", "firefox mobile"),
    ("Firefox/", "Firefox/", "firefox"),
    ("Chrome/", "Chrome/", "chrome"),
    ("iPhone", "Version/", "mobile safari"),
    ("iPad", "Version/", "mobile safari"),
    ("Safari/", "Version/", "safari"),
];

/// Systems by their mark. Android calls itself Linux as well, and phones of Apple say that they are
/// like a Mac.
const SYSTEMS: [(&str, &str); 8] = [
    ("Windows", "windows"),
    ("Android", "android"),
    ("iPhone", "ios"),
    ("iPad", "ios"),
    ("Mac OS X", "mac os x"),
    ("CrOS", "chrome os"),
    ("Linux", "linux"),
    ("X11", "linux"),
];

/// Completes a client's word of itself by its `User-Agent`, for the SDKs that run in browsers.
pub(crate) fn augment(client: &mut ClientInfo, user_agent: &str) {
    let sdks = [Sdk::Unknown, Sdk::Js, Sdk::ReactNative, Sdk::Flutter, Sdk::Unity];
    if !sdks.contains(&client.sdk()) {
        return;
    }
    if client.browser.is_empty() {
        let found = BROWSERS.iter().find(|(mark, ..)| user_agent.contains(mark));
        if let Some((_, before, name)) = found {
            client.browser = (*name).to_owned();
            client.browser_version = version(user_agent, before).to_owned();
        }
    }
    if client.os.is_empty() {
        let found = SYSTEMS.iter().find(|(mark, _)| user_agent.contains(mark));
        client.os = found.map_or("", |(_, name)| name).to_owned();
    }
}

/// The numbers that follow a mark.
fn version<'a>(user_agent: &'a str, before: &str) -> &'a str {
    let rest = user_agent.split_once(before).map_or("", |(_, rest)| rest);
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
    &rest[..end.unwrap_or(rest.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(user_agent: &str) -> (String, String, String) {
        let mut client = ClientInfo::default();
        augment(&mut client, user_agent);
        (client.browser, client.browser_version, client.os)
    }

    #[test]
    fn browsers_and_systems_are_told_by_the_user_agent() {
        for (user_agent, browser, version, os) in [
            (
                "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
                "firefox",
                "140.0",
                "linux",
            ),
            (
                "Mozilla/5.0 (Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0",
                "firefox mobile",
                "140.0",
                "android",
            ),
            (
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
                "chrome",
                "140.0.0.0",
                "linux",
            ),
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.4 Safari/605.1.15",
                "safari",
                "18.4",
                "mac os x",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
                "mobile safari",
                "18.5",
                "ios",
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0",
                "edge",
                "140.0.0.0",
                "windows",
            ),
            ("python-websockets", "", "", ""),
            ("Firefox/", "firefox", "", ""),
        ] {
            assert_eq!(
                seen(user_agent),
                (browser.into(), version.into(), os.into()),
                "{user_agent}"
            );
        }
    }

    #[test]
    fn the_word_of_a_client_counts() {
        let mut client = ClientInfo {
            sdk: Sdk::Go.into(),
            ..ClientInfo::default()
        };
        augment(
            &mut client,
            "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
        );
        assert_eq!(client.browser, "");
        let mut client = ClientInfo {
            browser: "Chrome".to_owned(),
            ..ClientInfo::default()
        };
        augment(
            &mut client,
            "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
        );
        assert_eq!((client.browser.as_str(), client.os.as_str()), ("Chrome", "linux"));
    }
}
