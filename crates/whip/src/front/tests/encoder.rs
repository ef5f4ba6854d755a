//! Offers as OBS 32 makes them.

use super::*;

/// An offer of this many simulcast layers. Only the video has the header extension with the name of
/// its section, and only the audio names an SSRC.
fn offer(layers: usize) -> String {
    let audio = "a=msid:stream stream-audio\r\na=ssrc:7 cname:obs\r\na=ssrc:7 msid:stream stream-audio\r\n";
    let rids: Vec<_> = (0..layers).map(|layer| layer.to_string()).collect();
    let mut video = "a=msid:stream stream-video\r\na=rtcp-fb:96 nack\r\na=rtcp-fb:96 nack pli\r\n\
                     a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid\r\n\
                     a=extmap:2 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id\r\n"
        .to_owned();
    video.extend(rids.iter().map(|rid| format!("a=rid:{rid} send\r\n")));
    video += &format!("a=simulcast:send {}\r\n", rids.join(";"));
    sdp(&[("audio", "sendonly", audio), ("video", "sendonly", &video)])
}

/// OBS gives up if the answer does not accept each layer. It leaves the role in DTLS to the answer.
#[test]
fn all_layers_of_obs_are_accepted() {
    for layers in 2..=4 {
        let mut world = World::new();
        let authorization = world.authorization("obs", VideoGrant::default());
        let request = HttpRequest {
            method: "POST",
            path: "/whip/v1",
            authorization: Some(&authorization),
            content_type: Some("application/sdp"),
            user_agent: Some("Mozilla/5.0 (OBS-Studio/32.2.2; Linux x86_64; en-US)"),
            ..HttpRequest::default()
        };
        let answer = world.ask(request, &offer(layers));
        assert_eq!(answer.status, 201, "{}", answer.body);
        let mut lines = answer.body.lines();
        let simulcast = lines.find_map(|line| line.strip_prefix("a=simulcast:recv "));
        let mut accepted: Vec<_> = simulcast.unwrap_or_default().split(';').collect();
        accepted.sort_unstable();
        assert_eq!(accepted, ["0", "1", "2", "3"][..layers], "{}", answer.body);
        assert!(answer.body.contains("a=setup:passive"), "{}", answer.body);
    }
}
