//! Random histories of meetings on small devices.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use planning::{
    Allocator, Demand, Design, Device, Meeting, MeetingId, Place, Quality, Rates, Refusal, Resource, Rewriter, Source,
    capacity,
};
use proptest::prelude::*;
use support::Engine;

#[derive(Clone, Debug)]
enum Change {
    Join(bool, Quality),
    Leave(usize),
    Send(usize, bool),
    All(usize, Quality),
    From(usize, usize, Quality),
}

fn any_quality() -> impl Strategy<Value = Quality> {
    prop::sample::select(Quality::ALL.to_vec())
}

fn any_change() -> impl Strategy<Value = (u64, Change)> {
    let change = prop_oneof![
        5 => (any::<bool>(), any_quality()).prop_map(|(sends, quality)| Change::Join(sends, quality)),
        3 => (0_usize..8).prop_map(Change::Leave),
        1 => (0_usize..8, any::<bool>()).prop_map(|(at, sends)| Change::Send(at, sends)),
        2 => (0_usize..8, any_quality()).prop_map(|(at, quality)| Change::All(at, quality)),
        2 => (0_usize..8, 0_usize..8, any_quality()).prop_map(|(from, to, quality)| Change::From(from, to, quality)),
    ];
    (0_u64..6, change)
}

fn any_device() -> impl Strategy<Value = Device> {
    let rewriter = prop::sample::select(vec![None, Some(Rewriter::SLm), Some(Rewriter::SLr)]);
    let limits = (1_u32..20, 1_u32..120, 8_u32..40, 0_u32..2, 1_u64..20, 5_u64..400);
    (limits, rewriter).prop_map(
        |((trees, nodes, replica_ids, exclusion_ids, cells_per_stage, rate), rewriter)| {
            let bandwidth = rate * 1_000_000;
            let small = Device {
                trees,
                nodes,
                replica_ids,
                exclusion_ids,
                ..Device::tofino2()
            };
            Device {
                cells_per_stage,
                bandwidth,
                rewriter,
                ..small
            }
        },
    )
}

fn nth(meeting: &Meeting, at: usize) -> Place {
    meeting.places().nth(at % meeting.len().max(1)).unwrap_or(Place(0))
}

/// The meeting after a change.
fn changed(mut meeting: Meeting, change: &Change) -> Meeting {
    let rates = |sends: bool| sends.then_some(Rates::SCALLOP);
    match *change {
        Change::Join(sends, quality) => assert!(meeting.join(rates(sends), quality).is_some()),
        Change::Leave(at) => {
            meeting.leave(nth(&meeting, at));
        }
        Change::Send(at, sends) => {
            meeting.set_rates(nth(&meeting, at), rates(sends));
        }
        Change::All(at, quality) => {
            meeting.set_quality(nth(&meeting, at), quality);
        }
        Change::From(from, to, quality) => {
            meeting.set_quality_from(nth(&meeting, from), nth(&meeting, to), quality);
        }
    }
    meeting
}

fn apply(
    allocator: &mut Allocator,
    id: MeetingId,
    meeting: &Meeting,
    change: &Change,
    engine: &mut Engine,
) -> Result<(), Refusal> {
    match *change {
        Change::Join(sends, quality) => {
            allocator.join(id, sends.then_some(Rates::SCALLOP), quality, engine)?;
        }
        Change::Leave(at) => {
            let left = allocator.leave(id, nth(meeting, at), engine);
            assert_eq!(left, !meeting.is_empty(), "nobody is kept from leaving");
        }
        Change::Send(at, sends) => {
            allocator.set_rates(id, nth(meeting, at), sends.then_some(Rates::SCALLOP), engine)?;
        }
        Change::All(at, quality) => {
            allocator.set_quality(id, nth(meeting, at), quality, engine)?;
        }
        Change::From(from, to, quality) => {
            let pair = (nth(meeting, from), nth(meeting, to));
            allocator.set_quality_from(id, pair, quality, engine)?;
        }
    }
    Ok(())
}

