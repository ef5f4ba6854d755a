//! The controller's answer to an offer, as the answer to a request.

use controller::IceServer;
use wire::ExtensionKind;
use wire::sdp::{MediaSection, SectionKind, SessionDescription};

use crate::answer::Answer;
use crate::route::Protocol;
use crate::session::SessionUpdates;

/// The parts of an answer that were looked for.
pub(super) struct Accepted {
    pub(super) sid: String,
    pub(super) ice_servers: Vec<IceServer>,
    pub(super) sdp: String,
    /// The entity tag of its ICE session.
    pub(super) tag: String,
}

/// The controller's answer, if it is one for the whole offer (RFC 9725 section 4.4.3).
pub(super) fn accept(
    protocol: Protocol,
    offered: &SessionDescription,
    told: &mut SessionUpdates,
) -> Result<Accepted, Answer> {
    let Some((sid, ice_servers)) = told.joined.take() else {
        return Err(Answer::refusal(503, "the room cannot be joined"));
    };
    if told.is_refused {
        return Err(Answer::refusal(403, "the token does not allow publishing this"));
    }
    let unusable = || Answer::refusal(422, "the offer cannot be answered");
    let answer = told.answer.take().filter(|_| !told.is_over).ok_or_else(unusable)?;
    let described = SessionDescription::parse(&answer.sdp).map_err(|_| unusable())?;
    let tag = tag_of(&described).ok_or_else(unusable)?;
    let sections = offered.sections.iter().zip(&described.sections);
    let mut media = sections.filter(|(offered, _)| !offered.rejected && matches!(offered.kind, SectionKind::Media(_)));
    match protocol {
        Protocol::Whip if !media.all(|(_, ours)| !ours.rejected && ours.direction.receives()) => {
            return Err(Answer::refusal(422, "a media section has no codec that is forwarded"));
        }
        Protocol::Whep if !media.any(|(_, ours)| !ours.rejected && ours.direction.sends()) => {
            return Err(match told.is_undecodable {
                true => Answer::refusal(406, "the offer has no codec of what is published"),
                false => Answer::nothing_to_play(),
            });
        }
        Protocol::Whip | Protocol::Whep => {}
    }
    let sdp = match protocol {
        Protocol::Whip => answer.sdp,
        Protocol::Whep => for_player(&answer.sdp, &described),
    };
    Ok(Accepted {
        sid,
        ice_servers,
        sdp,
        tag,
    })
}

/// A description for a client that is told of no later one. Its sections may carry tracks that are
/// not published yet, so each that is accepted is one to send on. A section whose packets carry its
/// name names no SSRCs, since those of later tracks are others: Chromium plays no others in a
/// section where some are named. Other sections keep theirs: GStreamer, which does not know names
/// in packets, takes a stream of an unknown SSRC for one of the first section.
fn for_player(sdp: &str, described: &SessionDescription) -> String {
    let mut player_sdp = String::with_capacity(sdp.len());
    let (mut sections, mut section) = (described.sections.iter(), None);
    for line in sdp.split_inclusive('\n') {
        if line.starts_with("m=") {
            section = sections.next();
        }
        let is_accepted = section.is_none_or(|section| !section.rejected);
        match line.trim_end() {
            "a=inactive" if is_accepted => player_sdp.push_str("a=sendonly\r\n"),
            ssrc if ssrc.starts_with("a=ssrc") && section.is_some_and(is_named_in_packets) => {}
            _ => player_sdp.push_str(line),
        }
    }
    player_sdp
}

/// Whether the packets of a section carry its name (RFC 8843 section 9.2).
fn is_named_in_packets(section: &MediaSection) -> bool {
    let mut kinds = section
        .extensions
        .iter()
        .map(|extension| ExtensionKind::from_uri(&extension.uri));
    kinds.any(|kind| kind == Some(ExtensionKind::Mid))
}

/// The entity tag of the ICE session of a description of ours.
pub(super) fn tag(sdp: &str) -> Option<String> {
    tag_of(&SessionDescription::parse(sdp).ok()?)
}

fn tag_of(description: &SessionDescription) -> Option<String> {
    let mut credentials = description.sections.iter().filter_map(|section| section.ice.as_ref());
    credentials.next().map(|ice| ice.ufrag.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offer::tests::sdp;

    #[test]
    fn ssrcs_are_named_where_packets_do_not_carry_the_sections_name() {
        let ssrc = "a=ssrc:1 cname:ada\r\n";
        let named = format!("a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid\r\n{ssrc}");
        let text = sdp(&[("audio", "sendonly", &named), ("video", "sendonly", ssrc)]);
        let told = for_player(&text, &SessionDescription::parse(&text).unwrap());
        let (audio, video) = told.split_once("m=video").expect("two sections");
        assert!(!audio.contains(ssrc) && video.contains(ssrc), "{told}");
    }
}
