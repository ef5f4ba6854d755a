//! Scallop's figures 18 to 20.

use planning::{
    Adaptation, Design, Device, Envelope, Kind, PARTICIPANTS_SWEPT, Quality, Resource, Rewriter, Server, alone,
    envelope, ratios, sweep,
};

/// Ten who all send 3 Mbit/s.
const TEN: Kind = Kind {
    participants: 10,
    senders: 10,
    video: 3_000_000,
    has_audio: false,
    is_encrypted: false,
    adaptation: Adaptation::None,
};

fn envelopes() -> Vec<Envelope> {
    let (device, server) = (Device::tofino2(), Server::mediasoup());
    PARTICIPANTS_SWEPT
        .filter_map(|participants| envelope(&device, &server, participants))
        .collect()
}

#[test]
fn the_server_carries_192_meetings_of_ten() {
    assert_eq!(Server::mediasoup().meetings(&TEN), 192);
    let published_code = Server {
        rate_per_core: Some(2_400_000_000),
        ..Server::mediasoup()
    };
    assert_eq!(published_code.meetings(&TEN), 256);
}

#[test]
fn from_ten_participants_on_the_device_carries_7_to_444_times_as_many() {
    let large: Vec<_> = envelopes()
        .into_iter()
        .filter(|envelope| envelope.participants >= 10)
        .collect();
    let lowest = large.iter().map(|envelope| envelope.ratio.0).fold(f64::MAX, f64::min);
    let highest = large.iter().map(|envelope| envelope.ratio.1).fold(0.0, f64::max);
    assert_eq!(large.len(), 91);
    assert_eq!(
        lowest,
        4_740.0 / 640.0,
        "about 7.4: ten participants, nine of them senders, RA-SR"
    );
    assert_eq!(highest, 444.0);
}

/// The highest ratio of 10 to 100 participants for a rate of each core, in Mbit/s.
fn highest(device: &Device, rate: u64) -> f64 {
    let server = Server {
        rate_per_core: Some(rate * 1_000_000),
        ..Server::mediasoup()
    };
    let range = ratios(device, &[server], 10..=100);
    range[0].map_or(0.0, |(_, most)| most)
}

#[test]
fn no_constant_of_the_server_gives_422_and_95_percent_of_the_bandwidth_does() {
    let device = Device::tofino2();
    let narrower = Device {
        bandwidth: 12_160_000_000_000,
        ..Device::tofino2()
    };
    assert_eq!(highest(&narrower, 1_800), 422.0);
    // A server that carries one of the largest meetings (30 Gbit/s) and not two: from 426 on. One
    // that carries two: at most three halves of the ratio of bandwidths.
    assert_eq!(highest(&device, 1_874), 426.0);
    assert!(highest(&device, 1_876) < 320.0);
    assert!(highest(&device, 2_400) < 250.0);
}

#[test]
fn audio_of_50_kbit_beside_the_video_gives_441() {
    let ratio = |streams: u64| {
        let bandwidth = streams * 3_050;
        (12_800_000_000 / bandwidth) as f64 / (57_600_000 / bandwidth) as f64
    };
    let streams = (10..=100_u64).flat_map(|all| (1..=all).map(move |senders| all * senders));
    assert_eq!(streams.map(ratio).fold(0.0, f64::max), 441.0);
}

#[test]
fn smaller_meetings_fall_below_7_by_their_trees() {
    let (device, server) = (Device::tofino2(), Server::mediasoup());
    for participants in 3..10 {
        let below: Vec<_> = sweep(&device, &server, participants)
            .filter(|point| point.ratio().is_some_and(|ratio| ratio < 7.0))
            .collect();
        assert!(
            below
                .iter()
                .any(|point| point.design == Design::RaSr && point.senders == participants)
        );
        assert!(below.iter().all(|point| point.device.binding == Resource::Trees));
        assert!(
            below
                .iter()
                .all(|point| point.design != Design::Nra || point.participants == 3)
        );
    }
    let three = envelopes()[2];
    assert!(three.ratio.0 > 2.2 && three.ratio.0 < 2.3, "{three:?}");
}

#[test]
fn the_device_is_above_the_server_at_both_ends_of_the_range() {
    for envelope in envelopes() {
        assert!(envelope.device.0 > envelope.server.0, "{envelope:?}");
        assert!(envelope.device.1 > envelope.server.1, "{envelope:?}");
        assert!(envelope.ratio.0 > 1.0, "{envelope:?}");
    }
}

#[test]
fn one_sender_of_three_allows_three_times_the_bandwidth_of_three() {
    let (device, server) = (Device::tofino2(), Server::mediasoup());
    let by = |senders| {
        let mut points = sweep(&device, &server, 3);
        let point = points.find(|point| point.senders == senders && point.quality == Quality::High);
        point.and_then(|point| point.device.alone(Resource::Bandwidth))
    };
    assert_eq!((by(1), by(3)), (Some(1_422_222), Some(474_074)));
}

#[test]
fn each_part_alone() {
    let (device, server) = (Device::tofino2(), Server::mediasoup());
    let ten = alone(&device, &server, 10, Quality::High);
    assert_eq!(
        (ten.nra, ten.ra_r, ten.ra_sr),
        (Some(128_000), Some(42_666), Some(4_266))
    );
    assert_eq!(
        (ten.s_lm, ten.s_lr, ten.bandwidth),
        (Some(25_511), Some(4_783), Some(42_666))
    );
    assert_eq!(ten.server, 192);
    let two = alone(&device, &server, 2, Quality::High);
    assert_eq!(
        (two.nra, two.ra_sr, two.s_lr, two.bandwidth),
        (None, None, None, Some(1_066_666))
    );
    let mut last = u64::MAX;
    for participants in 3..=100 {
        let each = alone(&device, &server, participants, Quality::High);
        assert_eq!((each.nra, each.ra_r), (Some(128_000), Some(42_666)));
        assert_eq!(each.ra_sr, Some(128_000 / (3 * participants)));
        assert!(each.ra_sr < Some(last));
        last = each.ra_sr.unwrap_or(0);
    }
}

#[test]
fn the_closed_form_counts_as_the_meeting_does() {
    let (device, server) = (Device::tofino2(), Server::mediasoup());
    for participants in [1, 2, 3, 7, 40] {
        for point in sweep(&device, &server, participants) {
            let meeting = planning::Meeting::uniform(participants as u16, point.senders as u16, point.quality);
            let device = Device {
                rewriter: point.rewriter,
                ..device.clone()
            };
            assert_eq!(
                point.device,
                planning::capacity_as(&device, &meeting, point.design),
                "{point:?}"
            );
        }
    }
}

#[test]
fn from_twelve_participants_on_the_least_is_set_by_the_memory_of_s_lr() {
    let (device, server) = (Device::tofino2(), Server::mediasoup());
    for participants in 12..=100 {
        let least = sweep(&device, &server, participants).min_by_key(|point| point.device.meetings);
        let least = least.map(|point| (point.rewriter, point.device.binding));
        assert_eq!(least, Some((Some(Rewriter::SLr), Resource::SequenceCells)));
    }
}
