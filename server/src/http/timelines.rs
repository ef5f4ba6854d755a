//! `/api/rooms/ROOM/participants/IDENTITY/timeline` and `.../verdict`: the call of one participant,
//! from the flight recorder.
//!
//! Both need the grant `roomAdmin` for the room, as `/api/receivers` does. Only tokens with
//! `roomList` see whole addresses of participants, because moderators of a meeting need none. The
//! controller that serves the room answers.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Json, Path, Query, Request, State};
use axum::http::{Response, StatusCode, header};
use axum::response::IntoResponse;
use operator::{Observation, Timeline};
use serde::{Deserialize, Serialize};
use timeline::Recording;

use super::receivers::{self, Denial};
use super::state::Http;
use super::{answer_elsewhere, authorization, page};
use crate::metrics::forwarded::Kind;
use crate::os::clock;

/// The longest time that can be asked for: longer than any recorder keeps.
const SINCE_MAX: Duration = Duration::from_secs(366 * 86_400);

const SINCE: &str = "since: a time such as 90s, 10m or 2h is expected\n";

const NOBODY: &str = "nothing is known about this participant: nobody of this identity was in the room lately, or \
                      `recorder:` records nobody\n";

/// The participant that is asked about.
#[derive(Debug, Deserialize)]
pub(super) struct Subject {
    room: String,
    identity: String,
}

/// The time that is asked about.
#[derive(Debug, Deserialize)]
pub(super) struct Span {
    /// So long ago, as `10m`; everything without it.
    since: Option<String>,
}

/// Why there is no answer.
pub(super) enum Failure {
    Denied(Denial),
    /// Another controller has answered, or cannot.
    Elsewhere(Box<Response<Body>>),
    /// The query is malformed.
    BadSince,
    Nobody,
}

impl From<Denial> for Failure {
    fn from(denial: Denial) -> Self {
        Failure::Denied(denial)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response<Body> {
        match self {
            Failure::Denied(denial) => denial.into_response(),
            Failure::Elsewhere(answer) => *answer,
            Failure::BadSince => page::text(StatusCode::BAD_REQUEST, SINCE),
            Failure::Nobody => page::text(StatusCode::NOT_FOUND, NOBODY),
        }
    }
}

/// All observations of the participant.
pub(super) async fn timeline(
    State(http): State<Arc<Http>>,
    Path(subject): Path<Subject>,
    Query(span): Query<Span>,
    request: Request,
) -> Result<Response<Body>, Failure> {
    let excerpt = find(&http, &subject, &span, request).await?;
    let mut timeline = excerpt.recording.timeline(excerpt.since_ms);
    if !excerpt.shows_addresses {
        shorten_addresses(&mut timeline);
    }
    Ok(answer(&timeline))
}

/// The faults of the call, in sentences.
pub(super) async fn verdict(
    State(http): State<Arc<Http>>,
    Path(subject): Path<Subject>,
    Query(span): Query<Span>,
    request: Request,
) -> Result<Response<Body>, Failure> {
    let excerpt = find(&http, &subject, &span, request).await?;
    // The state at the beginning of the time follows from what was before.
    let everything = excerpt.recording.timeline(0);
    Ok(answer(&timeline::verdict(
        &everything,
        excerpt.since_ms,
        excerpt.now_ms,
    )))
}

/// A recording, and the part of it that the bearer of a token may see.
struct Excerpt {
    recording: Recording,
    since_ms: u64,
    now_ms: u64,
    shows_addresses: bool,
}

async fn find(http: &Http, subject: &Subject, span: &Span, request: Request) -> Result<Excerpt, Failure> {
    let (mut parts, _) = request.into_parts();
    let claims = receivers::bearer(authorization(&parts.headers), &http.settings.get().keys)?;
    receivers::scope(&claims, Some(&subject.room))?;
    let since = match &span.since {
        Some(text) => Some(parse_since(text).ok_or(Failure::BadSince)?),
        None => None,
    };
    if let Some(answer) = answer_elsewhere(http, &mut parts, Kind::Timelines, &subject.room).await {
        return Err(Failure::Elsewhere(Box::new(answer)));
    }
    let recording = http
        .controller
        .recording(subject.room.clone(), subject.identity.clone())
        .await
        .ok_or(Failure::Nobody)?;
    let now_ms = u64::try_from(clock::unix().as_millis()).unwrap_or(u64::MAX);
    let ago = |since: Duration| now_ms.saturating_sub(since.as_millis() as u64);
    Ok(Excerpt {
        recording,
        since_ms: since.map_or(0, ago),
        now_ms,
        shows_addresses: claims.video.room_list,
    })
}

/// A view as JSON, which is not to be cached.
pub(super) fn answer(view: &impl Serialize) -> Response<Body> {
    ([(header::CACHE_CONTROL, "no-store")], Json(view)).into_response()
}

/// A time with a unit, as `90s`, `10m`, `2h` or `1d`; without one in seconds.
fn parse_since(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(['s', 'm', 'h', 'd']);
    let unit = match &text[digits.len()..] {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return None,
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = digits.parse::<u64>().ok().filter(|_| is_number)?.checked_mul(unit)?;
    Some(Duration::from_secs(seconds).min(SINCE_MAX))
}

/// Leaves the network of each address, of 24 or 48 bits.
fn shorten_addresses(timeline: &mut Timeline) {
    for entry in &mut timeline.entries {
        if let Observation::Path { remote, .. } = &mut entry.observation {
            let ip = match remote.ip() {
                IpAddr::V4(ip) => IpAddr::from((u32::from(ip) & !0xff).to_be_bytes()),
                IpAddr::V6(ip) => IpAddr::from((u128::from(ip) >> 80 << 80).to_be_bytes()),
            };
            *remote = SocketAddr::new(ip, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use operator::TimelineEntry;
    use operator::observation::PathProtocol;

    use super::*;

    #[test]
    fn timeline_takes_times_with_a_unit_and_nothing_else() {
        let seconds = |text| parse_since(text).map(|since| since.as_secs());
        assert_eq!(seconds("90"), Some(90));
        assert_eq!(seconds("90s"), Some(90));
        assert_eq!(seconds("10m"), Some(600));
        assert_eq!(seconds("2h"), Some(7_200));
        assert_eq!(seconds("1d"), Some(86_400));
        assert_eq!(seconds("9999999d"), Some(SINCE_MAX.as_secs()));
        for text in [
            "",
            "m",
            "10 m",
            "-1m",
            "+1m",
            "10mm",
            "1.5h",
            "99999999999999999999s",
            "10ｍ",
            "18446744073709551615d",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn timeline_shows_networks_in_place_of_addresses() {
        let entry = |remote: &str| TimelineEntry {
            at_ms: 0,
            track: None,
            observation: Observation::Path {
                remote: remote.parse().unwrap(),
                protocol: PathProtocol::Udp,
            },
        };
        let mut timeline = Timeline {
            room: String::new(),
            participant: String::new(),
            has_left: false,
            overwritten: 0,
            entries: vec![entry("203.0.113.7:40000"), entry("[2001:db8:1:2::3]:40000")],
        };
        shorten_addresses(&mut timeline);
        assert_eq!(timeline.entries, [entry("203.0.113.0:0"), entry("[2001:db8:1::]:0")]);
    }
}
