//! Clusters: numbers that can be worked out by hand.

use planning::cluster::{Broadcast, ClusterError, ClusterLimits, Encodings, Meetings, Sheet};
use planning::{Cost, Memory, Server};

const LIMITS: ClusterLimits = ClusterLimits {
    participants: 1_000,
    rooms: 100,
    nodes: 1_000,
    transports: 20_000,
    trunks: 4_096,
};

/// A server of one core, all of which is planned, where a copy costs 10 us.
fn server() -> Server {
    Server {
        cores: 1,
        rate_per_core: None,
        cores_measured: None,
        contention_permille: 0,
        percent_of_core: 100,
        base_us: 0,
        agent_us: 0,
        adaptation_percent: 100,
        latency: None,
        srtp: Some(Cost {
            packet_ns: 0,
            replica_ns: 10_000,
            receiver_us: 0,
        }),
        clear: None,
        bandwidth: None,
        memory: None,
    }
}

fn encodings(text: &str) -> Encodings {
    Encodings::parse(text, false).expect("it is well formed")
}

fn broadcast(viewers: u64, regions: u64, fan_out: u64) -> Broadcast {
    Broadcast {
        viewers,
        // 100 packets a second.
        encodings: encodings("880:100"),
        regions,
        fan_out,
        seconds: 100,
    }
}

fn number(sheet: &Sheet, what: &str) -> u64 {
    let line = sheet.lines.iter().find(|line| line.what == what);
    line.unwrap_or_else(|| panic!("{what} in\n{}", sheet.text()))
        .thousandths
}

fn planned(broadcast: &Broadcast, server: &Server) -> Result<Sheet, ClusterError> {
    broadcast.sheet(server, &LIMITS, "")
}

#[test]
fn viewers_fill_nodes_beside_the_copies_for_trunks() {
    // 100,000 copies a second are 1,000 streams, of which ten are for trunks.
    let sheet = planned(&broadcast(9_900, 1, 10), &server()).unwrap();
    assert_eq!(number(&sheet, "viewers of a node"), 990_000);
    assert_eq!(number(&sheet, "media nodes"), 10_000);
    assert_eq!(number(&sheet, "depth of the tree"), 1_000);
    assert_eq!(number(&sheet, "trunks"), 9_000);
    assert_eq!(number(&sheet, "all trunks together"), 9 * 880);
    let more = planned(&broadcast(9_901, 1, 10), &server()).unwrap();
    assert_eq!(number(&more, "media nodes"), 11_000);
    let deeper = planned(&broadcast(12 * 990, 1, 10), &server()).unwrap();
    assert_eq!(number(&deeper, "depth of the tree"), 2_000);
    assert!(
        sheet
            .beyond
            .iter()
            .any(|beyond| beyond.starts_with("participants of a room: 9,901"))
    );
}

#[test]
fn the_scarcest_resource_binds() {
    let thin = Server {
        bandwidth: Some(88_000_000),
        ..server()
    };
    let sheet = planned(&broadcast(90, 1, 10), &thin).unwrap();
    assert_eq!(number(&sheet, "viewers of a node"), 90_000);
    let small = Server {
        memory: Some(Memory {
            total: 1_000,
            base: 100,
            participant: 9,
            subscription: 1,
            stream: 50,
            clear_stream: None,
        }),
        ..server()
    };
    // Of 900 the stream takes 50, the transport from above 9, and each trunk and viewer 10.
    let sheet = planned(&broadcast(90, 1, 10), &small).unwrap();
    assert_eq!(number(&sheet, "viewers of a node"), 74_000);
    let few = ClusterLimits {
        transports: 30,
        ..LIMITS
    };
    let sheet = broadcast(90, 1, 10).sheet(&server(), &few, "").unwrap();
    assert_eq!(number(&sheet, "viewers of a node"), 19_000);
}

#[test]
fn a_stream_crosses_to_each_other_region_once() {
    let sheet = planned(&broadcast(9_900, 3, 10), &server()).unwrap();
    assert_eq!(number(&sheet, "of them between regions"), 2 * 880);
    let lonely = planned(&broadcast(5, 3, 10), &server()).unwrap();
    assert_eq!(number(&lonely, "media nodes"), 3_000);
}

