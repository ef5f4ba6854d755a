//! Requests of WHIP and WHEP.

use whip::{Answer, Request};

use crate::stage::{Stage, authorization, header, offer};

/// Statuses of refusals.
const REFUSALS: [u16; 11] = [400, 401, 403, 404, 405, 406, 409, 412, 415, 422, 428];

/// A request in the form of HTTP with short line ends: the request line without a version, fields,
/// an empty line and the body.
///
/// It is made in a room with a call, by a participant that publishes there. `$OWN` and `$TAG` stand
/// for the path and the entity tag of its session, and `$OTHER` for the path of another's session.
/// The value `ada` of the field `authorization` stands for its token, and `eve` for a token for
/// another room.
///
/// The answer is one of the protocol's, a session is there if the answer says so, and the call goes
/// on.
pub fn whip_request(data: &[u8]) {
    let (head, body) = split(data);
    let mut stage = Stage::new("lobby");
    let own = stage.open("/whip/v1", "ada", "lobby", &offer("sendonly"));
    let tag = header(&own, "etag").to_owned();
    let head = String::from_utf8_lossy(head)
        .replace("$OWN", header(&own, "location"))
        .replace("$OTHER", &stage.sessions[0])
        .replace("$TAG", &tag);
    let mut lines = head.lines();
    let (method, target) = lines.next().unwrap_or_default().split_once(' ').unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let fields: Vec<_> = lines.filter_map(|line| line.split_once(": ")).collect();
    let field = |name: &str| {
        let found = fields.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| *value)
    };
    let token = field("authorization").map(|said| match said {
        "ada" => authorization("ada", "lobby"),
        "eve" => authorization("eve", "attic"),
        other => other.to_owned(),
    });
    let request = Request {
        method,
        path,
        query,
        authorization: token.as_deref(),
        content_type: field("content-type"),
        accept: field("accept"),
        if_match: field("if-match"),
        user_agent: field("user-agent"),
    };
    let answer = stage.ask(request, body);
    check(&answer);
    assert_eq!(stage.is_open(), answer.status == 201, "{answer:?}");
    match answer.status {
        201 => {
            let delete = Request {
                method: "DELETE",
                path: header(&answer, "location"),
                authorization: token.as_deref(),
                ..Request::default()
            };
            assert_eq!(stage.ask(delete, b"").status, 200);
        }
        200 if method == "PATCH" => {
            assert!(answer.body.starts_with("a=ice-lite\r\na=ice-ufrag:"), "{answer:?}");
            assert_ne!(header(&answer, "etag"), tag, "the ICE session is another one");
        }
        _ => {}
    }
    stage.end();
}

fn split(data: &[u8]) -> (&[u8], &[u8]) {
    match data.windows(2).position(|pair| pair == b"\n\n") {
        Some(at) => (&data[..at], &data[at + 2..]),
        None => (data, &[]),
    }
}

/// An answer of the protocol, which HTTP can carry.
fn check(answer: &Answer) {
    let mut values = answer.headers.iter().map(|(_, value)| value);
    assert!(
        values.all(|value| value.bytes().all(|byte| (b' '..=b'~').contains(&byte))),
        "{answer:?}"
    );
    match answer.status {
        200 | 201 | 204 => {}
        401 => assert_eq!(header(answer, "www-authenticate"), "Bearer"),
        405 => assert!(!header(answer, "allow").is_empty()),
        status => assert!(REFUSALS.contains(&status), "{answer:?}"),
    }
    if answer.status >= 400 {
        assert_eq!(header(answer, "content-type"), "text/plain; charset=utf-8");
        assert!(answer.body.ends_with('\n') && answer.body.len() < 1 << 10, "{answer:?}");
    }
}
