//! Commands and notices on their way through the fences of media nodes.

use std::sync::Arc;
use std::time::Instant;

use southbound::{Command, NodeId, Notice};

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
        (commands, heard): (Vec<Command>, Vec<Notice>),
        notices: &mut Vec<(usize, Notice)>,
        done: &mut Vec<Done>,
    ) -> Vec<controller::Output> {
        let node = self.machines[machine].agent.node_id();
        for command in commands {
            self.command(now, node, command, notices, done);
        }
        let outputs = heard.into_iter().map(|notice| self.notice(now, machine, notice));
        outputs.collect::<Vec<_>>().concat()
    }
}
