use proptest::prelude::*;

use super::*;

fn key(leg: u32) -> StreamKey {
    StreamKey {
        leg: LegId(leg),
        ssrc: Ssrc(10),
    }
}

fn followers(legs: impl IntoIterator<Item = u32>) -> Followers {
    legs.into_iter().map(|leg| (LegId(leg), Some(Quality::High))).collect()
}

impl Meetings {
    fn design(&self, leg: u32) -> Option<Design> {
        self.allocator.design(self.seats.get(&LegId(leg))?.meeting)
    }

    /// Everybody in a range of legs gets everybody else.
    fn mesh(&mut self, now: Instant, legs: std::ops::RangeInclusive<u32>) -> Result<(), Refusal> {
        legs.clone()
            .try_for_each(|leg| self.follow(now, key(leg), followers(legs.clone().filter(|other| *other != leg))))
    }

    /// The legs that get a packet of a layer, by the nodes of its tree that are not excluded.
    fn reached(&self, leg: u32, layer: usize) -> Vec<u32> {
        let fanouts = self.fanouts(key(leg)).expect("it has a tree");
        let mut reached = self.trees.reached(fanouts.iter().nth(layer).unwrap());
        reached.sort_unstable();
        reached.into_iter().map(|leg| leg.0).collect()
    }
}

#[test]
fn meetings_share_a_tree_by_exclusion_and_two_parties_need_none() {
    let (mut meetings, now) = (Meetings::default(), Instant::now());
    meetings.mesh(now, 1..=2).unwrap();
    assert_eq!(meetings.design(1), Some(Design::TwoParty));
    assert_eq!(meetings.fanouts(key(1)), None);
    meetings.mesh(now, 3..=5).unwrap();
    meetings.mesh(now, 6..=9).unwrap();
    let (one, other) = (meetings.fanouts(key(3)).unwrap(), meetings.fanouts(key(6)).unwrap());
    assert!(!one.is_layered() && !other.is_layered());
    assert_eq!(one.all.group, other.all.group);
    assert_eq!((one.all.exclude, other.all.exclude), (2, 1));
    assert_eq!(meetings.reached(3, 0), [3, 4, 5]);
    assert_eq!(meetings.reached(6, 0), [6, 7, 8, 9]);
    assert_eq!(meetings.trees.owners(one.all.group).len(), 7);
}

#[test]
fn a_meeting_moves_between_designs_with_the_layers_of_its_receivers() {
    let (mut meetings, now) = (Meetings::default(), Instant::now());
    meetings.mesh(now, 1..=4).unwrap();
    assert_eq!(meetings.design(1), Some(Design::Nra));
    let with = |sender: u32, quality| {
        let mut all = followers((1..=4).filter(|leg| *leg != sender));
        all.insert(LegId(4), Some(quality));
        all
    };
    for sender in 1..=3 {
        meetings
            .follow(now, key(sender), with(sender, Quality::Medium))
            .unwrap();
    }
    assert_eq!(meetings.design(1), Some(Design::RaR));
    assert_eq!(meetings.reached(1, 1), [1, 2, 3, 4]);
    assert_eq!(meetings.reached(1, 2), [1, 2, 3]);
    meetings.follow(now, key(2), with(2, Quality::Low)).unwrap();
    assert_eq!(meetings.design(1), Some(Design::RaSr));
    assert_eq!(meetings.reached(2, 1), [1, 3]);
    assert_eq!(meetings.reached(1, 1), [2, 3, 4]);
    for sender in 1..=3 {
        meetings.follow(now, key(sender), with(sender, Quality::High)).unwrap();
    }
    assert_eq!(meetings.design(1), Some(Design::Nra));
    assert!(!meetings.fanouts(key(1)).unwrap().is_layered());
}

