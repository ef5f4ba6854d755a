//! `weir call`: SIP calls of a running relay.

use std::error::Error;

use serde_json::{Value, json};

use super::control::ControlAddress;
use super::output::{fields, print, print_json};
use super::refusal::Refusal;
use super::server::block_on;
use super::table::Table;
use super::terminal::escaped;
use super::views::age;
use crate::cli::{CallArgs, CallCommand, CallsArgs, RelayArgs};

/// Does it.
///
/// Errors: a [`Refusal`].
pub(crate) fn run(command: CallCommand) -> Result<(), Box<dyn Error>> {
    block_on(async {
        match command {
            CallCommand::List(arguments) => list(&arguments).await,
            CallCommand::Show(arguments) => show(&arguments).await,
            CallCommand::Remove(arguments) => remove(&arguments).await,
        }
    })
}

async fn list(arguments: &CallsArgs) -> Result<(), Refusal> {
    let ng = &address(&arguments.relay)?;
    let list = ng.send(&json!({"command": "list", "limit": arguments.limit})).await?;
    let ids: Vec<&str> = list["calls"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let mut calls = Vec::new();
    for id in ids {
        match query(ng, id).await {
            Ok(call) => calls.push((id, call)),
            // It has ended meanwhile.
            Err(Refusal::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
    }
    if arguments.relay.json {
        let calls: Vec<Value> = calls
            .into_iter()
            .map(|(id, call)| json!({"call-id": id, "call": call}))
            .collect();
        return print_json(&json!({"calls": calls}));
    }
    let mut table = Table::new(&["CALL-ID", "#AGE", "#PARTIES", "#PACKETS", "#ERRORS"]);
    for (id, call) in calls {
        let parties = call["tags"].as_object().map_or(0, serde_json::Map::len);
        table.row([
            id.to_owned(),
            age(number(&call["created"])),
            parties.to_string(),
            number(&call["totals"]["RTP"]["packets"]).to_string(),
            number(&call["totals"]["RTP"]["errors"]).to_string(),
        ]);
    }
    print(&table.text())
}

async fn show(arguments: &CallArgs) -> Result<(), Refusal> {
    let call = query(&address(&arguments.relay)?, &arguments.call_id).await?;
    if arguments.relay.json {
        return print_json(&call);
    }
    let text = fields(&[
        ("call", arguments.call_id.clone()),
        ("age", age(number(&call["created"]))),
        ("last signal", age(number(&call["last signal"]))),
        ("metadata", text_of(&call["metadata"])),
    ]);
    let mut table = Table::new(&[
        "TAG",
        "MEDIA",
        "CODEC",
        "LOCAL",
        "PARTY",
        "#PACKETS",
        "#ERRORS",
        "#LAST PACKET",
    ]);
    let tags = call["tags"].as_object();
    for (tag, party) in tags.into_iter().flatten() {
        for media in party["medias"].as_array().into_iter().flatten() {
            // The second is that of RTCP.
            let stream = &media["streams"][0];
            table.row([
                tag.clone(),
                format!("{} {}", text_of(&media["type"]), text_of(&media["protocol"])),
                text_of(&media["codec"]),
                endpoint(&stream["local address"], &stream["local port"]),
                endpoint(&stream["endpoint"]["address"], &stream["endpoint"]["port"]),
                number(&stream["stats"]["packets"]).to_string(),
                number(&stream["stats"]["errors"]).to_string(),
                age(number(&stream["last packet"])),
            ]);
        }
    }
    print(&format!("{text}\n{}{}", table.text(), scores(&call["SSRC"])))
}

async fn remove(arguments: &CallArgs) -> Result<(), Refusal> {
    let command = json!({
        "command": "delete",
        "call-id": arguments.call_id,
        "delete-delay": 0,
        "flags": ["fatal"],
    });
    let reply = address(&arguments.relay)?.send(&command).await?;
    match arguments.relay.json {
        true => print_json(&reply),
        false => print(&format!("the call {} is removed\n", escaped(&arguments.call_id))),
    }
}

fn address(relay: &RelayArgs) -> Result<ControlAddress, Refusal> {
    let address = relay.ng.parse();
    address.map_err(|why| Refusal::Failed(format!("{} is no address for --ng: {why}", escaped(&relay.ng))))
}

async fn query(ng: &ControlAddress, id: &str) -> Result<Value, Refusal> {
    let reply = ng.send(&json!({"command": "query", "call-id": id})).await;
    reply.map_err(|error| match error {
        Refusal::NotFound(_) => Refusal::NotFound(format!("there is no call {}", escaped(id))),
        error => error,
    })
}

/// The streams with a score, by their SSRCs.
fn scores(streams: &Value) -> String {
    let mut table = Table::new(&["#SSRC", "#MOS", "#LOSS %", "#JITTER", "#ROUND TRIP"]);
    let mut is_empty = true;
    for (ssrc, stream) in streams.as_object().into_iter().flatten() {
        let average = &stream["average MOS"];
        if average.is_null() {
            continue;
        }
        is_empty = false;
        table.row([
            ssrc.clone(),
            // In tenths.
            format!("{:.1}", number(&average["MOS"]) as f64 / 10.0),
            number(&average["packet loss"]).to_string(),
            format!("{} ms", number(&average["jitter"])),
            format!("{:.1} ms", number(&average["round-trip time"]) as f64 / 1_000.0),
        ]);
    }
    match is_empty {
        true => String::new(),
        false => format!("\n{}", table.text()),
    }
}

fn endpoint(address: &Value, port: &Value) -> String {
    match (address.as_str(), number(port)) {
        (Some(address), port) if address.contains(':') => format!("[{address}]:{port}"),
        (Some(address), port) => format!("{address}:{port}"),
        (None, _) => String::new(),
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}
