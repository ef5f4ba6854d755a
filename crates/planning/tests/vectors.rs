//! The numbers of Scallop's published model, exactly.

use planning::{Capacity, Design, Device, Meeting, Place, Quality, Resource, Rewriter, capacity, capacity_as};

const MBIT: u64 = 1_000_000;

fn with(rewriter: Rewriter) -> Device {
    Device {
        rewriter: Some(rewriter),
        ..Device::tofino2()
    }
}

fn by_trees(device: &Device, design: Design) -> Option<u64> {
    capacity_as(device, &Meeting::uniform(10, 10, Quality::High), design).alone(Resource::Trees)
}

/// A meeting of ten senders with one receiver at the low quality, from all senders or from one.
fn adapted(from_all: bool) -> Meeting {
    let mut meeting = Meeting::uniform(10, 10, Quality::High);
    match from_all {
        true => assert!(meeting.set_quality(Place(9), Quality::Low)),
        false => assert!(meeting.set_quality_from(Place(0), Place(9), Quality::Low)),
    }
    meeting
}

fn left(capacity: &Capacity, resource: Resource) -> u64 {
    capacity
        .headroom
        .iter()
        .find(|headroom| headroom.resource == resource)
        .map_or(0, |headroom| headroom.left)
}

#[test]
fn trees_of_the_published_model() {
    let device = Device::tofino2();
    assert_eq!(device.trees, 64_000);
    assert_eq!(by_trees(&device, Design::Nra), Some(128_000));
    assert_eq!(by_trees(&device, Design::RaR), Some(42_666));
    assert_eq!(by_trees(&device, Design::RaSr), Some(4_266));
}

#[test]
fn trees_with_64k_as_a_power_of_two() {
    let device = Device::tofino2_binary();
    assert_eq!(by_trees(&device, Design::Nra), Some(131_072));
    assert_eq!(by_trees(&device, Design::RaR), Some(43_690));
    assert_eq!(by_trees(&device, Design::RaSr), Some(4_369));
}

#[test]
fn one_meeting_a_tree_without_exclusion_ids() {
    let device = Device {
        exclusion_ids: 0,
        ..Device::tofino2()
    };
    assert_eq!(by_trees(&device, Design::Nra), Some(64_000));
}

#[test]
fn sequence_memory() {
    assert_eq!(with(Rewriter::SLm).sequence_cells(), 2_296_000);
    assert_eq!(with(Rewriter::SLr).sequence_cells(), 430_500);
    for (participants, senders) in [(3, 1), (10, 4), (100, 100)] {
        let meeting = Meeting::uniform(participants, senders, Quality::High);
        let streams = u64::from(senders) * u64::from(participants - 1);
        let by = |rewriter| capacity(&with(rewriter), &meeting).alone(Resource::SequenceCells);
        assert_eq!(by(Rewriter::SLm), Some(2_296_000 / streams));
        assert_eq!(by(Rewriter::SLr), Some(430_500 / streams));
    }
}

#[test]
fn bandwidth_of_three_participants() {
    assert_eq!(Meeting::uniform(3, 1, Quality::High).bandwidth(), 9 * MBIT);
    assert_eq!(Meeting::uniform(3, 3, Quality::High).bandwidth(), 27 * MBIT);
    assert_eq!(Meeting::uniform(3, 3, Quality::Low).bandwidth(), 9 * MBIT);
    assert_eq!(Meeting::uniform(3, 3, Quality::Medium).bandwidth(), 27 * MBIT / 2);
}

#[test]
fn ten_participants_at_the_high_rate() {
    let meeting = Meeting::uniform(10, 10, Quality::High);
    let low_memory = capacity(&with(Rewriter::SLm), &meeting);
    assert_eq!(low_memory.alone(Resource::Bandwidth), Some(42_666));
    assert_eq!(
        (low_memory.meetings, low_memory.binding),
        (25_511, Resource::SequenceCells)
    );
    let low_retransmission = capacity(&with(Rewriter::SLr), &meeting);
    assert_eq!(
        (low_retransmission.meetings, low_retransmission.binding),
        (4_783, Resource::SequenceCells)
    );
    assert_eq!(left(&low_retransmission, Resource::Trees), 128_000 - 4_783);
    assert_eq!(left(&low_retransmission, Resource::SequenceCells), 30);
    assert_eq!(
        left(&low_retransmission, Resource::Bandwidth),
        12_800_000 * MBIT - 4_783 * 300 * MBIT
    );
}

#[test]
fn two_participants_need_no_tree_and_no_rewriting() {
    let mut meeting = Meeting::uniform(2, 2, Quality::High);
    assert!(meeting.set_quality(Place(1), Quality::Low));
    assert_eq!(Design::of(&meeting), Design::TwoParty);
    let meeting = Meeting::uniform(2, 2, Quality::High);
    let capacity = capacity(&Device::tofino2(), &meeting);
    for unused in [
        Resource::Trees,
        Resource::Nodes,
        Resource::ReplicaIds,
        Resource::SequenceCells,
    ] {
        assert_eq!(capacity.alone(unused), None);
    }
    assert_eq!((capacity.meetings, capacity.binding), (1_066_666, Resource::Bandwidth));
}

#[test]
fn designs_by_the_qualities() {
    let device = Device::tofino2();
    assert_eq!(Design::of(&Meeting::uniform(10, 10, Quality::High)), Design::Nra);
    assert_eq!(Design::of(&Meeting::uniform(10, 10, Quality::Low)), Design::Nra);
    assert_eq!(Design::of(&adapted(true)), Design::RaR);
    assert_eq!(Design::of(&adapted(false)), Design::RaSr);
    assert_eq!(capacity(&device, &adapted(true)).meetings, 25_511);
    assert_eq!(capacity(&device, &adapted(false)).meetings, 4_266);
    assert_eq!(capacity(&device, &adapted(false)).binding, Resource::Trees);
}

#[test]
fn a_sender_whose_receivers_all_get_less_sends_less() {
    let mut meeting = Meeting::uniform(4, 2, Quality::High);
    for receiver in 1..4 {
        assert!(meeting.set_quality_from(Place(0), Place(receiver), Quality::Low));
    }
    assert_eq!(Design::of(&meeting), Design::Nra);
    assert_eq!(meeting.bandwidth(), (4 + 12) * MBIT);
}

#[test]
fn nodes_and_replica_ids_bind_large_meetings() {
    let meeting = Meeting::uniform(200, 1, Quality::Low);
    let large = capacity_as(
        &Device {
            rewriter: None,
            ..Device::tofino2()
        },
        &meeting,
        Design::Nra,
    );
    assert_eq!(
        (large.alone(Resource::Nodes), large.alone(Resource::Trees)),
        (Some(83_886), Some(128_000))
    );
    let few = Device {
        replica_ids: 16,
        ..Device::tofino2()
    };
    assert_ne!(
        capacity(&few, &Meeting::uniform(8, 1, Quality::High)).binding,
        Resource::ReplicaIds
    );
    let none = capacity(&few, &Meeting::uniform(9, 1, Quality::High));
    assert_eq!((none.meetings, none.binding), (0, Resource::ReplicaIds));
}

#[test]
fn without_a_rewriter_nothing_is_adapted() {
    let device = Device {
        rewriter: None,
        ..Device::tofino2()
    };
    assert_eq!(
        capacity(&device, &Meeting::uniform(10, 10, Quality::High)).meetings,
        42_666
    );
    let none = capacity(&device, &adapted(true));
    assert_eq!((none.meetings, none.binding), (0, Resource::SequenceCells));
}