#[test]
fn a_meeting_without_room_for_layers_copies_all_of_them() {
    let engine = Device { trees: 1, ..engine() };
    let (mut meetings, now) = (Meetings::new(engine), Instant::now());
    meetings.mesh(now, 1..=3).unwrap();
    let mut some = followers(2..=3);
    some.insert(LegId(3), Some(Quality::Low));
    meetings.follow(now, key(1), some.clone()).unwrap();
    assert_eq!(meetings.design(1), Some(Design::Nra), "three branches are not there");
    meetings.mesh(now, 5..=7).unwrap();
    assert!(
        meetings.follow(now, key(8), followers(9..=10)).is_err(),
        "no branch is left"
    );
    assert_eq!(meetings.design(8), None);
    assert_eq!(meetings.reached(5, 0), [5, 6, 7]);
    meetings.follow(now, key(5), followers([])).unwrap();
    for leg in 6..=7 {
        meetings.follow(now, key(leg), followers([])).unwrap();
    }
    meetings.follow(now, key(8), followers(9..=10)).unwrap();
    assert_eq!(meetings.reached(8, 0), [8, 9, 10]);
}

#[test]
fn a_switch_without_room_for_layers_gets_none_for_a_while() {
    let (mut meetings, now) = (Meetings::default(), Instant::now());
    meetings.mesh(now, 1..=3).unwrap();
    let mut some = followers(2..=3);
    some.insert(LegId(3), Some(Quality::Low));
    meetings.follow(now, key(1), some).unwrap();
    assert_eq!(meetings.reached(1, 2), [2]);
    assert!(meetings.simplify(now, [LegId(1)]));
    assert_eq!(meetings.reached(1, 2), [1, 2, 3]);
    assert!(!meetings.simplify(now, [LegId(1)]), "there is nothing to simplify");
}

#[test]
fn a_stream_between_two_meetings_makes_them_one() {
    let (mut meetings, now) = (Meetings::default(), Instant::now());
    meetings.mesh(now, 1..=3).unwrap();
    meetings.mesh(now, 4..=5).unwrap();
    meetings.follow(now, key(1), followers(2..=4)).unwrap();
    assert_eq!(meetings.allocator.len(), 1);
    assert_eq!(meetings.reached(5, 0), [1, 2, 3, 4, 5]);
}

/// The layers of a stream that a follower gets, at least.
fn quality() -> impl Strategy<Value = Option<Quality>> {
    let one = |quality| Just(Some(quality));
    prop_oneof![one(Quality::Low), one(Quality::Medium), one(Quality::High), Just(None)]
}

proptest! {
    #[test]
    fn meetings_copy_each_layer_once_to_everybody_who_gets_it(
        steps in prop::collection::vec(
            (1..9_u32, prop::collection::btree_map(1..9_u32, quality(), 0..6)), 1..60,
        ),
        trees in prop_oneof![Just(TREES), 2..6_u32],
    ) {
        let (mut meetings, now) = (Meetings::new(Device { trees, ..engine() }), Instant::now());
        for (sender, followers) in steps {
            let followers: Followers = followers.into_iter().map(|(leg, quality)| (LegId(leg), quality)).collect();
            let is_fewer = followers.is_empty();
            let outcome = meetings.follow(now, key(sender), followers);
            prop_assert!(outcome.is_ok() || !is_fewer);
            let streams: Vec<_> = meetings.streams.clone().into_iter().collect();
            for (key, followers) in streams.into_iter().filter(|(_, followers)| followers.len() > 1) {
                let meeting = meetings.seats[&key.leg].meeting;
                for layer in 0..3 {
                    let reached = meetings.reached(key.leg.0, layer);
                    for (leg, quality) in &followers {
                        let gets = quality.is_none_or(|quality| usize::from(quality.layer()) >= layer);
                        let copies = reached.iter().filter(|other| **other == leg.0).count();
                        prop_assert!(!gets || layer > 0 && quality.is_none() || copies >= 1, "{leg:?} lacks layer {layer}");
                        prop_assert!(copies <= 1, "{leg:?} gets {copies} of layer {layer}");
                    }
                    for leg in reached {
                        prop_assert_eq!(meetings.seats[&LegId(leg)].meeting, meeting);
                    }
                }
            }
        }
    }
}
