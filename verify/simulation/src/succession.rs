//! Controllers and media nodes that die, and those that come after them.

use std::time::Instant;

use dataplane::Clock;
use livekit::Front;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::History;
use crate::machine::Machine;
use crate::node::{Done, Node, controller};

/// A value as it is after it was written and read.
fn written<T: Serialize + DeserializeOwned>(value: &T) -> T {
    let text = serde_json::to_string(value).expect("it can be written");
    serde_json::from_str(&text).expect("what was written can be read")
}

impl Node {
    /// A media node dies with all its state, and another one starts in its place.
    pub(crate) fn replace_machine(
        &mut self,
        now: Instant,
        clock: Clock,
        history: &History,
        certificate: &agent::Certificate,
        machine: usize,
    ) -> Vec<Done> {
        let node = self.machines[machine].agent.node_id();
        self.machines[machine] = Machine::start(clock, history, certificate.clone(), machine, self.starts);
        self.starts += 1;
        self.announced.retain(|(announced, _)| *announced != node);
        let mut outputs = Vec::new();
        self.controller
            .handle(now, controller::Input::NodeLost { node }, &mut outputs);
        let mut done = Vec::new();
        self.settle(now, outputs.into(), Vec::new(), &mut done);
        done
    }

    /// Another controller goes on with all rooms, as they are written down at this moment. Nobody
    /// has a connection with it.
    pub(crate) fn replace_controller(&mut self, now: Instant) -> Vec<Done> {
        let mut next = controller(self.wall, self.seed, self.controllers);
        for machine in &mut self.machines {
            machine.replace_owner(self.controllers);
        }
        self.controllers += 1;
        let mut outputs = Vec::new();
        for (node, notice) in self.announced.clone() {
            next.handle(now, livekit::notice_input(node, notice), &mut outputs);
        }
        let former = self.controller.takeover();
        for name in former.rooms() {
            let room = written(&former.room(&name).expect("it was just listed"));
            let participants = written(&former.participants(&name));
            let restored = next.takeover().restore(now, &name, room, participants, &mut outputs);
            restored.expect("what was saved can be gone on with");
            for machine in &self.machines {
                next.takeover()
                    .repeat(now, &name, machine.agent.node_id(), &mut outputs);
            }
        }
        (self.controller, self.front) = (next, Front::default());
        let mut done = Vec::new();
        self.settle(now, outputs.into(), Vec::new(), &mut done);
        for room in self.controller.takeover().rooms() {
            for machine in 0..self.machines.len() {
                let mut notices = Vec::new();
                let completed = self.machines[machine].complete(&room);
                let outputs = self.pass_fence(now, machine, completed, &mut notices, &mut done);
                self.settle(now, outputs.into(), notices, &mut done);
            }
        }
        done
    }
}