/// The first resource of which these meetings need more than there is, the changed one in its
/// cheapest design and the others as they are placed.
fn overrun(
    allocator: &Allocator,
    device: &Device,
    meetings: &BTreeMap<u64, Meeting>,
    changed: u64,
) -> Option<Resource> {
    let design = |id: u64, meeting: &Meeting| {
        let placed = allocator.design(MeetingId(id)).filter(|_| id != changed);
        placed.unwrap_or_else(|| Design::of(meeting))
    };
    let demands: Vec<_> = meetings
        .iter()
        .map(|(id, it)| (*id, Demand::of(device, it, design(*id, it))))
        .collect();
    Resource::ALL.into_iter().find(|&resource| {
        let counted = demands
            .iter()
            .filter(|(id, _)| resource != Resource::ReplicaIds || *id == changed);
        counted.map(|(_, demand)| demand.units(resource)).sum::<u64>() > device.supply(resource)
    })
}

/// Every receiver of a packet gets one copy, and nobody else gets any.
fn check(allocator: &Allocator, engine: &Engine, device: &Device, meetings: &BTreeMap<u64, Meeting>) {
    let mut sources = BTreeSet::new();
    for (&id, meeting) in meetings {
        let id = MeetingId(id);
        assert_eq!(allocator.meeting(id), Some(meeting));
        // A dearer design is kept while the nodes do not suffice for a change to the cheapest.
        let design = allocator.design(id).expect("it is placed");
        assert!(design >= Design::of(meeting), "{design:?} {meeting:?}");
        assert!(meeting.len() > 2 || design == Design::TwoParty);
        for sender in meeting.senders() {
            for quality in Quality::ALL {
                let source = Source {
                    meeting: id,
                    sender,
                    layer: quality.layer(),
                };
                assert_eq!(allocator.route(source), engine.routes.get(&source).copied());
                sources.extend((meeting.len() > 1).then_some(source));
                if quality > meeting.sent(sender) {
                    continue;
                }
                let mut copies = engine.copies(source);
                copies.sort();
                let gets = meeting
                    .receivers(sender)
                    .filter(|place| meeting.quality(sender, *place) >= quality);
                assert_eq!(copies, gets.map(|place| (id, place)).collect::<Vec<_>>());
            }
        }
    }
    assert_eq!(allocator.len(), meetings.len());
    assert_eq!(engine.routes.keys().copied().collect::<BTreeSet<_>>(), sources);
    let branches = device.supply(Resource::Trees) - allocator.left(Resource::Trees);
    assert!(engine.trees.len() as u64 <= branches);
    assert!(branches <= engine.trees.len() as u64 * u64::from(device.branches_per_tree()));
    assert!(engine.nodes.len() as u64 <= device.supply(Resource::Nodes) - allocator.left(Resource::Nodes));
}

/// Copies of a meeting that are due both before and after a change.
fn due(id: u64, before: &Meeting, after: &Meeting) -> BTreeMap<Source, Vec<(MeetingId, Place)>> {
    let mut due = BTreeMap::new();
    let meeting = MeetingId(id);
    let gets = |it: &Meeting, from, to, quality| it.contains(to) && it.quality(from, to) >= quality;
    for sender in before
        .senders()
        .filter(|sender| after.senders().any(|it| it == *sender))
    {
        for quality in Quality::ALL {
            let layer = quality.layer();
            let both = |to: &Place| gets(before, sender, *to, quality) && gets(after, sender, *to, quality);
            let copies = before
                .receivers(sender)
                .filter(both)
                .map(|place| (meeting, place))
                .collect();
            due.insert(Source { meeting, sender, layer }, copies);
        }
    }
    due
}

/// Whether the device has left exactly what the meetings, as they are placed, do not need.
fn left_is_whole(allocator: &Allocator, device: &Device, meetings: &BTreeMap<u64, Meeting>) -> bool {
    let demand = |(id, meeting): (&u64, &Meeting)| {
        let design = allocator.design(MeetingId(*id)).expect("it is placed");
        Demand::of(device, meeting, design)
    };
    let demands: Vec<_> = meetings.iter().map(demand).collect();
    let mut summed = Resource::ALL.into_iter().filter(|it| *it != Resource::ReplicaIds);
    summed.all(|resource| {
        let used: u64 = demands.iter().map(|demand| demand.units(resource)).sum();
        used <= device.supply(resource) && allocator.left(resource) == device.supply(resource) - used
    })
}

