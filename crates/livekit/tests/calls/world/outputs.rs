//! Outputs of the front end and of the controller.

use std::time::Duration;

use controller::{AdminError, AdminReply, AdminRequest, AdminRequestId};
use livekit::Output;
use southbound::Command;

use super::{World, decode};

impl World {
    /// An administrator asks for something and is answered.
    pub(crate) fn administer(&mut self, request: AdminRequest) -> Result<AdminReply, AdminError> {
        let request_id = AdminRequestId(1);
        self.pass(controller::Input::Admin { request_id, request }, None);
        self.replies.pop().expect("every request has its answer")
    }

    /// Lets time pass, waking the controller when it wants to be.
    pub(crate) fn advance(&mut self, by: Duration) {
        let end = self.now + by;
        while let Some(at) = self.controller.poll_timeout().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            let mut outputs = Vec::new();
            self.controller.handle_timeout(self.now, &mut outputs);
            self.take_outputs(outputs, None);
        }
        self.now = end;
    }

    pub(super) fn take_outputs(&mut self, outputs: Vec<controller::Output>, identity: Option<String>) {
        for output in outputs {
            let mut out = Vec::new();
            let other = self.front.output(output, &mut out);
            self.collect(out, None);
            match other {
                Some(controller::Output::Command { command, .. }) => self.command(command, identity.as_ref()),
                Some(controller::Output::Data { to, message, data, .. }) => {
                    self.command(livekit::data_command(to, message, data), None);
                }
                Some(controller::Output::Count(counter)) => *self.counts.entry(counter).or_default() += 1,
                Some(controller::Output::Room(event)) => self.room_events.push(*event),
                Some(controller::Output::Event(event)) => self.events.push(event),
                Some(controller::Output::Reply { reply, .. }) => self.replies.push(reply),
                _ => {}
            }
        }
    }

    fn command(&mut self, command: Command, identity: Option<&String>) {
        if let (Command::Open(open), Some(identity)) = (&command, identity) {
            self.opened.insert(open.transport, identity.clone());
        }
        self.commands.push(command);
    }

    pub(crate) fn collect(&mut self, out: Vec<Output>, identity: Option<String>) {
        for output in out {
            match output {
                Output::Input(input) => self.pass(input, identity.clone()),
                Output::Send { connection, frame } => {
                    assert!(!self.closed.contains_key(&connection), "nothing is sent after the end");
                    let traffic = self.sent.entry(connection).or_default();
                    *traffic = (traffic.0 + 1, traffic.1 + frame.len());
                    let longest = self.longest.entry(connection).or_default();
                    *longest = frame.len().max(*longest);
                    self.inbox.entry(connection).or_default().push(decode(&frame));
                }
                Output::Close { connection, code, .. } => _ = self.closed.insert(connection, code),
                Output::Count(counter) => *self.counts.entry(counter).or_default() += 1,
                Output::Event(event) => self.events.push(event),
            }
        }
    }
}
