//! A media node with its agent and its data plane, and controllers over real connections.

mod hostile;
mod links;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use clap::Parser;
use southbound::{
    Command, ControllerHello, ControllerId, Epoch, IceCredentials, NodeMessage, Notice, OpenTransport, Publication,
    Refusal, RoomContent, RoomMessage, RoomState, TrackId, TrackSource, TransportId, Versions,
};
use tokio::time::timeout;
use wire::MediaKind;

use super::controller::{ConnectError, RemoteNode, connect};
use crate::cli::{self, Role};
use crate::cluster::certificates::{Authority, Issued};
use crate::cluster::tls::ClusterTls;
use crate::config::{Cluster, ClusterFiles, Config, Listener, Regions, TrunkEncryption};
use crate::metrics::Metrics;
use crate::os::clock::{self, Clocks};
use crate::roles::Process;
use crate::serve::media_node::{self, MediaNode};

const PATIENCE: Duration = Duration::from_secs(20);

const FIRST: ControllerId = ControllerId::new(1);
const SECOND: ControllerId = ControllerId::new(2);

/// A node that runs, and the authority of its cluster.
struct World {
    authority: Authority,
    address: String,
    directory: PathBuf,
    process: Process,
    node: MediaNode,
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

impl World {
    async fn start() -> Self {
        static WORLDS: AtomicU32 = AtomicU32::new(0);
        let nth = WORLDS.fetch_add(1, Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("weir-southbound-{}-{nth}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let authority = Authority::new(clock::unix()).unwrap();
        let port = ports::free_port();
        let media_port = ports::free_port().to_string();
        let line = [
            "weir",
            "media",
            "--dev",
            "--bind",
            "127.0.0.1",
            "--node-ip",
            "127.0.0.1",
            "--rtc-port",
        ];
        let arguments = match cli::Cli::parse_from(line.iter().chain(&[media_port.as_str()])).command {
            cli::Command::Media(arguments) => arguments,
            _ => unreachable!("it is `media`"),
        };
        let config = Config::load(&arguments).unwrap();
        let issued = authority.issue("one", &[Role::Media]).unwrap();
        let listen = ([127, 0, 0, 1], port).into();
        let cluster = Cluster {
            name: "one".to_owned(),
            region: None,
            listen,
            advertise: None,
            controllers: Listener {
                listen: ([127, 0, 0, 1], 7891).into(),
                advertise: None,
            },
            sip: Listener {
                listen: ([127, 0, 0, 1], 7892).into(),
                advertise: None,
            },
            files: files(&directory, "node", &authority.issued(), &issued),
            secrets: None,
            capacity: None,
            move_within: Duration::from_secs(60),
            trunk_encryption: TrunkEncryption::default(),
            versions: Versions::OURS,
            regions: Regions::default(),
            pinned: Vec::new(),
            store: stores::Config::Memory,
        };
        let process = Process {
            clocks: Clocks::read(),
            metrics: Metrics::default(),
        };
        let node = media_node::start(&cluster, &config, &process).await.unwrap();
        World {
            authority,
            address: listen.to_string(),
            directory,
            process,
            node,
        }
    }

    /// The certificate of a machine with a role.
    fn tls(&self, role: Role) -> ClusterTls {
        self.tls_as("two", role)
    }

    fn tls_as(&self, name: &str, role: Role) -> ClusterTls {
        let issued = self.authority.issue(name, &[role]).unwrap();
        self.tls_of(&self.authority.issued(), &issued)
    }

    fn tls_of(&self, ca: &Issued, issued: &Issued) -> ClusterTls {
        ClusterTls::load(&files(&self.directory, "peer", ca, issued)).unwrap()
    }

    async fn connect(&self, controller: ControllerId) -> RemoteNode {
        let tls = self.tls(Role::Controller);
        connect(&self.address, &tls, hello(controller)).await.unwrap()
    }

    /// How often something of connections was counted.
    fn cut(&self, reason: &str) -> u64 {
        let text = self.process.metrics.encode().finish();
        let line = format!("weir_southbound_closed_total{{reason=\"{reason}\"}} ");
        let value = text.lines().find_map(|text| text.strip_prefix(&line));
        value
            .unwrap_or_else(|| panic!("no {reason} in {text}"))
            .parse()
            .unwrap()
    }

    /// Waits until it was counted so often.
    async fn until_cut(&self, reason: &str, count: u64) {
        let counted = async {
            while self.cut(reason) < count {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, counted)
            .await
            .unwrap_or_else(|_| panic!("{reason} is not counted"));
        assert_eq!(self.cut(reason), count, "{reason}");
    }
}

fn files(directory: &std::path::Path, name: &str, ca: &Issued, issued: &Issued) -> ClusterFiles {
    let write = |suffix: &str, text: &str| {
        let path = directory.join(format!("{name}{suffix}"));
        fs::write(&path, text).unwrap();
        path
    };
    ClusterFiles {
        ca: write("-ca.pem", &ca.certificate),
        certificate: write(".pem", &issued.certificate),
        key: write(".key", &issued.key),
    }
}

fn hello(controller: ControllerId) -> ControllerHello {
    ControllerHello {
        versions: Versions::OURS,
        controller,
    }
}

fn message(room: &str, epoch: u64, revision: u64, content: RoomContent) -> RoomMessage {
    RoomMessage {
        room: room.into(),
        epoch: Epoch(epoch),
        revision,
        content,
    }
}

fn open(transport: u64) -> RoomContent {
    RoomContent::Command(Command::Open(OpenTransport {
        transport: TransportId(transport),
        local: IceCredentials {
            ufrag: format!("ufrag{transport}"),
            password: "0123456789012345678901".to_owned(),
        },
        channels: Vec::new(),
    }))
}

fn publish(track: u64, transport: u64) -> RoomContent {
    RoomContent::Command(Command::Publish(Publication {
        track: TrackId(track),
        transport: TransportId(transport),
        kind: MediaKind::Audio,
        mid: None,
        formats: Vec::new(),
        encodings: Vec::new(),
        muted: false,
        source: TrackSource::Camera,
    }))
}

async fn next_of_any_kind(node: &mut RemoteNode) -> NodeMessage {
    let event = timeout(PATIENCE, node.events.recv()).await.expect("an event in time");
    event.expect("the connection is there")
}

/// The next message, but for the claims of others.
async fn next(node: &mut RemoteNode) -> NodeMessage {
    loop {
        let message = next_of_any_kind(node).await;
        if !matches!(message, NodeMessage::Rooms { .. }) {
            return message;
        }
    }
}

/// Takes the rooms and the node's own notice.
async fn take_greeting(node: &mut RemoteNode) -> Vec<RoomState> {
    let NodeMessage::Rooms { rooms, is_last: true } = next_of_any_kind(node).await else {
        panic!("the only page of rooms");
    };
    let about_node = next(node).await;
    let is_node = matches!(
        about_node,
        NodeMessage::Notice {
            room: None,
            notice: Notice::Node(_)
        }
    );
    assert!(is_node, "{about_node:?}");
    rooms
}

async fn claim(node: &mut RemoteNode, room: &str, epoch: u64) -> Vec<NodeMessage> {
    node.messages
        .send(message(room, epoch, 1, RoomContent::Claim))
        .await
        .unwrap();
    let mut answers = Vec::new();
    loop {
        answers.push(next(node).await);
        if let Some(NodeMessage::Claimed { .. } | NodeMessage::Refused { .. }) = answers.last() {
            return answers;
        }
    }
}

fn claimed(room: &str, epoch: u64, revision: u64) -> NodeMessage {
    NodeMessage::Claimed {
        room: room.into(),
        epoch: Epoch(epoch),
        revision,
    }
}

#[tokio::test]
async fn a_controller_of_the_version_before_is_served() {
    let world = World::start().await;
    let newest = Versions::OURS.newest - 1;
    let before = ControllerHello {
        versions: Versions { oldest: newest, newest },
        controller: FIRST,
    };
    let tls = world.tls(Role::Controller);
    let mut node = connect(&world.address, &tls, before).await.unwrap();
    assert_eq!((node.version, take_greeting(&mut node).await), (newest, Vec::new()));
    assert_eq!(claim(&mut node, "lobby", 1).await, [claimed("lobby", 1, 0)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_controller_takes_a_room_over_with_its_snapshot() {
    let world = World::start().await;
    let mut first = world.connect(FIRST).await;
    assert_eq!(
        (first.version, take_greeting(&mut first).await),
        (Versions::OURS.newest, Vec::new())
    );
    assert_eq!(claim(&mut first, "lobby", 1).await, [claimed("lobby", 1, 0)]);
    first.messages.send(message("lobby", 1, 2, open(1))).await.unwrap();
    let tracks = agent::limits::TRACKS_PER_TRANSPORT_MAX as u64;
    for track in 0..=tracks {
        let publish = publish(100 + track, 1);
        first.messages.send(message("lobby", 1, 3, publish)).await.unwrap();
    }
    let NodeMessage::Notice { room, notice } = next(&mut first).await else {
        panic!("a notice of the agent");
    };
    assert_eq!(room.as_deref(), Some("lobby"));
    let is_refused = matches!(notice, Notice::Refused { transport, .. } if transport == TransportId(1));
    assert!(is_refused, "{notice:?}");
    let (part, blob): (Arc<str>, Arc<[u8]>) = ("ada".into(), [7; 3000][..].into());
    let save = RoomContent::Save {
        part: part.clone(),
        blob: blob.clone(),
    };
    first.messages.send(message("lobby", 1, 4, save)).await.unwrap();
    // Messages are answered in their order.
    assert_eq!(claim(&mut first, "attic", 1).await, [claimed("attic", 1, 0)]);

    let mut second = world.connect(SECOND).await;
    assert_eq!(second.hello.node, first.hello.node);
    let rooms = take_greeting(&mut second).await;
    let lobby = rooms.iter().find(|state| *state.room == *"lobby").unwrap();
    assert_eq!((lobby.epoch, lobby.revision, rooms.len()), (Epoch(1), 4, 2));
    let saved = NodeMessage::Saved {
        room: "lobby".into(),
        epoch: Epoch(2),
        part,
        blob,
    };
    assert_eq!(claim(&mut second, "lobby", 2).await, [saved, claimed("lobby", 2, 4)]);

    let refused = |revision| NodeMessage::Refused {
        room: "lobby".into(),
        epoch: Epoch(1),
        revision,
        why: Refusal::Outdated(Epoch(2)),
    };
    assert_eq!(next(&mut first).await, refused(4), "it is told of its successor");
    first.messages.send(message("lobby", 1, 5, open(2))).await.unwrap();
    assert_eq!(next(&mut first).await, refused(5));
    assert_eq!(claim(&mut first, "attic", 1).await, [claimed("attic", 1, 1)]);
    second
        .messages
        .send(message("lobby", 2, 2, publish(999, 1)))
        .await
        .unwrap();
    let about = next(&mut second).await;
    let is_of_lobby = matches!(&about, NodeMessage::Notice { room: Some(room), .. } if **room == *"lobby");
    assert!(is_of_lobby, "the transport of the first owner is still full: {about:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_later_connection_of_a_controller_replaces_the_earlier_one() {
    let world = World::start().await;
    let mut earlier = world.connect(FIRST).await;
    take_greeting(&mut earlier).await;
    claim(&mut earlier, "lobby", 1).await;
    let mut later = world.connect(FIRST).await;
    assert_eq!(timeout(PATIENCE, earlier.events.recv()).await.unwrap(), None, "it ends");
    world.until_cut("replaced", 1).await;
    assert_eq!(take_greeting(&mut later).await.len(), 1);
    assert_eq!(claim(&mut later, "lobby", 1).await, [claimed("lobby", 1, 1)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_controller_that_leaves_is_forgotten_and_its_rooms_stay() {
    let world = World::start().await;
    let mut first = world.connect(FIRST).await;
    take_greeting(&mut first).await;
    claim(&mut first, "lobby", 1).await;
    drop(first);
    let mut second = world.connect(SECOND).await;
    assert_eq!(take_greeting(&mut second).await.len(), 1);
    let mut again = world.connect(FIRST).await;
    take_greeting(&mut again).await;
    assert_eq!(claim(&mut again, "lobby", 1).await, [claimed("lobby", 1, 1)]);
    drop((second, again));
    // As long as the node may take to find out.
    tokio::time::sleep(Duration::from_secs(1)).await;
    for reason in ["malformed", "replaced", "slow", "handshake"] {
        assert_eq!(world.cut(reason), 0, "{reason}");
    }
}
