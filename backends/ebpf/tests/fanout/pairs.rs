//! The kernel's room for pairs of addresses: legs that share one need room for one.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use backend_ebpf::{Fanout, FanoutConfig};
use dataplane::{Leg, LegId, Protection, Refused, Replica, ReplicaId, ReplicaOffload, StreamKey, Update};
use veth::pair_or_skip;
use wire::Ssrc;

use crate::cable::{leg, replica, stream};

/// How many pairs the kernel has room for.
const ROOM: u32 = 4_096;

/// Legs of one pair.
const TOGETHER: u32 = 100;

/// It is looked for room once a second.
const SOON: Duration = Duration::from_millis(1_100);

#[test]
fn a_leg_for_whose_pair_there_is_no_room_waits_for_it() {
    let Some(pair) = pair_or_skip(1) else { return };
    let config = FanoutConfig {
        interfaces: vec![pair.near.interface.to_owned()],
        ..FanoutConfig::default()
    };
    pair.near.run(|| {
        let mut fanout = Fanout::start(&config, Instant::now()).unwrap_or_else(|error| panic!("{error}"));
        let near = SocketAddr::new(pair.near.v4.into(), 7_000);
        let at = |port: u32| {
            let far = SocketAddr::new(pair.far.v4.into(), port as u16);
            leg(near, far, Protection::Clear)
        };
        let offer = |fanout: &mut Fanout, update| fanout.offer(Instant::now(), &update);
        for id in 1..ROOM {
            assert_eq!(
                offer(&mut fanout, Update::SetLeg(LegId(id), at(10_000 + id))),
                Ok(()),
                "leg {id}"
            );
        }
        // The last pair is that of a hundred legs.
        let together = ROOM..ROOM + TOGETHER;
        for id in together.clone() {
            let shared = Leg {
                shared: Some(Ssrc(id)),
                ..at(9_000)
            };
            assert_eq!(
                offer(&mut fanout, Update::SetLeg(LegId(id), shared)),
                Ok(()),
                "leg {id}"
            );
        }

        // One more has no place, and neither has a replica of what comes from it.
        let (id, key) = (
            LegId(9_999),
            StreamKey {
                leg: LegId(9_999),
                ssrc: Ssrc(0x11),
            },
        );
        assert_eq!(offer(&mut fanout, Update::SetLeg(id, at(9_001))), Err(Refused::Full));
        assert_eq!(offer(&mut fanout, Update::SetStream(key, stream())), Err(Refused::Full));
        let waiting = Replica {
            source: Some(key),
            ..replica(1)
        };
        assert_eq!(
            offer(&mut fanout, Update::SetReplica(ReplicaId(1), waiting)),
            Err(Refused::Full)
        );

        // There is room when the last of the hundred is gone.
        let comes = |fanout: &mut Fanout| {
            thread::sleep(SOON);
            while fanout.poll().is_some() {}
            fanout.next_candidate().map(|candidate| candidate.replica)
        };
        for id in together.skip(1) {
            assert_eq!(offer(&mut fanout, Update::RemoveLeg(LegId(id))), Ok(()));
        }
        assert_eq!(comes(&mut fanout), None);
        assert_eq!(offer(&mut fanout, Update::RemoveLeg(LegId(ROOM))), Ok(()));
        assert_eq!(comes(&mut fanout), Some(ReplicaId(1)));
    });
}
