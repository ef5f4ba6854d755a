//! `weir room`: rooms of a running server.

use std::error::Error;

use serde_json::json;

use super::output::{fields, print, print_json};
use super::participants;
use super::refusal::Refusal;
use super::server::{Api, Grant, block_on};
use super::table::Table;
use super::terminal::escaped;
use super::views::{RoomList, age, duration, view};
use crate::cli::{RoomArgs, RoomCommand, RoomsArgs};

/// Does it.
///
/// Errors: a [`Refusal`].
pub(crate) fn run(command: RoomCommand) -> Result<(), Box<dyn Error>> {
    block_on(async {
        match command {
            RoomCommand::List(arguments) => list(&arguments).await,
            RoomCommand::Show(arguments) => show(&arguments).await,
            RoomCommand::Remove(arguments) => remove(&arguments).await,
        }
    })
}

async fn list(arguments: &RoomsArgs) -> Result<(), Refusal> {
    let answer = Api::new(&arguments.server)?
        .call("ListRooms", Grant::List, json!({}))
        .await?;
    if arguments.json {
        return print_json(&answer);
    }
    let mut list: RoomList = view(&answer)?;
    list.rooms.sort_by(|a, b| a.name.cmp(&b.name));
    let mut table = Table::new(&["ROOM", "#PARTICIPANTS", "#PUBLISHERS", "#AGE", "SID"]);
    for room in list.rooms {
        table.row([
            room.name,
            room.num_participants.to_string(),
            room.num_publishers.to_string(),
            age(room.creation_time),
            room.sid,
        ]);
    }
    print(&table.text())
}

async fn show(arguments: &RoomArgs) -> Result<(), Refusal> {
    let api = Api::new(&arguments.server)?;
    let (found, room) = api.room(&arguments.room).await?;
    let people = api.participants(&arguments.room).await?;
    if arguments.json {
        return print_json(&json!({"room": found, "participants": people["participants"]}));
    }
    let metadata = room.metadata.clone();
    let text = fields(&[
        ("room", room.name),
        ("sid", room.sid),
        ("age", age(room.creation_time)),
        (
            "participants",
            format!("{} of {} at most", room.num_participants, room.max_participants),
        ),
        ("publishers", room.num_publishers.to_string()),
        ("stays empty for", duration(room.empty_timeout)),
        ("stays after the last for", duration(room.departure_timeout)),
        ("metadata", metadata),
    ]);
    print(&format!("{text}\n{}", participants::table(&view(&people)?).text()))
}

async fn remove(arguments: &RoomArgs) -> Result<(), Refusal> {
    let api = Api::new(&arguments.server)?;
    let body = json!({"room": arguments.room});
    let answer = api.call("DeleteRoom", Grant::Create, body).await?;
    match arguments.json {
        true => print_json(&answer),
        false => print(&format!("the room {} is removed\n", escaped(&arguments.room))),
    }
}
