//! One odd line costs that line and one odd section that section; the rest of the description
//! holds.

use super::*;
use crate::limits;

const HEAD: &str = "v=0\r\no=- 7 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0 1\r\n";
const AUDIO: &str = "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\n";
const VIDEO: &str = "m=video 9 UDP/TLS/RTP/SAVPF 96\r\n";
const AUDIO_LINES: &str = "a=mid:0\r\na=rtpmap:111 opus/48000/2\r\n";
const VIDEO_LINES: &str = "a=mid:1\r\na=rtpmap:96 VP8/90000\r\n";

/// Audio and video, with these lines for all, in audio and in video.
fn offer(session: &str, audio: &str, video: &str) -> String {
    format!("{HEAD}{session}{AUDIO}{AUDIO_LINES}{audio}{VIDEO}{VIDEO_LINES}{video}")
}

/// The description as read, with `lines` lines and `sections` sections left out. It is the same
/// after writing and reading it again.
fn without(text: &str, lines: usize, sections: usize) -> SessionDescription {
    let (read, left_out) = SessionDescription::read(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(
        (left_out.lines, left_out.sections),
        (lines, sections),
        "{left_out}\n{text}"
    );
    assert_eq!(left_out.is_empty(), left_out.first.is_none());
    assert_eq!(parse(&read.to_string()), read);
    read
}

/// Both sections are there, with their codecs.
fn usable(read: &SessionDescription) {
    assert_eq!((read.session_id, read.version), (7, 2));
    let codecs = read.sections.iter().map(|section| section.formats[0].codec());
    assert_eq!(codecs.collect::<Vec<_>>(), [Some(Codec::Opus), Some(Codec::Vp8)]);
    assert!(read.sections.iter().all(|section| !section.rejected));
    let names: Vec<_> = read.bundle.iter().map(Mid::as_str).collect();
    assert_eq!(names, ["0", "1"]);
}

#[test]
fn a_line_that_cannot_be_used_is_left_out() {
    let long = format!("a=msid:{} t\r\n", "s".repeat(limits::VALUE_MAX));
    let uri = format!("a=extmap:2 urn:{}\r\n", "u".repeat(limits::EXTENSION_URI_MAX));
    for line in [
        // No lines of a description.
        "garbage\r\n",
        "=\r\n",
        "x=y\r\n",
        " a=sendonly\r\n",
        "a=msid:a\0b\r\n",
        // ICE and DTLS.
        "a=setup:holdconn\r\n",
        "a=setup\r\n",
        "a=ice-ufrag:abc\r\n",
        "a=ice-pwd:short\r\n",
        "a=fingerprint:sha-256\r\n",
        "a=fingerprint:sha-256 AB:CD\r\n",
        "a=fingerprint:sha-256 nothing\r\n",
        "a=candidate:1 1 udp 1 192.0.2.1 99999 typ host\r\n",
        "a=candidate:1 1 udp many 192.0.2.1 9 typ host\r\n",
        "a=candidate:1 1 udp 1 192.0.2.1\r\n",
        "a=candidate\r\n",
        // Sources.
        "a=ssrc:1234\r\n",
        "a=ssrc:4294967296 cname:x\r\n",
        "a=ssrc:-1 cname:x\r\n",
        "a=ssrc-group:FID 1 two\r\n",
        "a=ssrc-group\r\n",
        "a=msid\r\n",
        &long,
        // Header extensions.
        "a=extmap:0 urn:x\r\n",
        "a=extmap:256 urn:x\r\n",
        "a=extmap:4096 urn:x\r\n",
        "a=extmap:urn:x\r\n",
        "a=extmap:2\r\n",
        &uri,
        // Encodings.
        "a=rid:a/b send\r\n",
        "a=rid:a\r\n",
        "a=rid:a both\r\n",
        "a=rid:abcdefghijklmnopqrstuvw send\r\n",
        "a=simulcast:send a\r\n",
        "a=simulcast:sideways a\r\n",
        "a=simulcast:\r\n",
        // Formats.
        "a=rtpmap:128 VP8/90000\r\n",
        "a=rtpmap:300 VP8/90000\r\n",
        "a=rtpmap:97 VP8\r\n",
        "a=rtpmap:97 /90000\r\n",
        "a=rtpmap:97 opus/48000/0\r\n",
        "a=rtpmap:97\r\n",
        "a=fmtp:128 apt=96\r\n",
        "a=fmtp\r\n",
        "a=rtcp-fb:200 nack\r\n",
        "a=rtcp-fb:96\r\n",
        "a=mid:second\r\n",
    ] {
        // The line about simulcast is empty, so nothing is missing.
        let lost = usize::from(line != "a=simulcast:\r\n");
        usable(&without(&offer("", line, ""), lost, 0));
        usable(&without(&offer("", "", line), lost, 0));
        // The last line may lack its end, and the others the carriage return.
        let text = offer("", "", line);
        usable(&without(text.trim_end(), lost, 0));
        usable(&without(&text.replace("\r\n", "\n"), lost, 0));
        usable(&without(&text.replace("\r\n", "\r"), lost, 0));
    }
}

#[test]
fn lines_nobody_needs_may_be_odd_or_missing() {
    for line in [
        "b=AS\r\n",
        "b=AS:-1\r\n",
        "b=X-YZ:128:9\r\n",
        "c=IN IP4\r\nc=IN IP4 192.0.2.1\r\nc=IN IP6 ::1/1/2/3\r\n",
        "i=one\r\ni=two\r\n",
        "k=prompt\r\nk=\r\n",
        "t=1\r\n",
        "r=7d\r\n",
        "z=x\r\n",
        "e=\r\np=\r\nu=\r\n",
        "a=\r\n",
        "a=nobody-knows:this\r\n",
        "a=crypto:1 NOT_A_SUITE inline:x\r\n",
        "a=fingerprint:md5 AA:BB\r\n",
        "a=ice-options:trickle renomination\r\n",
        "a=rtcp-fb:* nobody knows this\r\n",
        "a=rtpmap:97 VP9/90000\r\n",
        "a=fmtp:97 ;;=;x\r\n",
        "a=candidate:1 1 udp 1 0a1b.local 9 typ host\r\na=candidate:1 1 tcp 1 192.0.2.1 9 typ host tcptype active\r\n",
        "a=candidate:1 1 udp 1 192.0.2.1 9 typ unheard-of\r\n",
    ] {
        usable(&without(&offer("", line, ""), 0, 0));
        usable(&without(&offer("", "", line), 0, 0));
        usable(&without(&offer(line, "", ""), 0, 0));
    }
    let text = offer("", "", "");
    for missing in ["t=0 0\r\n", "s=-\r\n", "s=-\r\nt=0 0\r\n"] {
        usable(&without(&text.replace(missing, ""), 0, 0));
    }
    let read = without(&text.replace("o=- 7 2 IN IP4 127.0.0.1\r\n", ""), 0, 0);
    assert_eq!((read.session_id, read.version, read.sections.len()), (0, 0, 2));
    let read = without(&text.replace("o=- 7 2", "o=- 7 two"), 1, 0);
    assert_eq!((read.session_id, read.version), (7, 0));
}

#[test]
fn a_section_that_cannot_be_used_is_refused_in_its_place() {
    let odd_mid = |mid: &str| format!("{HEAD}{AUDIO}a=mid:{mid}\r\na=rtpmap:111 opus/48000/2\r\n{VIDEO}{VIDEO_LINES}");
    let long = "m".repeat(Mid::MAX + 1);
    for (text, lines) in [
        (odd_mid("a b"), 1),
        (odd_mid("a/b"), 1),
        (odd_mid(""), 1),
        (odd_mid("1"), 1),
        (odd_mid(&long), 1),
        (offer("", "", "").replace(AUDIO, "m=audio\r\n"), 0),
        (offer("", "", "").replace(AUDIO, "m=\r\n"), 0),
        (
            offer("", "", "").replace(AUDIO, "m=audio nine UDP/TLS/RTP/SAVPF 111\r\n"),
            0,
        ),
        (
            offer("", "", "").replace(AUDIO, "m=audio 99999 UDP/TLS/RTP/SAVPF 111\r\n"),
            0,
        ),
        (offer("", "", "").replace(AUDIO, "m=audio 9 UDP/TLS/RTP/SAVPF\r\n"), 0),
    ] {
        let (read, left_out) = SessionDescription::read(&text).unwrap();
        assert_eq!(left_out.sections, 1, "{text}");
        // A section that is called as another is takes the other's place in the bundle, or the name
        // is not there.
        assert!(left_out.lines <= lines, "{left_out}\n{text}");
        let rejected: Vec<_> = read.sections.iter().map(|section| section.rejected).collect();
        let first_is_odd = text.contains("a=mid:1\r\na=rtpmap:111");
        assert_eq!(rejected, [!first_is_odd, first_is_odd], "{text}");
        assert_ne!(read.sections[0].mid, read.sections[1].mid);
        assert_eq!(parse(&read.to_string()), read);
    }
}

#[test]
fn a_name_may_be_long_and_a_section_may_have_none() {
    let name = "abcdefghijklmnopqrst";
    let text = offer("", "", "")
        .replace("BUNDLE 0", &format!("BUNDLE {name}"))
        .replace("mid:0", &format!("mid:{name}"));
    let read = without(&text, 0, 0);
    assert_eq!((read.sections[0].mid.as_str(), read.bundle[0].as_str()), (name, name));
    // A section without a name is called by its position, unless another has that name.
    let read = without(&offer("", "", "").replace("a=mid:1\r\n", "").replace("0 1", "0"), 0, 0);
    assert_eq!(read.sections[1].mid.as_str(), "1");
    let read = without(
        &offer("", "", "")
            .replace("a=mid:0\r\n", "")
            .replace("mid:1", "mid:0")
            .replace("0 1", "0"),
        0,
        0,
    );
    assert_eq!(
        (read.sections[0].mid.as_str(), read.sections[1].mid.as_str()),
        ("0-0", "0")
    );
    assert_eq!(read.bundle, [read.sections[1].mid]);
}

#[test]
fn a_bundle_is_of_sections_that_are_there() {
    for (group, lines) in [
        ("0 1 2", 1),
        ("7 0 1", 1),
        ("0 0 1", 1),
        ("0 a/b 1", 1),
        ("0 1\r\na=group:BUNDLE 1\r\na=group:LS 0 1", 0),
    ] {
        usable(&without(
            &offer("", "", "").replace("0 1\r\n", &format!("{group}\r\n")),
            lines,
            0,
        ));
    }
    assert!(
        without(&offer("", "", "").replace("BUNDLE 0 1", "BUNDLE"), 0, 0)
            .bundle
            .is_empty()
    );
}

#[test]
fn payload_types_are_below_128_and_stand_for_one_codec() {
    let media = |listed: &str| offer("", "", "").replace("SAVPF 96", &format!("SAVPF {listed}"));
    for (listed, lines) in [("96 255", 1), ("255 96", 1), ("96 96", 1), ("-1 96 x", 1), ("96 97", 0)] {
        let read = without(&media(listed), lines, 0);
        usable(&read);
        assert_eq!(read.sections[1].formats.len(), 1, "{listed}");
    }
    let read = without(&media("255").replace("m=video 9", "m=video 0"), 0, 0);
    assert!(read.sections[1].rejected && read.sections[1].formats.is_empty());
    let read = without(
        &offer("", "", "a=rtpmap:96 VP9/90000\r\na=rtpmap:96 VP8/90000\r\n"),
        1,
        0,
    );
    usable(&read);
    let read = without(&offer("", "", "").replace("m=video 9 ", "m=video 9/2 "), 0, 0);
    usable(&read);
}

#[test]
fn an_extension_id_stands_for_one_extension() {
    let ids = |lines: &str, left_out| {
        let read = without(&offer("", "", lines), left_out, 0);
        usable(&read);
        let extensions = read.sections[1].extensions.iter();
        extensions.map(|it| (it.id, it.uri.to_string())).collect::<Vec<_>>()
    };
    let pair = |id, uri: &str| (id, uri.to_owned());
    assert_eq!(
        ids(
            "a=extmap:3 urn:a\r\na=extmap:3 urn:b\r\na=extmap:4/recvonly urn:b\r\n",
            1
        ),
        [pair(3, "urn:a"), pair(4, "urn:b")]
    );
    assert_eq!(
        ids("a=extmap:3 urn:a\r\na=extmap:3 urn:a\r\na=extmap:15 urn:c x y\r\n", 0),
        [pair(3, "urn:a"), pair(15, "urn:c")]
    );
    // A section's own extensions precede those of the session.
    let read = without(
        &offer("a=extmap:3 urn:s\r\na=extmap:5 urn:t\r\n", "a=extmap:3 urn:own\r\n", ""),
        0,
        0,
    );
    let uris = |section: usize| {
        read.sections[section]
            .extensions
            .iter()
            .map(|it| &*it.uri)
            .collect::<Vec<_>>()
    };
    assert_eq!((uris(0), uris(1)), (vec!["urn:own", "urn:t"], vec!["urn:s", "urn:t"]));
}

#[test]
fn simulcast_is_of_encodings_that_have_names() {
    let sent = |lines: &str, left_out| {
        let read = without(&offer("", "", lines), left_out, 0);
        usable(&read);
        read.sections[1].simulcast.clone().map(|simulcast| simulcast.send)
    };
    let rids = "a=rid:q send\r\na=rid:h send max-width=640\r\na=rid:r recv\r\n";
    let list = |text: &str| Some(text.split(';').map(str::to_owned).collect::<Vec<_>>());
    assert_eq!(sent(&format!("{rids}a=simulcast:send q;~h\r\n"), 0), list("q;~h"));
    assert_eq!(
        sent(&format!("a=simulcast:send ~q,h recv r\r\n{rids}"), 0),
        list("~q,h")
    );
    assert_eq!(sent(&format!("{rids}a=simulcast:send q;f;h;r\r\n"), 1), list("q;h"));
    assert_eq!(sent(&format!("{rids}a=simulcast:send q;q;;h\r\n"), 1), list("q;h"));
    assert_eq!(
        sent(&format!("{rids}a=simulcast:send q\r\na=simulcast:send h\r\n"), 1),
        list("q")
    );
    assert_eq!(
        sent(&format!("{rids}a=rid:q recv\r\na=simulcast:send q\r\n"), 1),
        list("q")
    );
    assert_eq!(sent("a=simulcast:send q;h\r\n", 1), None);
}

#[test]
fn values_over_a_limit_are_left_out() {
    let many = |count: usize, line: &dyn Fn(usize) -> String| (0..count).map(line).collect::<String>();
    let read = |lines: String, left_out: usize| {
        let read = without(&offer("", "", &lines), left_out, 0);
        usable(&read);
        read.sections[1].clone()
    };
    let ssrcs = many(limits::SSRC_LINES_MAX + 3, &|at| format!("a=ssrc:{at} cname:x\r\n"));
    assert_eq!(read(ssrcs, 3).ssrcs.len(), limits::SSRC_LINES_MAX);
    let groups = many(limits::SSRC_GROUPS_MAX + 2, &|at| {
        format!("a=ssrc-group:FID {at} 1\r\n")
    });
    assert_eq!(read(groups, 2).ssrc_groups.len(), limits::SSRC_GROUPS_MAX);
    let large = format!("a=ssrc-group:SIM{}\r\n", " 1".repeat(limits::SSRC_GROUP_MAX + 1));
    assert!(read(large, 1).ssrc_groups.is_empty());
    let extensions = many(limits::EXTENSIONS_MAX + 2, &|at| {
        format!("a=extmap:{} urn:{at}\r\n", at + 1)
    });
    assert_eq!(read(extensions, 2).extensions.len(), limits::EXTENSIONS_MAX);
    let rids = many(limits::RIDS_MAX + 1, &|at| format!("a=rid:{at} send\r\n"));
    assert_eq!(read(rids, 1).rids.len(), limits::RIDS_MAX);
    let msids = many(limits::MSIDS_MAX + 1, &|at| format!("a=msid:s {at}\r\n"));
    assert_eq!(read(msids, 1).msids.len(), limits::MSIDS_MAX);
    let candidates = many(limits::CANDIDATES_MAX + 1, &|at| {
        format!("a=candidate:{at} 1 udp 1 192.0.2.1 {at} typ host\r\n")
    });
    assert_eq!(read(candidates, 1).candidates.len(), limits::CANDIDATES_MAX);
    let digest = |at: usize| vec![format!("{at:02X}"); 32].join(":");
    let fingerprints = many(limits::FINGERPRINTS_MAX + 1, &|at| {
        format!("a=fingerprint:SHA-256 {}\r\n", digest(at))
    });
    assert_eq!(read(fingerprints, 1).fingerprints.len(), limits::FINGERPRINTS_MAX);
    let options = format!("a=ice-options:{}\r\n", "x ".repeat(limits::ICE_OPTIONS_MAX + 1));
    assert_eq!(read(options, 1).ice_options.len(), limits::ICE_OPTIONS_MAX);
}

#[test]
fn text_that_is_no_description_is_refused() {
    for text in [
        "",
        "\r\n",
        "hello",
        "o=- 1 1 IN IP4 0.0.0.0\r\nv=0\r\n",
        "v=1\r\n",
        "{}",
        "v\r\n",
    ] {
        assert_eq!(SessionDescription::parse(text), Err(SdpError::NotSdp), "{text}");
    }
    assert_eq!(
        SessionDescription::parse(&"v".repeat(limits::DESCRIPTION_MAX + 1)),
        Err(SdpError::TooLong)
    );
    let many = format!("{HEAD}{}", VIDEO.repeat(limits::SECTIONS_MAX + 1));
    assert_eq!(
        SessionDescription::parse(&many),
        Err(SdpError::TooMany("media sections"))
    );
    assert!(parse("\u{feff}v=0").sections.is_empty());
}
