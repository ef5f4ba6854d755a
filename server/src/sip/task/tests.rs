//! Floods of proxies and of other relays, and calls of others meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use southbound::relay::{RelayCommand, Traffic};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UdpSocket;
use tokio::time::{sleep, timeout};

use super::*;
use crate::cli::Role;
use crate::cluster::relays::tests::{World, ask, framed, opening};
use crate::config::Sip;
use crate::media::command_queue::command_queue;
use crate::media::waker::Waker;
use crate::os::clock::Clocks;
use crate::sip::{datagrams, settings};

/// The time after which proxies ask again, and how often they ask.
const PROXY_PATIENCE: Duration = Duration::from_millis(500);
const ATTEMPTS_MAX: u32 = 4;

const CALLS: u32 = 30;

/// A media node that opens every port.
fn node() -> NodeLink<Vec<RelayNotice>> {
    let (commands, mut taken) = command_queue(1_024, Waker::default());
    let (told, notices) = mpsc::channel(1_024);
    tokio::spawn(async move {
        while let Some(command) = taken.recv().await {
            let Command::Relay(command) = command else { continue };
            let notice = match command {
                RelayCommand::Open(at) => RelayNotice::Opened { at },
                RelayCommand::Report(at) => RelayNotice::Traffic {
                    at,
                    traffic: Traffic::default(),
                    idle: None,
                },
                _ => continue,
            };
            if told.send(vec![notice]).await.is_err() {
                return;
            }
        }
    });
    NodeLink::new(southbound::NodeId(1), commands, notices)
}

/// A socket of a proxy at this address, to the relay.
async fn proxy(address: &str, relay: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind((address, 0)).await.unwrap();
    socket.connect(relay).await.unwrap();
    socket
}

/// Offers a call, and repeats the offer as proxies do. Returns how often it was sent.
async fn offer(proxy: &UdpSocket, call: u32) -> u32 {
    let sdp = "v=0\r\no=- 1 1 IN IP4 192.0.2.9\r\ns=-\r\nc=IN IP4 192.0.2.9\r\nt=0 0\r\nm=audio 6000 RTP/AVP 0\r\n";
    let (id, cookie) = (format!("call-{call}"), format!("c{call} "));
    let offer = format!(
        "{cookie}d7:call-id{}:{id}7:command5:offer8:from-tag1:a3:sdp{}:{sdp}e",
        id.len(),
        sdp.len()
    );
    let mut reply = vec![0; 65_536];
    for sent in 1..=ATTEMPTS_MAX {
        proxy.send(offer.as_bytes()).await.unwrap();
        let answered = async {
            loop {
                let len = proxy.recv(&mut reply).await.unwrap();
                // A second answer to the offer before is left alone.
                if reply[..len].starts_with(cookie.as_bytes()) {
                    return String::from_utf8_lossy(&reply[..len]).into_owned();
                }
            }
        };
        if let Ok(reply) = timeout(PROXY_PATIENCE, answered).await {
            assert!(reply.contains("6:result2:ok"), "{reply}");
            return sent;
        }
    }
    panic!("call {call} is not set up before its proxy gives up");
}

#[tokio::test]
async fn a_flood_of_a_proxy_and_of_a_relay_leaves_the_calls_of_others_in_time() {
    let world = World::new();
    let member = world.machine(1).await;
    let mut hostile_relay = world.raw(&member, "hostile", &[Role::Sip]).await.unwrap();
    let section = "{allow: [127.0.0.0/8], interfaces: [{address: 127.0.0.1}]}";
    let config: Sip = serde_saphyr::from_str(section).unwrap();
    let config = config.complete(|| None).unwrap();
    let metrics = Metrics::default();
    let access = Arc::new(Access::new(config.clone(), metrics.clone()));
    let mut machine = settings(&config, &[]);
    machine.cluster = Some(member.node);
    let relay = CallController::new(machine, Clocks::read().wall, [7; 32]).unwrap();
    let needs = Dependencies {
        fingerprints: Vec::new(),
        services: Vec::new(),
        node_ips: Vec::new(),
        clock: Clocks::read().wall,
        seed: [7; 32],
        node: node(),
        cluster: Some((member.node, member.relays)),
        metrics: metrics.clone(),
    };
    let (handle, _task) = start(relay, needs, config, access.clone(), None);
    let socket = crate::os::udp::bind_shared(([127, 0, 0, 1], 0).into()).unwrap();
    let at = socket.local_addr().unwrap();
    tokio::spawn(datagrams::serve(socket, Protocol::Ng, handle.clone(), access));

    // A relay that asks without end, reads what it is told, and answers nothing.
    hostile_relay.write_all(&opening(9)).await.unwrap();
    let (mut reading, mut writing) = tokio::io::split(hostile_relay);
    let asking = tokio::spawn(async move {
        let question = framed(&ask(1).encode()).repeat(1_000);
        while writing.write_all(&question).await.is_ok() {}
    });
    let hearing = tokio::spawn(async move {
        let mut heard = vec![0; 1 << 20];
        while reading.read(&mut heard).await.is_ok_and(|len| len > 0) {}
    });
    // A proxy that sends faster than any relay answers.
    let is_over = Arc::new(AtomicBool::new(false));
    let flooding = std::thread::spawn({
        let is_over = is_over.clone();
        move || {
            let hostile_proxy = std::net::UdpSocket::bind("127.0.0.2:0").unwrap();
            for number in 0_u64.. {
                let ping = format!("f{number} d7:command4:pinge");
                let _ = hostile_proxy.send_to(ping.as_bytes(), at);
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
            }
        }
    });
    sleep(Duration::from_millis(200)).await;

    let honest = proxy("127.0.0.3", at).await;
    let mut sent = 0;
    for call in 0..CALLS {
        sent += offer(&honest, call).await;
    }
    // The socket drops what comes while this process does not run, of both proxies alike.
    assert!(sent <= 2 * CALLS, "{sent} offers for {CALLS} calls");
    let text = metrics.encode().finish();
    let dropped = text
        .lines()
        .find_map(|line| line.strip_prefix("weir_sip_total{reason=\"proxy_full\"} "));
    let dropped: u64 = dropped.expect("a counter").parse().unwrap();
    assert!(dropped > 0, "the flood is one");
    is_over.store(true, Ordering::Relaxed);
    flooding.join().unwrap();
    for flood in [asking, hearing] {
        flood.abort();
    }
}