fn is_unused(allocator: &Allocator, device: &Device) -> bool {
    Resource::ALL
        .into_iter()
        .all(|resource| allocator.left(resource) == device.supply(resource))
}

/// A meeting that needs the given design, if its size permits.
fn meeting_of(participants: u16, senders: u16, quality: Quality, design: Design) -> Meeting {
    let mut meeting = Meeting::uniform(participants, senders, quality);
    let last = Place(participants - 1);
    match design {
        Design::RaR => assert!(meeting.set_quality(last, Quality::Low)),
        Design::RaSr => assert!(meeting.set_quality_from(Place(0), last, Quality::Low)),
        Design::TwoParty | Design::Nra => {}
    }
    meeting
}

/// Adds equal meetings until one is refused.
fn fill(allocator: &mut Allocator, engine: &mut Engine, meeting: &Meeting, ids: &mut Vec<MeetingId>) -> Resource {
    loop {
        let id = (0..).map(MeetingId).find(|id| !ids.contains(id)).expect("an unused id");
        match allocator.set(id, meeting.clone(), engine) {
            Ok(_) => ids.push(id),
            Err(refusal) => return refusal.resource,
        }
    }
}

proptest! {
    #[test]
    fn every_history_keeps_the_meetings_apart(
        device in any_device(),
        history in prop::collection::vec(any_change(), 0..80),
    ) {
        let (mut allocator, mut engine) = (Allocator::new(device.clone()), Engine::new(&device));
        let mut meetings = BTreeMap::<u64, Meeting>::new();
        for (id, change) in &history {
            let before = meetings.get(id).cloned().unwrap_or_default();
            let mut wanted = meetings.clone();
            wanted.insert(*id, changed(before.clone(), change));
            wanted.retain(|_, meeting| !meeting.is_empty());
            let lacking = overrun(&allocator, &device, &wanted, *id);
            match apply(&mut allocator, MeetingId(*id), &before, change, &mut engine) {
                Ok(()) => meetings = wanted,
                // The nodes may suffice after the change and not during it.
                Err(refusal) => prop_assert_eq!(refusal.resource, lacking.unwrap_or(Resource::Nodes)),
            }
            prop_assert!(left_is_whole(&allocator, &device, &meetings));
            check(&allocator, &engine, &device, &meetings);
        }
        for (id, meeting) in &meetings {
            for place in meeting.places() {
                prop_assert!(allocator.leave(MeetingId(*id), place, &mut engine));
            }
        }
        prop_assert!(allocator.is_empty() && engine.is_empty() && is_unused(&allocator, &device));
    }

    #[test]
    fn no_copy_is_missing_during_a_change(
        device in any_device(),
        history in prop::collection::vec(any_change(), 0..80),
    ) {
        let (mut allocator, mut engine) = (Allocator::new(device.clone()), Engine::new(&device));
        for (id, change) in &history {
            let before = allocator.meeting(MeetingId(*id)).cloned().unwrap_or_default();
            engine.wanted = due(*id, &before, &changed(before.clone(), change));
            let _refused = apply(&mut allocator, MeetingId(*id), &before, change, &mut engine).is_err();
        }
    }

    #[test]
    fn equal_meetings_fit_up_to_the_capacity_after_any_removals(
        device in any_device(),
        (participants, senders) in (2_u16..7).prop_flat_map(|all| (Just(all), 1..=all)),
        quality in any_quality(),
        design in prop::sample::select(vec![Design::Nra, Design::RaR, Design::RaSr]),
        removals in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let meeting = meeting_of(participants, senders, quality, design);
        let expected = capacity(&device, &meeting);
        let (mut allocator, mut engine) = (Allocator::new(device.clone()), Engine::new(&device));
        let mut ids = Vec::new();
        let binding = fill(&mut allocator, &mut engine, &meeting, &mut ids);
        prop_assert_eq!((ids.len() as u64, binding), (expected.meetings, expected.binding));
        for removal in removals {
            if !ids.is_empty() {
                let id = ids.swap_remove(removal.index(ids.len()));
                prop_assert!(allocator.set(id, Meeting::default(), &mut engine).is_ok());
            }
        }
        fill(&mut allocator, &mut engine, &meeting, &mut ids);
        prop_assert_eq!(ids.len() as u64, expected.meetings);
    }
}
