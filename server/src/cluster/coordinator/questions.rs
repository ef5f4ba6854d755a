//! Answers to those who look for the controller of a room.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use cluster::{Input, UnavailableReason};
use controller::Controller;
use tokio::sync::oneshot;

use super::super::location::{Location, Question};
use super::Coordinator;

/// Those who ask for rooms whose owner is not known yet.
#[derive(Default)]
pub(super) struct Askers(HashMap<Arc<str>, Vec<Asker>>);

struct Asker {
    denied_by: Option<String>,
    answer: oneshot::Sender<Location>,
}

impl Askers {
    fn add(&mut self, room: Arc<str>, denied_by: Option<String>, answer: oneshot::Sender<Location>) {
        let askers = self.0.entry(room).or_default();
        askers.retain(|asker| !asker.answer.is_closed());
        askers.push(Asker { denied_by, answer });
    }

    pub(super) fn here(&mut self, room: &str) {
        self.answer(room, |_| Location::Here);
    }

    pub(super) fn nowhere(&mut self, room: &str) {
        self.answer(room, |_| Location::Nowhere);
    }

    pub(super) fn elsewhere(&mut self, room: &str, address: &str) {
        self.answer(room, |denied_by| match denied_by == Some(address) {
            // It is about to write that it owns the room, or to notice that it does not.
            true => Location::Unavailable("the room moves between controllers".to_owned()),
            false => Location::Elsewhere {
                address: address.to_owned(),
            },
        });
    }

    pub(super) fn unavailable(&mut self, room: &str, reason: UnavailableReason) {
        let why = match reason {
            UnavailableReason::Store => "the cluster's store cannot be reached",
            UnavailableReason::Record => "the cluster's record of the room cannot be read",
            UnavailableReason::Contended => "several controllers claim the room",
            UnavailableReason::Full => "this controller has as many rooms as it takes",
        };
        self.answer(room, |_| Location::Unavailable(why.to_owned()));
    }

    fn answer(&mut self, room: &str, location: impl Fn(Option<&str>) -> Location) {
        for asker in self.0.remove(room).unwrap_or_default() {
            // An error means that nobody waits for it any more.
            let _ = asker.answer.send(location(asker.denied_by.as_deref()));
        }
    }
}

impl Coordinator {
    pub(super) fn question(
        &mut self,
        now: Instant,
        question: Question,
        rooms: &mut Controller,
        out: &mut Vec<controller::Output>,
    ) {
        match question {
            Question::Locate {
                room,
                is_new_allowed,
                denied_by,
                answer,
            } => {
                if self.cluster.owns(&room) {
                    let _ = answer.send(Location::Here);
                    return;
                }
                let room: Arc<str> = room.into();
                self.askers.add(room.clone(), denied_by.clone(), answer);
                let creates = is_new_allowed && !self.is_draining;
                self.input(
                    now,
                    Input::Open {
                        room,
                        creates,
                        denied_by,
                    },
                    rooms,
                    out,
                );
            }
            Question::Controllers { answer } => {
                let others = self.cluster.controllers();
                let _ = answer.send(others.map(|(_, record)| record.address.clone()).collect());
            }
            Question::Suspect { address } => self.input(now, Input::Suspect { address }, rooms, out),
        }
    }
}
