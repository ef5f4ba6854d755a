//! Commands and notices on their way through the fences of media nodes.

use std::sync::Arc;
use std::time::Instant;

use agent::fence::Output;
use southbound::{Command, NodeId, Notice};

use crate::machine::{self, Machine};
use crate::node::{Done, Node};

impl Node {
    /// The controller says something to a node. Returns its answers to what it hears at once.
    pub(crate) fn say(
        &mut self,
        now: Instant,
        node: NodeId,
        room: Option<Arc<str>>,
        command: Command,
        notices: &mut Vec<(usize, Notice)>,
        done: &mut Vec<Done>,
    ) -> Vec<controller::Output> {
        let index = self.machines.iter().position(|machine| machine.agent.node_id() == node);
        let Some(index) = index else { return Vec::new() };
        let fenced = self.machines[index].fenced(room, command);
        self.pass_fence(now, index, fenced, notices, done)
    }

    /// A node says something to the controller. Returns the controller's answers.
    pub(crate) fn hear(
        &mut self,
        now: Instant,
        machine: usize,
        notice: Notice,
        notices: &mut Vec<(usize, Notice)>,
        done: &mut Vec<Done>,
    ) -> Vec<controller::Output> {
        let noticed = self.machines[machine].noticed(notice);
        self.pass_fence(now, machine, noticed, notices, done)
    }

    /// The commands and notices of a node's fence arrive.
    pub(crate) fn pass_fence(
        &mut self,
        now: Instant,
        machine: usize,
        out: Output,
        notices: &mut Vec<(usize, Notice)>,
        done: &mut Vec<Done>,
    ) -> Vec<controller::Output> {
        let node = self.machines[machine].agent.node_id();
        let agent = &mut self.machines[machine].agent;
        out.held.into_iter().for_each(|message| agent.hold(message));
        for (message, len) in out.opened {
            agent.open_linked(message, len);
        }
        for command in out.commands {
            self.command(now, node, command, notices, done);
        }
        for message in out.released {
            let Machine { agent, plane, .. } = &mut self.machines[machine];
            let mut of_machine = Vec::new();
            agent.release(now, message, plane, &mut of_machine);
            notices.extend(of_machine.into_iter().map(|notice| (machine, notice)));
        }
        for message in out.parked {
            let Machine { agent, plane, .. } = &mut self.machines[machine];
            let mut of_machine = Vec::new();
            agent.park(now, message, plane, &mut of_machine);
            notices.extend(of_machine.into_iter().map(|notice| (machine, notice)));
        }
        self.wires.send(now, node, out.links);
        let heard = machine::notices(out.messages).into_iter();
        let outputs = heard.map(|notice| self.notice(now, machine, notice));
        outputs.collect::<Vec<_>>().concat()
    }

    /// Carries what is due on links.
    pub(crate) fn carry_links(&mut self, now: Instant, done: &mut Vec<Done>) {
        while let Some(happening) = self.wires.poll(now) {
            for (machine, out) in happening.tell(&mut self.machines) {
                let mut notices = Vec::new();
                let outputs = self.pass_fence(now, machine, out, &mut notices, done);
                self.settle(now, outputs.into(), notices, done);
            }
        }
    }

    /// The agents say which messages of links their receivers have, and nodes which links they
    /// want. Returns what follows from links that end.
    pub(crate) fn follow_links(&mut self, now: Instant) -> Vec<(usize, Output)> {
        for machine in &mut self.machines {
            let node = machine.agent.node_id();
            let delivered = machine.agent.take_delivered();
            if let Some(fence) = machine.fence() {
                let mut out = Output::default();
                fence.delivered(delivered, &mut out);
                self.wires.send(now, node, out.links);
            }
        }
        let ended = self.wires.follow(now, &self.machines);
        let machines = &mut self.machines;
        ended
            .into_iter()
            .flat_map(|happening| happening.tell(machines))
            .collect()
    }
}
