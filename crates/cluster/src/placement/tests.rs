use super::*;
use crate::MediaRecord;

fn node(id: u64, region: &str, load: u32) -> Media {
    let record = MediaRecord {
        name: format!("n{id}"),
        address: format!("n{id}.example"),
        region: region.to_owned(),
        capacity: 100,
        load,
        draining: false,
        oldest: 1,
        newest: 1,
    };
    let node = NodeId(id);
    Media { node, record }
}

fn chosen(media: &[Media], need: &Need) -> Result<NodeId, NoNode> {
    choose(media, Versions::OURS, need, &mut Random::new([3; 32]))
}

#[test]
fn a_pinned_room_never_goes_elsewhere() {
    let pinned = ["eu".to_owned()];
    let need = Need {
        pinned: &pinned,
        region: Some("us"),
        ..Need::default()
    };
    assert_eq!(chosen(&[node(1, "us", 0), node(2, "eu", 99)], &need), Ok(NodeId(2)));
    assert_eq!(
        chosen(&[node(1, "us", 0), node(2, "eu", 100)], &need),
        Err(NoNode::Full)
    );
    assert_eq!(chosen(&[node(1, "us", 0)], &need), Err(NoNode::Pinned));
}

#[test]
fn ten_thousand_participants_are_spread_evenly() {
    let mut media: Vec<_> = (0..10).map(|id| node(id, "eu", 0)).collect();
    media.iter_mut().for_each(|it| it.record.capacity = 2_000);
    let random = &mut Random::new([5; 32]);
    let need = Need {
        participants: 100,
        ..Need::default()
    };
    for _ in 0..10_000 {
        let id = choose(&media, Versions::OURS, &need, random).unwrap();
        media[id.0 as usize].record.load += 1;
    }
    assert!(media.iter().all(|it| (980..1_020).contains(&it.record.load)));
}
