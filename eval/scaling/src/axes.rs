//! One thing made larger at a time: receivers, rooms, tables.

use std::time::Duration;

use dataplane::Update;
use wire::MediaKind::{self, Audio, Video};

use crate::ballast::Ballast;
use crate::device::{Device, Room};
use crate::meter::{Cost, Meter, heap};
use crate::node::Node;

/// Receivers of one stream.
pub const RECEIVERS: &[u64] = &[10, 30, 100, 300, 1_000];
/// Rooms of five in which everybody receives everybody.
pub const ROOMS: &[u64] = &[1, 3, 10, 30, 100, 200];
/// Legs, streams and replicas together.
pub const ENTRIES: &[u64] = &[100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000];

const ROOM: u32 = 5;
/// A video stream's cache is full after this many frames, a microphone's after fewer packets;
/// buffers have reached their size by then.
const WARM_UP: usize = 90;
/// As many replicas at least are measured at each point for a figure worth printing.
pub const REPLICAS: u64 = 100_000;
const PICTURE_INTERVAL: Duration = Duration::from_millis(33);
/// For a stream of 2 Mbit/s: a large part of each frame waits.
const PACE: u64 = 5_000_000;
/// Time in which an agent finds the capacity of each receiver's network.
const SETTLING: Duration = Duration::from_secs(10);
/// Length of the call that is measured at each point.
pub const CALL: Duration = Duration::from_secs(5);
/// Entries changed at each size, spread over the tables.
const CHANGES: u64 = 2_000;

/// The measurement of one size.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// How many receivers, rooms or entries there were.
    pub size: u64,
    /// The cost of all the work.
    pub cost: Cost,
    /// How many packets that arrived, seconds of a call, replicas or entries it is the cost of.
    pub times: f64,
    /// How many replicas were sent, or entries written.
    pub pieces: u64,
    /// Bytes of heap that everything of this size takes.
    pub heap: u64,
}

/// How one kind of work grows.
#[derive(Clone, Debug)]
pub struct Series {
    /// The kind of work.
    pub name: &'static str,
    /// The unit that its cost is given for.
    pub per: &'static str,
    /// The name of a piece, several of which make up that unit.
    pub piece: &'static str,
    /// The greatest slope it may have.
    pub bound: f64,
    /// From the smallest size to the largest.
    pub samples: Vec<Sample>,
}

