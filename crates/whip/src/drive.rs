//! The front end with a controller and nothing beside, for programs and tests that have no other
//! front end.

use std::collections::VecDeque;
use std::time::Instant;

use controller::Controller;

use crate::answer::Answer;
use crate::front::{CallId, Front, Output};

/// Passes inputs to the controller and its outputs to the front end until nothing is left to do.
/// The controller's outputs are appended to `outputs`, beginning with those that are there already.
/// Returns the answers to calls.
pub fn drive(
    front: &mut Front,
    controller: &mut Controller,
    now: Instant,
    out: Vec<Output>,
    outputs: &mut Vec<controller::Output>,
) -> Vec<(CallId, Answer)> {
    let mut answers = Vec::new();
    let mut inputs = VecDeque::new();
    let mut todo = out;
    let mut at = 0;
    loop {
        for output in todo.drain(..) {
            match output {
                Output::Input(input) => inputs.push_back(input),
                Output::Answer { call, answer } => answers.push((call, answer)),
                Output::Count(_) | Output::Keep { .. } => {}
            }
        }
        while at < outputs.len() {
            take(front, controller, &outputs[at], &mut todo);
            at += 1;
        }
        if !todo.is_empty() {
            continue;
        }
        if let Some(input) = inputs.pop_front() {
            controller.handle(now, input, outputs);
            continue;
        }
        front.handled(&mut todo);
        if todo.is_empty() {
            return answers;
        }
    }
}

fn take(front: &mut Front, rooms: &Controller, output: &controller::Output, out: &mut Vec<Output>) {
    use controller::Output as SessionUpdates;
    match output {
        SessionUpdates::Notify {
            connection,
            notification,
        } => front.notify(rooms, &[*connection], notification, out),
        SessionUpdates::NotifyMany {
            connections,
            notification,
        } => front.notify(rooms, connections, notification, out),
        SessionUpdates::End { connection, .. } => front.ended(*connection, out),
        SessionUpdates::Room(event) => front.room_event(event),
        _ => {}
    }
}
