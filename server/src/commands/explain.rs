//! `weir explain` and `weir trace`: what happened in the call of a participant, asked of a running
//! server.

mod perfetto;
mod text;

use std::error::Error;

use operator::Timeline;
use timeline::Verdict;

use super::output::{print, print_json};
use super::refusal::Refusal;
use super::server::{Api, block_on};
use super::views::view;
use crate::cli::{Explain, TimelineSubject, Trace};

/// Prints the verdict about a participant.
///
/// Errors: a [`Refusal`].
pub(crate) fn run(arguments: Explain) -> Result<(), Box<dyn Error>> {
    block_on(async {
        let answer = ask(&arguments.subject, "verdict", Some(&arguments.since)).await?;
        match arguments.json {
            true => print_json(&answer),
            false => print(&text::text(&view::<Verdict>(&answer)?)),
        }
    })
}

/// Prints the timeline as a trace.
///
/// Errors: a [`Refusal`].
pub(crate) fn trace(arguments: Trace) -> Result<(), Box<dyn Error>> {
    block_on(async {
        let answer = ask(&arguments.subject, "timeline", arguments.since.as_deref()).await?;
        match arguments.json {
            true => print_json(&answer),
            false => print_json(&perfetto::trace(&view::<Timeline>(&answer)?)),
        }
    })
}

async fn ask(subject: &TimelineSubject, kind: &str, since: Option<&str>) -> Result<serde_json::Value, Refusal> {
    let api = Api::new(&subject.server)?;
    api.history(&subject.room, &subject.identity, kind, since).await
}