/// One publisher's stream to more and more receivers. For each packet that arrives the work should
/// be linear in them.
pub fn receivers(meter: &mut Meter, sizes: &[u64], replicas: u64) -> Vec<Series> {
    let lines: [(_, &'static [MediaKind], _); 3] = [
        ("video", &[Video], None),
        ("video, paced", &[Video], Some(PACE)),
        ("audio", &[Audio], None),
    ];
    let series = lines.map(|(name, kinds, pace)| Series {
        name,
        per: "packet",
        piece: "replica",
        bound: 1.0,
        samples: sizes
            .iter()
            .map(|size| audience(meter, *size, (kinds, pace), replicas))
            .collect(),
    });
    series.into()
}

fn audience(meter: &mut Meter, size: u64, (kinds, pace): (&'static [MediaKind], Option<u64>), replicas: u64) -> Sample {
    let mut device = Device::new();
    let before = heap();
    let mut room = device.room(size as u32 + 1, 1, kinds);
    if let Some(pace) = pace {
        device.pace(pace);
    }
    let mut turn = |device: &mut Device, meter: &mut Meter, cost: &mut Cost| {
        device.play(&mut room, kinds[0], meter, cost);
        device.pass(PICTURE_INTERVAL, meter, cost);
    };
    (0..WARM_UP).for_each(|_| turn(&mut device, meter, &mut Cost::default()));
    let (start, heap) = (device.forwarded(), heap() - before);
    let mut cost = Cost::default();
    while device.forwarded() - start < replicas {
        turn(&mut device, meter, &mut cost);
    }
    let sent = device.forwarded() - start;
    Sample {
        size,
        cost,
        times: sent as f64 / size as f64,
        pieces: sent,
        heap,
    }
}

/// The agent of one room: a publisher with camera and microphone, and a growing number of receivers
/// that report. The work for each second should be linear in their number.
pub fn agent(meter: &mut Meter, sizes: &[u64], time: Duration) -> Vec<Series> {
    vec![Series {
        name: "agent",
        per: "second of the call",
        piece: "receiver and second",
        bound: 1.0,
        samples: sizes.iter().map(|size| attended(meter, *size, time)).collect(),
    }]
}

fn attended(meter: &mut Meter, size: u64, time: Duration) -> Sample {
    let mut node = Node::new(size as u32);
    node.play(SETTLING, meter, &mut Cost::default());
    let (start, mut cost) = (node.forwarded(), Cost::default());
    node.play(time, meter, &mut cost);
    let each = (node.forwarded() - start) as f64 / size as f64 / time.as_secs_f64();
    assert!(
        each > 250.0,
        "receivers are to get everything, but got {each:.0} packets a second"
    );
    Sample {
        size,
        cost,
        times: time.as_secs_f64(),
        pieces: size * time.as_secs(),
        heap: node.end(),
    }
}

/// More and more rooms of five on one shard. For each second the work should be linear in them.
pub fn rooms(meter: &mut Meter, sizes: &[u64], replicas: u64) -> Vec<Series> {
    vec![Series {
        name: "rooms of five",
        per: "second of all calls",
        piece: "replica",
        bound: 1.0,
        samples: sizes.iter().map(|size| building(meter, *size, replicas)).collect(),
    }]
}

fn building(meter: &mut Meter, size: u64, replicas: u64) -> Sample {
    let mut device = Device::new();
    let before = heap();
    let mut rooms: Vec<Room> = (0..size).map(|_| full_room(&mut device)).collect();
    for _ in 0..WARM_UP.div_ceil(3) {
        tenth(&mut device, &mut rooms, meter, &mut Cost::default());
    }
    let (start, heap) = (device.forwarded(), heap() - before);
    let (mut cost, mut tenths) = (Cost::default(), 0);
    while device.forwarded() - start < replicas {
        tenth(&mut device, &mut rooms, meter, &mut cost);
        tenths += 1;
    }
    Sample {
        size,
        cost,
        times: f64::from(tenths) / 10.0,
        pieces: device.forwarded() - start,
        heap,
    }
}

fn full_room(device: &mut Device) -> Room {
    device.room(ROOM, ROOM, &[Audio, Video])
}

/// A tenth of a second of calls: three frames of video and five packets of audio of everybody, in
/// the order of arrival.
fn tenth(device: &mut Device, rooms: &mut [Room], meter: &mut Meter, cost: &mut Cost) {
    for kind in [Audio, Video, Audio, Audio, Video, Audio, Video, Audio] {
        for room in rooms.iter_mut() {
            device.play(room, kind, meter, cost);
        }
        device.pass(Duration::from_micros(12_500), meter, cost);
    }
}

/// One room of five in tables that fill up with other, silent entries. Neither forwarding nor
/// writing an entry should depend on their number.
pub fn entries(meter: &mut Meter, sizes: &[u64], replicas: u64) -> Vec<Series> {
    let mut device = Device::new();
    let before = heap();
    let mut room = [full_room(&mut device)];
    let mut ballast = Ballast::new(&mut device);
    for _ in 0..WARM_UP.div_ceil(3) {
        tenth(&mut device, &mut room, meter, &mut Cost::default());
    }
    let mut measured: [Vec<Sample>; 4] = Default::default();
    for size in sizes {
        let added = fill(&mut device, &mut ballast, *size, meter);
        let heap = heap() - before;
        let changed = change(&mut device, &ballast, meter);
        let forwarded = forward(&mut device, &mut room, meter, replicas);
        for (samples, (cost, pieces)) in measured.iter_mut().zip([forwarded, added.all, changed, added.dearest]) {
            samples.push(Sample {
                size: *size,
                cost,
                times: pieces as f64,
                pieces,
                heap,
            });
        }
    }
    let [forwarding, adding, changing, dearest] = measured;
    let series = |name, per, bound, samples| Series {
        name,
        per,
        piece: per,
        bound,
        samples,
    };
    vec![
        series("forwarding", "replica", 0.0, forwarding),
        series("adding", "entry", 0.0, adding),
        series("changing", "entry", 0.0, changing),
        series("the dearest addition, in the shard", "entry", 1.0, dearest),
    ]
}

/// The cost and number of added entries: of all, and of the one addition that held up the shard
/// longest.
struct Added {
    all: (Cost, u64),
    dearest: (Cost, u64),
}

/// Adds entries until there are `size`.
fn fill(device: &mut Device, ballast: &mut Ballast, size: u64, meter: &mut Meter) -> Added {
    let (mut all, mut dearest) = (Cost::default(), Cost::default());
    let unit = meter.unit();
    let first = device.entries();
    while device.entries() < size {
        let mut costs = [Cost::default(); 2];
        device.write_counted(ballast.next(), meter, &mut costs);
        let [control, shard] = costs;
        all += control;
        all += shard;
        if shard.in_unit(unit) > dearest.in_unit(unit) {
            dearest = shard;
        }
    }
    Added {
        all: (all, device.entries() - first),
        dearest: (dearest, 1),
    }
}

/// Changes replicas' targets all over the tables, as the agent does when an estimate changes.
fn change(device: &mut Device, ballast: &Ballast, meter: &mut Meter) -> (Cost, u64) {
    /// Odd, so that numbers are spread.
    const STRIDE: u64 = 2_654_435_761;
    let mut costs = [Cost::default(); 2];
    for number in 0..CHANGES {
        let (id, mut replica) = ballast.replica((number * STRIDE % u64::from(ballast.replicas())) as u32);
        replica.target.temporal = number as u8 % 3;
        device.write_counted(Update::SetReplica(id, replica), meter, &mut costs);
    }
    let [mut all, shard] = costs;
    all += shard;
    (all, CHANGES)
}

fn forward(device: &mut Device, rooms: &mut [Room], meter: &mut Meter, replicas: u64) -> (Cost, u64) {
    let (start, mut cost) = (device.forwarded(), Cost::default());
    while device.forwarded() - start < replicas {
        tenth(device, rooms, meter, &mut cost);
    }
    (cost, device.forwarded() - start)
}
