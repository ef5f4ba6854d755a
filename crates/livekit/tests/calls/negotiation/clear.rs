//! Media without encryption, for laboratories.

use controller::PeerMode::Single;
use livekit::Offer;
use livekit_protocol::DisconnectReason;
use livekit_protocol::signal_response::Message;
use southbound::Command;
use wire::sdp::{Format, SectionKind};
use wire::{ExtensionKind, MediaKind};

use crate::browser::Browser;
use crate::node::node;
use crate::world::{World, claims, described};

/// With a node that forwards clear RTP, maybe by a device that only copies.
fn in_clear(copies: bool) -> World {
    World::with_node(node(true, copies))
}

fn join_with(world: &mut World, browser: &Browser) -> Vec<Message> {
    let mut admission = world.admission(&claims("ada"), Single, "");
    admission.offer = Some(Offer::Text(described("offer", browser.offer(), 1)));
    let connection = world.open(admission);
    world.take(connection, |_| true)
}

#[test]
fn an_offer_of_clear_media_is_answered_in_kind_if_the_node_allows_it() {
    let mut world = in_clear(true);
    let browser = Browser::without_encryption();
    let messages = join_with(&mut world, &browser);
    let answer = messages.iter().find_map(|message| match message {
        Message::Answer(answer) => Some(answer),
        _ => None,
    });
    browser.take_answer(&answer.expect("it is answered").sdp);
    let connected = world.commands.iter().find_map(|command| match command {
        Command::Connect { remote, .. } => Some(remote),
        _ => None,
    });
    let remote = connected.expect("the agent is told");
    assert!(remote.fingerprints.is_empty());
    // A device can write numbers into each packet.
    let ids = |kind| (remote.extensions_in.id(kind), remote.extensions_out.id(kind));
    let (comes, goes) = ids(ExtensionKind::TransportSequence);
    assert!(comes.is_some() || goes.is_some());
}

fn answered_formats(world: &mut World) -> Vec<Format> {
    let browser = Browser::without_encryption();
    let messages = join_with(world, &browser);
    let answers = messages.iter().filter_map(|message| match message {
        Message::Answer(answer) => Some(browser.take_answer(&answer.sdp)),
        _ => None,
    });
    answers
        .flat_map(|answer| answer.sections)
        .flat_map(|section| section.formats)
        .collect()
}

#[test]
fn clear_media_is_not_retransmitted_on_streams_of_its_own_where_it_may_be_copied() {
    let formats = answered_formats(&mut in_clear(true));
    for report in ["goog-remb", "transport-cc"] {
        assert!(formats.iter().any(|format| format.has_feedback(report)), "{report}");
    }
    assert!(formats.iter().all(|format| format.retransmits().is_none()));
}

/// A browser that publishes a camera, and one that only watches.
#[test]
fn receivers_estimate_by_themselves_if_copies_carry_no_numbers() {
    for publishes in [false, true] {
        let mut node = node(true, true);
        node.capabilities.transport_numbers = false;
        let mut world = World::with_node(node);
        let mut browser = Browser::without_encryption();
        if publishes {
            browser.publish_one_encoding("camera");
            browser.drop_keys();
        }
        let messages = join_with(&mut world, &browser);
        let answer = messages.iter().find_map(|message| match message {
            Message::Answer(answer) => Some(browser.take_answer(&answer.sdp)),
            _ => None,
        });
        let sections = answer.expect("it is answered").sections;
        let videos = sections
            .iter()
            .filter(|section| section.kind == SectionKind::Media(MediaKind::Video));
        for section in videos {
            let has = |kind: ExtensionKind| section.extensions.iter().any(|extension| *extension.uri == *kind.uri());
            assert!(has(ExtensionKind::AbsSendTime) && !has(ExtensionKind::TransportSequence));
            let reports = |feedback| section.formats.iter().any(|format| format.has_feedback(feedback));
            assert!(!reports("transport-cc"));
            assert!(publishes || reports("goog-remb"));
        }
        let remote = world.commands.iter().find_map(|command| match command {
            Command::Connect { remote, .. } => Some(remote),
            _ => None,
        });
        let goes = &remote.expect("the agent is told").extensions_out;
        assert!(goes.id(ExtensionKind::AbsSendTime).is_some());
        assert!(goes.id(ExtensionKind::TransportSequence).is_none());
    }
}

#[test]
fn clear_media_has_all_that_other_media_has_if_nothing_copies() {
    let formats = answered_formats(&mut in_clear(false));
    assert!(formats.iter().any(|format| format.retransmits().is_some()));
}

#[test]
fn streams_of_retransmissions_that_are_offered_and_not_taken_are_not_expected() {
    let mut world = in_clear(true);
    let mut browser = Browser::without_encryption();
    browser.publish_one_encoding("camera");
    let messages = join_with(&mut world, &browser);
    assert!(messages.iter().any(|message| matches!(message, Message::Answer(_))));
    let encodings: Vec<_> = world
        .publications()
        .into_iter()
        .flat_map(|publication| publication.encodings)
        .collect();
    assert!(encodings.iter().all(|encoding| encoding.rtx.is_none()), "{encodings:?}");
}

#[test]
fn an_offer_of_clear_media_is_refused_if_the_node_does_not_allow_it() {
    let mut world = World::new();
    let messages = join_with(&mut world, &Browser::without_encryption());
    let left = messages.iter().find_map(|message| match message {
        Message::Leave(leave) => Some(leave.reason()),
        _ => None,
    });
    assert_eq!(left, Some(DisconnectReason::StateMismatch));
    assert!(!messages.iter().any(|message| matches!(message, Message::Answer(_))));
}

#[test]
fn an_offer_of_encryption_is_accepted_by_any_node() {
    let mut world = in_clear(true);
    let browser = Browser::new(Single);
    let messages = join_with(&mut world, &browser);
    let answered = messages.iter().any(|message| match message {
        Message::Answer(answer) => !browser.take_answer(&answer.sdp).sections[0].fingerprints.is_empty(),
        _ => false,
    });
    assert!(answered);
}
