//! Machines that relay calls over real connections, and peers that are none.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ::cluster::{MediaRecord, media_key};
use bytes::Bytes;
use sip::{PEER_VERSION, PeerMessage};
use southbound::NodeId;
use stores::{Claim, Memory, Store, Swap};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;

use super::{Link, RelayEvent, Relays, start};
use crate::cli::Role;
use crate::cluster::certificates::Authority;
use crate::cluster::tls::ClusterTls;
use crate::config::ClusterFiles;
use crate::metrics::relay_peers::{PeerCounts, PeerFailure};
use crate::os::{clock, tcp};

const PATIENCE: Duration = Duration::from_secs(20);

/// A store, and the certificates of a cluster.
pub(crate) struct World {
    authority: Authority,
    directory: PathBuf,
    store: Arc<Memory>,
}

/// A machine that runs.
pub(crate) struct Machine {
    pub(crate) node: NodeId,
    address: String,
    pub(crate) relays: Relays,
    counts: PeerCounts,
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

impl World {
    pub(crate) fn new() -> Self {
        static WORLDS: AtomicU32 = AtomicU32::new(0);
        let nth = WORLDS.fetch_add(1, Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("weir-relays-{}-{nth}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        Self {
            authority: Authority::new(clock::unix()).unwrap(),
            directory,
            store: Arc::new(Memory::timed()),
        }
    }

    fn tls(&self, name: &str, roles: &[Role]) -> ClusterTls {
        let path = |end: &str| self.directory.join(format!("{name}.{end}"));
        let files = ClusterFiles {
            ca: path("ca"),
            certificate: path("pem"),
            key: path("key"),
        };
        let issued = self.authority.issue(name, roles).unwrap();
        fs::write(&files.ca, self.authority.issued().certificate).unwrap();
        fs::write(&files.certificate, issued.certificate).unwrap();
        fs::write(&files.key, issued.key).unwrap();
        ClusterTls::load(&files).unwrap()
    }

    /// Starts a machine, which the store knows from then on.
    pub(crate) async fn machine(&self, node: u64) -> Machine {
        let listener = tcp::bind(([127, 0, 0, 1], 0).into()).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (node, counts) = (NodeId(node), PeerCounts::default());
        let tls = self.tls(&format!("machine-{}", node.0), &[Role::Media, Role::Sip]);
        let relays = start(node, listener, tls, self.store.clone(), counts.clone());
        let machine = Machine {
            node,
            address,
            relays,
            counts,
        };
        self.enter(node, &machine.address).await;
        machine
    }

    async fn enter(&self, node: NodeId, sip: &str) {
        let record = MediaRecord {
            sip: sip.to_owned(),
            ..MediaRecord::default()
        };
        let value = Bytes::from(serde_json::to_vec(&record).unwrap());
        let claimed = self.store.claim(&media_key(node), value, None).await.unwrap();
        assert!(matches!(claimed, Claim::Won { .. }));
    }

    async fn leave(&self, node: NodeId) {
        let entry = self.store.get(&media_key(node)).await.unwrap().unwrap();
        let deleted = self.store.delete(&media_key(node), entry.revision).await.unwrap();
        assert!(matches!(deleted, Swap::Won { .. }));
    }

    /// A connection to a machine, by a peer with these roles.
    pub(crate) async fn raw(
        &self,
        machine: &Machine,
        name: &str,
        roles: &[Role],
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(&machine.address).await?;
        let role = ServerName::try_from(Role::Sip.name()).unwrap();
        let tls = self.tls(name, roles);
        tls.relay_connector().connect(role, stream).await
    }
}

impl Machine {
    async fn event(&mut self) -> RelayEvent {
        let event = timeout(PATIENCE, self.relays.events.recv()).await;
        event.expect("an event in time").expect("connections that run")
    }

    /// The next connection of another machine.
    async fn joined(&mut self) -> (NodeId, Link) {
        loop {
            if let RelayEvent::Joined(peer, link) = self.event().await {
                return (peer, link);
            }
        }
    }

    async fn left(&mut self) -> NodeId {
        loop {
            if let RelayEvent::Left(peer, _) = self.event().await {
                return peer;
            }
        }
    }