#[test]
fn a_viewer_costs_the_encoding_that_it_gets_and_a_trunk_all_of_them() {
    let shared = Broadcast {
        encodings: encodings("880:50,440:25,220:25"),
        ..broadcast(1_000, 1, 10)
    };
    let sheet = planned(&shared, &server()).unwrap();
    assert_eq!(number(&sheet, "a viewer gets"), 440 + 110 + 55);
    assert_eq!(number(&sheet, "a trunk carries"), 880 + 440 + 220);
    // Of 100,000 copies a second ten trunks take 1,750, and a viewer 68.75.
    assert_eq!(number(&sheet, "viewers of a node"), 1_429_000);
}

#[test]
fn rooms_of_several_regions_cross_once_to_each_of_their_nodes() {
    let meetings = Meetings {
        rooms: 300,
        participants: 5,
        encodings: encodings("880:100"),
        regions: 3,
        seconds: 100,
    };
    let sheet = meetings.sheet(&server(), &LIMITS, "").unwrap();
    // 20 copies of a stream to participants, and 10 to nodes: of 1,000 a node carries 33 rooms.
    assert_eq!(number(&sheet, "media nodes, if each room were on one"), 6_000);
    assert_eq!(number(&sheet, "media nodes"), 12_000);
    assert_eq!(number(&sheet, "publishers on the trunks of a room"), 10_000);
    assert_eq!(number(&sheet, "all trunks together"), 300 * 10 * 880);
    assert_eq!(number(&sheet, "from one region to another"), 300 * 10 * 880 / 6);
    assert_eq!(number(&sheet, "trunks"), 900_000);
    assert_eq!(number(&sheet, "trunks of a node"), 150_000);
    // 900 trunks over 48 pairs of nodes are 19 of each.
    assert_eq!(number(&sheet, "trunks between two nodes"), 19_000);
    assert_eq!(number(&sheet, "controllers"), 3_000);
    assert_eq!(number(&sheet, "joins"), 15_000);
    let alone = Meetings { regions: 1, ..meetings }
        .sheet(&server(), &LIMITS, "")
        .unwrap();
    assert_eq!(number(&alone, "media nodes"), 6_000);
    assert_eq!(number(&alone, "trunks"), 0);
}

#[test]
fn the_largest_numbers_are_answered_and_larger_ones_refused() {
    let largest = Broadcast {
        seconds: 1,
        ..broadcast(1_000_000_000, 1, 1_000)
    };
    let large = Server {
        cores: 100_000,
        ..server()
    };
    planned(&largest, &large).expect("it is within the bounds");
    for refused in [
        broadcast(1_000_000_001, 1, 10),
        broadcast(1, 0, 10),
        broadcast(1, 1, 1_001),
        Broadcast {
            seconds: 0,
            ..broadcast(1, 1, 1)
        },
    ] {
        planned(&refused, &large).expect_err("a number is out of its range");
    }
    let rooms = Meetings {
        rooms: 1_000_000_000,
        participants: 1_000,
        encodings: encodings("10000:100"),
        regions: 100,
        seconds: 1,
    };
    rooms.sheet(&large, &LIMITS, "").expect("it is within the bounds");
}

#[test]
fn encodings_are_refused_with_the_reason() {
    for (text, reason) in [
        ("", "such as 1500:50"),
        ("1500:50;500:50", "such as 1500:50"),
        ("1500:50,500:60", "add up to 110 %"),
        ("0:100", "`rate of an encoding` is 0"),
        ("100001:100", "`rate of an encoding` is 100001"),
        ("1:18446744073709551615,1:1", "and not to 100 %"),
        (
            "1:20,1:10,1:10,1:10,1:10,1:10,1:10,1:10,1:10",
            "`number of encodings` is 9",
        ),
    ] {
        let found = Encodings::parse(text, true).unwrap_err().to_string();
        assert!(found.contains(reason), "{text}: {found}");
    }
}
