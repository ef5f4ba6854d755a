//! One media node: a real agent over the watched model, behind a fence or as nodes of the version
//! before are.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use agent::Agent;
use agent::fence::{Fence, Output};
use dataplane::Clock;
use southbound::{Command, ControllerId, Epoch, NodeId, NodeMessage, Notice, RoomContent, RoomMessage, Versions};

use crate::History;
use crate::plane::Plane;

/// Address of a media node.
pub(crate) fn address(machine: usize) -> SocketAddr {
    ([192, 0, 2, 1 + machine as u8], 7882).into()
}

/// The media node with an address, if it is one's of so many.
pub(crate) fn machine_at(at: SocketAddr, machines: usize) -> Option<usize> {
    (0..machines).find(|machine| address(*machine) == at)
}

/// One media node.
pub(crate) struct Machine {
    pub(crate) agent: Agent,
    pub(crate) plane: Plane,
    /// The fence of a node that passes messages on; `None` for one of the version before.
    fenced: Option<Fenced>,
}

/// A fence, and the rooms that the present controller has claimed at it.
struct Fenced {
    fence: Fence,
    owner: ControllerId,
    epoch: Epoch,
    claimed: BTreeSet<Arc<str>>,
    /// The version of the protocol that the node speaks.
    version: u32,
}

impl Fenced {
    fn new(node: NodeId, version: u32) -> Self {
        let mut fence = Fence::new(node, Box::new(livekit::Messages));
        let owner = ControllerId::new(0);
        fence.connect(owner, version, &mut Output::default());
        Self {
            fence,
            owner,
            epoch: Epoch(1),
            claimed: BTreeSet::new(),
            version,
        }
    }

    /// That of a node, of four kinds in turn: three are of versions before.
    fn of_node(seed: u64, node: u64) -> Option<Self> {
        match (seed + node) % 3 {
            0 => None,
            1 if (seed / 3).is_multiple_of(4) => Some(Self::new(NodeId(node), Versions::ENDPOINTS)),
            1 => Some(Self::new(NodeId(node), Versions::LINKS)),
            _ => Some(Self::new(NodeId(node), Versions::OURS.newest)),
        }
    }

    fn say(&mut self, room: Arc<str>, content: RoomContent, out: &mut Output) {
        let message = RoomMessage {
            room,
            epoch: self.epoch,
            revision: 0,
            content,
        };
        let taken = self.fence.take(self.owner, message, out);
        taken.expect("there is one owner at a time");
    }
}

impl Machine {
    /// Whether the node passes messages on by itself.
    pub(crate) fn passes_messages_on(&self) -> bool {
        self.fenced.is_some()
    }

    /// Whether the node has links to others.
    pub(crate) fn has_links(&self) -> bool {
        let version = self.fenced.as_ref().map(|fenced| fenced.version);
        version.is_some_and(|version| version >= Versions::LINKS)
    }

    /// Whether packets of data tracks go over its links.
    pub(crate) fn links_tracks(&self) -> bool {
        let version = self.fenced.as_ref().map(|fenced| fenced.version);
        version.is_some_and(|version| version >= Versions::LINKED_TRACKS)
    }

    /// Whether participants of other nodes can come to the node without joining again.
    pub(crate) fn takes_moves(&self) -> bool {
        let version = self.fenced.as_ref().map(|fenced| fenced.version);
        version.is_none_or(|version| version >= Versions::MOVES)
    }

    /// The fence, if there is one.
    pub(crate) fn fence(&mut self) -> Option<&mut Fence> {
        self.fenced.as_mut().map(|fenced| &mut fenced.fence)
    }

    /// The nodes that links are to be made to.
    pub(crate) fn wanted_links(&self) -> BTreeSet<NodeId> {
        let fenced = self.fenced.as_ref();
        fenced.map_or_else(BTreeSet::new, |fenced| fenced.fence.wanted_links())
    }

    /// The effects of a command of the controller.
    pub(crate) fn fenced(&mut self, room: Option<Arc<str>>, command: Command) -> Output {
        let mut out = Output::default();
        let (Some(fenced), Some(room)) = (&mut self.fenced, room) else {
            out.commands.push(command);
            return out;
        };
        if fenced.claimed.insert(room.clone()) {
            fenced.say(room.clone(), RoomContent::Claim, &mut out);
        }
        fenced.say(room, RoomContent::Command(command), &mut out);
        out
    }

    /// The effects of a notice of the agent.
    pub(crate) fn noticed(&mut self, notice: Notice) -> Output {
        let mut out = Output::default();
        match &mut self.fenced {
            Some(fenced) => fenced.fence.notice(notice, &mut out),
            None => {
                let notice = NodeMessage::Notice { room: None, notice };
                out.messages.push((ControllerId::new(0), notice));
            }
        }
        out
    }

    /// Another controller goes on with all rooms.
    pub(crate) fn replace_owner(&mut self, number: u32) {
        let Some(fenced) = &mut self.fenced else {
            return;
        };
        let mut out = Output::default();
        fenced.fence.disconnect(fenced.owner, &mut out);
        fenced.owner = ControllerId::new(number);
        fenced.epoch = Epoch(fenced.epoch.0 + 1);
        fenced.claimed.clear();
        fenced.fence.connect(fenced.owner, fenced.version, &mut out);
    }

    /// The controller has said everything that it knows of a room.
    pub(crate) fn complete(&mut self, room: &Arc<str>) -> Output {
        let mut out = Output::default();
        if let Some(fenced) = self.fenced.as_mut().filter(|fenced| fenced.claimed.contains(room)) {
            fenced.say(room.clone(), RoomContent::Complete, &mut out);
        }
        out
    }

    /// Starts a media node at the address of the machine, as the one after so many others.
    pub(crate) fn start(
        clock: Clock,
        history: &History,
        certificate: agent::Certificate,
        machine: usize,
        starts: usize,
    ) -> Self {
        let mut config = agent::Config::new(vec![address(machine)], certificate);
        config.clear_rtp = !history.dtls;
        config.node = NodeId(starts as u64);
        Self {
            agent: Agent::new(config, clock, history.seed.wrapping_add(starts as u64)),
            plane: Plane::new(clock, starts),
            fenced: Fenced::of_node(history.seed, starts as u64),
        }
    }
}

/// The notices among the messages of a fence.
pub(crate) fn notices(messages: Vec<(ControllerId, NodeMessage)>) -> Vec<Notice> {
    let notice = |(_, message)| match message {
        NodeMessage::Notice { notice, .. } => Some(notice),
        _ => None,
    };
    messages.into_iter().filter_map(notice).collect()
}
