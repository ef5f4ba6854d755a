//! A back end that does nothing: a server runs on it and shows its statistics, and no other file
//! names it.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use agent::{Agent, Certificate, Config};
use dataplane::statistics::Kind;
use dataplane::{
    Answer, Capabilities, Counter, Counters, Event, Family, Inject, Relay, RelayTraffic, Sample, Update, WriteError,
    WriteId,
};
use operator::Place;
use southbound::{NodeId, Notice};

use super::*;
use crate::media::ReceiverQuery;
use crate::media::media_thread::{self, Parts};
use crate::media::waker::Waker;
use crate::metrics::Metrics;
use crate::os::clock::Clocks;

/// Takes every entry and moves no packet.
struct Idle;

/// Takes no relay.
struct IdleOffload;

struct Shows;

impl Statistics for Shows {
    fn families(&self) -> Vec<Family> {
        vec![Family {
            name: "idle",
            kind: Kind::Gauge,
            help: "Packets that nobody moves",
            samples: vec![Sample {
                labels: vec![("reason", "idle".to_owned())],
                value: 7,
            }],
        }]
    }

    fn places(&self) -> Vec<Place> {
        vec![Place::Other {
            name: "everything".to_owned(),
            state: "nowhere".to_owned(),
        }]
    }
}

impl DataPlane for Idle {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            srtp: false,
            ..Capabilities::ALL
        }
    }

    fn write(&mut self, _: Instant, _: Update) -> Result<(), WriteError> {
        Ok(())
    }

    fn inject(&mut self, _: Instant, _: Inject<'_>) {}

    fn poll(&mut self) -> Option<Event> {
        None
    }

    fn counters(&mut self) -> Counters {
        let mut counters = Counters::default();
        counters[Counter::NotMedia] = 3;
        counters
    }

    fn statistics(&self) -> Vec<Arc<dyn Statistics>> {
        vec![Arc::new(Shows)]
    }
}

impl dataplane::Offload for IdleOffload {
    fn offer(&mut self, _: Instant, _: WriteId, _: SocketAddr, _: Option<&Relay>) -> Answer {
        Answer::Refused(dataplane::Refused::Full)
    }

    fn relay_traffic(&mut self, _: SocketAddr) -> Option<(RelayTraffic, Option<Instant>)> {
        None
    }

    fn counters(&mut self) -> Counters {
        Counters::default()
    }

    fn name(&self) -> &'static str {
        "idle"
    }
}

#[tokio::test]
async fn a_back_end_that_does_nothing_is_one_match_arm() {
    let offloads = Offloads {
        relays: vec![Box::new(IdleOffload), Box::new(IdleOffload)],
        ..Offloads::default()
    };
    let (_, absent) = ebpf::none("it is a test");
    let mut opened = compose(Box::new(Idle), offloads, absent);
    let clocks = Clocks::read();
    let relay = Box::new(Relay {
        accept: dataplane::Accept::Nobody,
        ingress_protection: dataplane::RelayProtection::Clear,
        terminated: false,
        rtp: None,
        rtcp: None,
    });
    let at = ([192, 0, 2, 1], 30_000).into();
    opened
        .plane
        .write(crate::os::clock::now(), Update::SetRelay(at, relay))
        .unwrap();
    let metrics = Metrics::default();
    metrics.watch_dataplane(opened.statistics);

    let config = Config {
        node: NodeId(5),
        ..Config::new(vec![([192, 0, 2, 1], 7882).into()], Certificate::generate().unwrap())
    };
    let agent = Agent::new(config, clocks.media, 1);
    let waker = Waker::default();
    let (_observer, questions) = ReceiverQuery::new(waker.clone());
    let mut running = media_thread::start(Parts {
        agent,
        plane: opened.plane,
        waker,
        questions,
        metrics: metrics.clone(),
        cpu_latency: None,
    })
    .unwrap();
    let Some(Notice::Node(node)) = running.controller.next().await else {
        panic!("the node says nothing")
    };
    assert_eq!(
        (node.node, node.capabilities.srtp, node.capabilities.copies),
        (NodeId(5), false, false)
    );

    let list = metrics.places().text();
    let lines: Vec<&str> = list.lines().collect();
    let expected = [
        "everything\tnowhere",
        "relay 192.0.2.1:30000\tbase (idle: full, idle: full)",
        "relays\tby sockets: it is a test",
    ];
    assert_eq!(lines, expected);
    let deadline = crate::os::clock::now() + Duration::from_secs(10);
    loop {
        let text = metrics.encode().finish();
        if text.contains("weir_dataplane_total{reason=\"not_media\"} 3") {
            for sample in [
                "weir_idle{reason=\"idle\"} 7\n",
                "weir_offload_entries 0\n",
                "weir_offload_refused_total{reason=\"full\"} 2\n",
                "weir_offload_interfaces{path=\"sockets\",reason=\"it is a test\"} 1\n",
            ] {
                assert!(text.contains(sample), "{sample} is not in:\n{text}");
            }
            break;
        }
        assert!(crate::os::clock::now() < deadline, "nothing is published");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
