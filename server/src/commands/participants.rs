//! `weir participant`: participants of a running server.

use std::error::Error;

use operator::Receiver;
use operator::receivers::Subscription;
use serde_json::json;

use super::output::{fields, print, print_json};
use super::refusal::Refusal;
use super::server::{Api, Grant, block_on};
use super::table::Table;
use super::terminal::escaped;
use super::views::{ParticipantList, ParticipantView, TrackView, age, rate, view};
use crate::cli::{ParticipantArgs, ParticipantCommand, RoomArgs};

/// Does it.
///
/// Errors: a [`Refusal`].
pub(crate) fn run(command: ParticipantCommand) -> Result<(), Box<dyn Error>> {
    block_on(async {
        match command {
            ParticipantCommand::List(arguments) => list(&arguments).await,
            ParticipantCommand::Show(arguments) => show(&arguments).await,
            ParticipantCommand::Remove(arguments) => remove(&arguments).await,
        }
    })
}

async fn list(arguments: &RoomArgs) -> Result<(), Refusal> {
    let api = Api::new(&arguments.server)?;
    // The list of participants of a room that there is not is empty.
    api.room(&arguments.room).await?;
    let answer = api.participants(&arguments.room).await?;
    match arguments.json {
        true => print_json(&answer),
        false => print(&table(&view(&answer)?).text()),
    }
}

async fn show(arguments: &ParticipantArgs) -> Result<(), Refusal> {
    let api = Api::new(&arguments.server)?;
    let (room, identity) = (arguments.room.as_str(), arguments.identity.as_str());
    let body = json!({"room": room, "identity": identity});
    let answer = api.call("GetParticipant", Grant::Admin(room), body).await?;
    let receivers = api.receivers(Some(room)).await?.receivers;
    let receiver = receivers.into_iter().find(|receiver| receiver.identity == identity);
    if arguments.json {
        return print_json(&json!({"participant": answer, "receiver": receiver}));
    }
    let participant: ParticipantView = view(&answer)?;
    let mut text = fields(&[
        ("identity", participant.identity),
        ("name", participant.name),
        ("sid", participant.sid),
        ("state", participant.state.to_lowercase()),
        ("kind", participant.kind.to_lowercase()),
        ("joined", age(participant.joined_at)),
        ("metadata", participant.metadata),
    ]);
    text += &format!("\nPublishes\n{}", tracks(participant.tracks).text());
    if let Some(receiver) = receiver {
        text += &received(receiver);
    }
    print(&text)
}

async fn remove(arguments: &ParticipantArgs) -> Result<(), Refusal> {
    let api = Api::new(&arguments.server)?;
    let (room, identity) = (arguments.room.as_str(), arguments.identity.as_str());
    let body = json!({"room": room, "identity": identity});
    let answer = api.call("RemoveParticipant", Grant::Admin(room), body).await?;
    match arguments.json {
        true => print_json(&answer),
        false => print(&format!(
            "the participant {} is removed from the room {}\n",
            escaped(identity),
            escaped(room)
        )),
    }
}

/// The rows of participants, by their identities.
pub(super) fn table(list: &ParticipantList) -> Table {
    let mut participants: Vec<&ParticipantView> = list.participants.iter().collect();
    participants.sort_by(|a, b| a.identity.cmp(&b.identity));
    let mut table = Table::new(&["IDENTITY", "NAME", "STATE", "KIND", "#JOINED", "TRACKS"]);
    for participant in participants {
        let tracks = participant.tracks.iter().map(|track| match track.muted {
            true => format!("{} (muted)", source(track)),
            false => source(track),
        });
        table.row([
            participant.identity.clone(),
            participant.name.clone(),
            participant.state.to_lowercase(),
            participant.kind.to_lowercase(),
            age(participant.joined_at),
            tracks.collect::<Vec<String>>().join(", "),
        ]);
    }
    table
}

/// The source of a track in small letters.
fn source(track: &TrackView) -> String {
    track.source.to_lowercase().replace('_', " ")
}

fn tracks(tracks: Vec<TrackView>) -> Table {
    let mut table = Table::new(&["SOURCE", "CODEC", "SIZE", "MUTED", "NAME", "SID"]);
    for track in tracks {
        let size = match track.width {
            0 => String::new(),
            width => format!("{width}x{}", track.height),
        };
        let is_muted = if track.muted { "yes" } else { "no" };
        table.row([
            source(&track),
            track.mime_type,
            size,
            is_muted.to_owned(),
            track.name,
            track.sid,
        ]);
    }
    table
}

/// How a downlink does, and what it carries.
fn received(receiver: Receiver) -> String {
    let mut text = "\nReceives\n".to_owned();
    if let Some(downlink) = receiver.downlink {
        let milliseconds = |value: f64| format!("{value:.1} ms");
        text += &fields(&[
            ("estimated", rate(downlink.target_bps)),
            ("allocated", rate(downlink.allocated_bps)),
            ("wanted", rate(downlink.wanted_bps)),
            ("limited by", spaced(downlink.limit.name())),
            ("lost", format!("{:.1} %", downlink.loss * 100.0)),
            (
                "round trip",
                downlink.round_trip_ms.map(milliseconds).unwrap_or_default(),
            ),
            ("queue", milliseconds(downlink.queue_ms)),
        ]);
    }
    let mut table = Table::new(&["FROM", "SOURCE", "STATE", "ENCODING", "#RATE", "TRACK"]);
    for subscription in receiver.subscriptions {
        table.row([
            subscription.publisher.clone(),
            subscription.source.clone(),
            spaced(subscription.state.name()),
            encoding(&subscription),
            current_rate(&subscription),
            subscription.track,
        ]);
    }
    text + &table.text()
}

/// A name of two words and more, as people write it.
fn spaced(name: &str) -> String {
    name.replace('_', " ")
}

fn encoding(subscription: &Subscription) -> String {
    let Some(current) = subscription.current else {
        return String::new();
    };
    let layer = |letter: char, layer: Option<u8>| layer.map_or_else(String::new, |layer| format!(" {letter}{layer}"));
    format!(
        "{}{}{}",
        current.encoding,
        layer('s', current.spatial),
        layer('t', current.temporal)
    )
}

/// The rate at which the publisher sends what the receiver gets.
fn current_rate(subscription: &Subscription) -> String {
    let layer = subscription
        .arrives
        .iter()
        .find(|layer| Some(layer.target) == subscription.current);
    layer.map_or_else(String::new, |layer| rate(layer.rate_bps))
}
