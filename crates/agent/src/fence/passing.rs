//! The commands and messages that concern the endpoints of a room.

use southbound::{Command, MessageProtocol, Notice};

use super::belongings::{Belonging, Change};
use super::endpoints::{Arrived, Passing};
use super::{Counter, Counters, Term};

impl Term {
    /// Takes a command that is for the endpoints. Returns any other, which is for the agent.
    pub(super) fn take_for_endpoints(&mut self, command: Command, out: &mut Vec<Command>) -> Option<Command> {
        match command {
            Command::SetEndpoint(endpoint) => {
                if self.belongings.has(Belonging::Endpoint(endpoint.transport)) {
                    self.endpoints.set(*endpoint);
                }
            }
            Command::SetElsewhere { elsewhere } => self.endpoints.set_elsewhere(elsewhere),
            Command::SetDataTrack(route) => {
                if self.belongings.has(Belonging::DataTrack(route.endpoint, route.handle)) {
                    self.endpoints.set_track(*route);
                }
            }
            Command::Resend { transport, received } => self.endpoints.resend(transport, &received, out),
            // They end with what belongs to the room.
            Command::RemoveEndpoint { .. } | Command::RemoveDataTrack { .. } => {}
            command => return Some(command),
        }
        None
    }

    /// Brings the endpoints to what belongs to the room.
    pub(super) fn change_endpoints(&mut self, change: Change) {
        match change {
            Change::Ended(Belonging::Endpoint(transport)) => self.endpoints.remove(transport),
            Change::Ended(Belonging::DataTrack(endpoint, handle)) => self.endpoints.remove_track(endpoint, handle),
            Change::Begun(_) | Change::Ended(_) => {}
        }
    }

    /// Passes on a message of a data channel to those of the node that it is for. Returns the
    /// notice unless its owner need not know of it.
    pub(super) fn pass_on(
        &mut self,
        protocol: &dyn MessageProtocol,
        mut notice: Notice,
        counters: &mut Counters,
        out: &mut Vec<Command>,
    ) -> Option<Notice> {
        let Notice::MessageReceived {
            transport,
            label,
            payload,
            message,
            passed_on,
            ..
        } = &mut notice
        else {
            return Some(notice);
        };
        let message = *message;
        let arrived = Arrived {
            transport: *transport,
            label,
            payload,
            message,
        };
        let counter = match self.endpoints.pass_on(protocol, &arrived, out) {
            Passing::None => return Some(notice),
            Passing::Some(number) => {
                *passed_on = Some(number);
                return Some(notice);
            }
            Passing::All => Counter::PassedOn,
            Passing::Repeated => Counter::Repeated,
        };
        counters.count(counter);
        out.push(Command::MessageHandled { message });
        None
    }
}
