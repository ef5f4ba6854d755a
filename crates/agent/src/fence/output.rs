//! The effects of a message or a notice.

use southbound::{Command, ControllerId, MessageId, NodeMessage};

use super::LinkOutput;

/// Commands and messages that a fence lets through.
#[derive(Debug, Default)]
pub struct Output {
    /// Commands for the agent.
    pub commands: Vec<Command>,
    /// Messages, each with the controller that gets it.
    pub messages: Vec<(ControllerId, NodeMessage)>,
    /// Messages that links to other nodes hold from now on. The agent is told before the commands.
    pub held: Vec<MessageId>,
    /// Messages that came over links, with their lengths. The agent is told before the commands.
    pub opened: Vec<(MessageId, usize)>,
    /// Messages that one link holds no longer. The agent is told after the commands.
    pub released: Vec<MessageId>,
    /// Messages whose owner is away, and that the node keeps for the next one. The agent is told
    /// after the commands.
    pub parked: Vec<MessageId>,
    /// The messages and connections of links.
    pub links: Vec<LinkOutput>,
}
