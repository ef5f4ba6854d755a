//! Each role alone, beside others that are played here.

use std::time::Duration;

use clap::Parser;
use southbound::{Capabilities, Command, Fingerprint, HashFunction, Node, NodeId, Notice};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::*;
use crate::cli;
use crate::config::Config;
use crate::controller_task::Nodes;
use crate::http::dev;
use crate::media::command_queue::command_queue;
use crate::media::node_link::NodeLink;
use crate::media::waker::Waker;
use crate::os::clock;
use crate::settings::api_keys;

const PATIENCE: Duration = Duration::from_secs(20);

/// The configuration of `weir serve --dev` with these flags.
fn config(flags: &[&str]) -> Config {
    let line = [
        "weir",
        "serve",
        "--dev",
        "--bind",
        "127.0.0.1",
        "--node-ip",
        "127.0.0.1",
    ];
    match cli::Cli::parse_from(line.iter().chain(flags)).command {
        cli::Command::Serve(arguments) => Config::load(&arguments).unwrap(),
        _ => unreachable!("it is `serve`"),
    }
}

fn process() -> Process {
    Process {
        clocks: Clocks::read(),
        metrics: Metrics::default(),
    }
}

#[tokio::test]
async fn a_media_node_starts_without_a_controller_of_ours() {
    let config = config(&["--rtc-port", "17881"]);
    let (media, mut node) = media::start(&config, &process()).await.unwrap();
    let said = timeout(PATIENCE, node.controller.next()).await.unwrap();
    let Some(Notice::Node(said)) = said else {
        panic!("the node, and not {said:?}");
    };
    assert_eq!(said.node, node.controller.id());
    let expected: std::net::SocketAddr = ([127, 0, 0, 1], 17881).into();
    assert_eq!(said.addresses, [expected]);
    assert!(media.query.agent_is_alive().await);
    drop((node.controller, node.relay));
    assert!(
        timeout(PATIENCE, node.ended).await.is_ok(),
        "it ends with its controllers"
    );
}

#[tokio::test]
async fn rooms_start_without_a_media_node_of_ours() {
    let config = config(&[]);
    let (commands, mut taken) = command_queue(64, Waker::default());
    let (notices, noticed) = mpsc::channel(8);
    let id = NodeId(7);
    let link = NodeLink::new(id, commands, noticed);
    let rooms = rooms::start(&config, rooms::new_id().unwrap(), Nodes::Own(link), &[], &process()).unwrap();
    assert!(!rooms.controller.is_ready().await, "no node has said where it is");
    let node = Node {
        node: id,
        addresses: vec!["192.0.2.1:7882".parse().unwrap()],
        tcp_addresses: Vec::new(),
        fingerprint: Fingerprint {
            hash: HashFunction::Sha256,
            digest: vec![0xab; 32],
        },
        clear_rtp: false,
        clear_trunks: false,
        capabilities: Capabilities::ALL,
    };
    notices.send(Notice::Node(node)).await.unwrap();
    let ready = async {
        while !rooms.controller.is_ready().await {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, ready).await.unwrap();
    let keys = api_keys(&config);
    let claims = dev::claims("devkey", "lobby", "ada", Duration::from_secs(60));
    let query = format!("access_token={}", access::sign(&claims, &keys).unwrap());
    let request = livekit::HttpRequest {
        path: "/rtc",
        query: &query,
        authorization: None,
        user_agent: None,
    };
    let admission = livekit::admit(request, &keys, clock::unix()).unwrap();
    let joined = rooms.front_ends.livekit.open(Box::new(admission)).await;
    assert!(joined.is_some());
    let command = timeout(PATIENCE, taken.recv()).await.unwrap();
    assert!(matches!(command, Some(Command::Open(_))), "{command:?}");
}