    async fn said(&mut self) -> PeerMessage {
        loop {
            if let RelayEvent::Said(_, _, message) = self.event().await {
                return message;
            }
        }
    }

    async fn until_counted(&self, why: PeerFailure, count: u64) {
        self.until_counted_at_least(why, count).await;
        assert_eq!(self.counts.count(why), count, "{why:?}");
    }

    async fn until_counted_at_least(&self, why: PeerFailure, count: u64) {
        let counted = async {
            while self.counts.count(why) < count {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(PATIENCE, counted).await.expect("counted in time");
    }
}

pub(crate) fn framed(body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32).to_be_bytes(), body].concat()
}

fn hello(version: u32, node: u64) -> Vec<u8> {
    let node = NodeId(node);
    framed(&PeerMessage::Hello { version, node }.encode())
}

/// A hello, and the first message after it.
pub(crate) fn opening(node: u64) -> Vec<u8> {
    [hello(PEER_VERSION, node), framed(&PeerMessage::Ping.encode())].concat()
}

pub(crate) fn ask(question: u64) -> PeerMessage {
    PeerMessage::Ask {
        question,
        call: b"x"[..].into(),
        begins: false,
    }
}

/// Waits until the other end has closed a connection.
async fn closed(mut stream: TlsStream<TcpStream>) {
    let mut rest = Vec::new();
    let _ = timeout(PATIENCE, stream.read_to_end(&mut rest))
        .await
        .expect("the end in time");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn machines_that_the_store_knows_are_connected_once() {
    let world = World::new();
    let mut first = world.machine(1).await;
    assert!(
        matches!(first.event().await, RelayEvent::Known(_)),
        "the store is known to answer"
    );
    let mut second = world.machine(2).await;
    let ((second_id, to_second), (first_id, to_first)) = tokio::join!(first.joined(), second.joined());
    assert_eq!((first_id, second_id), (first.node, second.node));
    to_second.send(ask(1));
    to_first.send(ask(2));
    assert_eq!(second.said().await, ask(1));
    assert_eq!(first.said().await, ask(2));

    // Without a record the connection stays: the store may have forgotten it.
    world.leave(NodeId(2)).await;
    sleep(Duration::from_secs(5)).await;
    to_second.send(ask(3));
    assert_eq!(second.said().await, ask(3));
    drop(first);
    assert_eq!(second.left().await, NodeId(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_that_is_away_is_reported_and_found_when_it_is_back() {
    let world = World::new();
    let port = ports::free_port();
    world.enter(NodeId(7), &format!("127.0.0.1:{port}")).await;
    let mut first = world.machine(1).await;
    loop {
        match first.event().await {
            RelayEvent::Known(known) => assert_eq!(known, [NodeId(7)]),
            RelayEvent::Unreached(peer) => break assert_eq!(peer, NodeId(7)),
            other => panic!("{other:?}"),
        }
    }
    let listener = tcp::bind(([127, 0, 0, 1], port).into()).unwrap();
    let tls = world.tls("back", &[Role::Sip]);
    let counts = PeerCounts::default();
    let _back = start(NodeId(7), listener, tls, world.store.clone(), counts);
    assert_eq!(first.joined().await.0, NodeId(7));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_outlives_the_search_for_an_earlier_process_of_its_machine() {
    let world = World::new();
    let mut first = world.machine(1).await;
    let mut second = world.machine(2).await;
    let ((_, to_second), (_, to_first)) = tokio::join!(first.joined(), second.joined());
    // The record of a process that was killed stays until its lease is over.
    for earlier in [3, 4] {
        world.enter(NodeId(earlier), &second.address).await;
    }
    first.until_counted_at_least(PeerFailure::Identity, 4).await;
    to_second.send(ask(1));
    to_first.send(ask(2));
    let told = |event| match event {
        RelayEvent::Known(_) | RelayEvent::Unreached(_) => None,
        RelayEvent::Said(_, _, message) => Some(message),
        other => panic!("{other:?}"),
    };
    for (machine, message) in [(&mut second, ask(1)), (&mut first, ask(2))] {
        let said = loop {
            if let Some(said) = told(machine.event().await) {
                break said;
            }
        };
        assert_eq!(said, message);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn peers_that_are_no_relays_are_refused() {
    let world = World::new();
    let machine = world.machine(1).await;
    for (count, roles) in [
        (1, &[Role::Media][..]),
        (2, &[Role::Controller]),
        (3, &[Role::Controller, Role::Media]),
    ] {
        if let Ok(stream) = world.raw(&machine, "other", roles).await {
            closed(stream).await;
        }
        machine.until_counted(PeerFailure::Role, count).await;
    }
    let mut plain = TcpStream::connect(&machine.address).await.unwrap();
    plain.write_all(b"1_1 d7:command4:pinge").await.unwrap();
    let mut rest = Vec::new();
    let _ = timeout(PATIENCE, plain.read_to_end(&mut rest)).await.unwrap();
    machine.until_counted(PeerFailure::Handshake, 1).await;
    let mute = TcpStream::connect(&machine.address).await.unwrap();
    machine.until_counted(PeerFailure::Silent, 1).await;
    drop(mute);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_cannot_be_read_ends_its_connection() {
    let world = World::new();
    let mut machine = world.machine(1).await;
    let connect = || world.raw(&machine, "evil", &[Role::Sip]);
    let openings: [(PeerFailure, Vec<u8>); 5] = [
        (PeerFailure::Malformed, framed(b"\xff\xff\xff")),
        (PeerFailure::Malformed, framed(&ask(1).encode())),
        (PeerFailure::Malformed, (1_u32 << 30).to_be_bytes().to_vec()),
        (PeerFailure::Version, hello(PEER_VERSION + 1, 9)),
        (PeerFailure::Identity, opening(1)),
    ];
    for (nth, (why, opening)) in openings.into_iter().enumerate() {
        let before = machine.counts.count(why);
        let mut stream = connect().await.unwrap();
        stream.write_all(&opening).await.unwrap();
        closed(stream).await;
        assert_eq!(machine.counts.count(why), before + 1, "{nth}");
    }
    let mut mute = connect().await.unwrap();
    mute.write_all(&hello(PEER_VERSION, 9)[..3]).await.unwrap();
    machine.until_counted(PeerFailure::Silent, 1).await;

    for junk in [framed(b"\x0a\xff"), vec![0xff; 4]] {
        let before = machine.counts.count(PeerFailure::Malformed);
        let mut stream = connect().await.unwrap();
        stream.write_all(&opening(9)).await.unwrap();
        stream.write_all(&junk).await.unwrap();
        closed(stream).await;
        machine.until_counted(PeerFailure::Malformed, before + 1).await;
    }
    assert_eq!(machine.left().await, NodeId(9), "it was connected before");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_falls_silent_or_reads_nothing_is_disconnected() {
    let world = World::new();
    let mut machine = world.machine(1).await;
    let mut silent = world.raw(&machine, "silent", &[Role::Sip]).await.unwrap();
    silent.write_all(&opening(9)).await.unwrap();
    let (peer, _link) = machine.joined().await;
    let began = clock::now();
    assert_eq!(machine.left().await, peer);
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
    machine.until_counted(PeerFailure::Silent, 1).await;

    let mut deaf = world.raw(&machine, "deaf", &[Role::Sip]).await.unwrap();
    deaf.write_all(&opening(10)).await.unwrap();
    let (_, link) = machine.joined().await;
    let began = clock::now();
    // More than all buffers take.
    for question in 0..200_000 {
        link.send(ask(question));
    }
    assert_eq!(machine.left().await, NodeId(10));
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
    machine.until_counted(PeerFailure::Slow, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_cannot_take_the_id_of_another() {
    let world = World::new();
    let mut machine = world.machine(1).await;
    let mut honest = world.raw(&machine, "honest", &[Role::Sip]).await.unwrap();
    honest.write_all(&opening(9)).await.unwrap();
    let (peer, link) = machine.joined().await;
    let mut thief = world.raw(&machine, "thief", &[Role::Sip]).await.unwrap();
    thief.write_all(&opening(9)).await.unwrap();
    closed(thief).await;
    machine.until_counted(PeerFailure::Identity, 1).await;
    honest.write_all(&framed(&ask(5).encode())).await.unwrap();
    match machine.event().await {
        RelayEvent::Said(said, id, message) => assert_eq!((said, id, message), (peer, link.id, ask(5))),
        other => panic!("{other:?}"),
    }
}
