//! Datagrams at relaying ports, between parties with and without keys.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::time::Instant;

use backend_udp::InlinePlane;
use dataplane::limits::DATAGRAM_MAX;
use dataplane::{
    Accept, Clock, DataPlane, Hop, Ingress, MasterKey, Model, Path, Relay, RelayProtection, SrtpProfile, Update,
    Verdict,
};
use wire::NtpTime;

const OURS: [u8; 4] = [192, 0, 2, 1];
const THEIRS: [u8; 4] = [198, 51, 100, 1];

/// Four relays, each with another pair of covers, in a device and in the model.
struct World {
    now: Instant,
    plane: InlinePlane,
    model: Model,
}

thread_local! {
    static WORLD: RefCell<World> = RefCell::new(World::new());
}

impl World {
    fn new() -> Self {
        #[allow(clippy::disallowed_methods, reason = "some instant to start at")]
        let now = Instant::now();
        let clock = Clock {
            origin: now,
            ntp: NtpTime(0),
        };
        let (plane, model) = (InlinePlane::new(1, clock), Model::new(clock));
        let mut world = World { now, plane, model };
        for number in 0..4 {
            let update = Update::SetRelay(at(number), Box::new(relay(number)));
            world.plane.write(now, update.clone()).expect("there is room");
            world.model.write(now, update).expect("there is room");
        }
        world
    }
}

fn at(number: u16) -> SocketAddr {
    SocketAddr::new(OURS.into(), 10_000 + number)
}

fn relay(number: u16) -> Relay {
    let cover = |is_covered: bool, seed: u8| match is_covered {
        false => RelayProtection::Clear,
        true => MasterKey::new(SrtpProfile::AesCm128HmacSha1_80, &[seed; 16], &[seed; 14])
            .map(RelayProtection::Srtp)
            .expect("the profile's lengths"),
    };
    let hop = Some(Hop {
        path: Path {
            local: at(number ^ 1),
            remote: (THEIRS, 7).into(),
        },
        egress_protection: cover(number & 1 != 0, 1),
        tos: None,
    });
    Relay {
        accept: Accept::Learn {
            within: None,
            window: 0,
            rtp_only: false,
        },
        ingress_protection: cover(number & 2 != 0, 2),
        terminated: false,
        rtp: hop.clone(),
        rtcp: hop,
    }
}

/// Packets that are not authentic never pass; unencrypted packets pass unchanged or not at all, as
/// in the model.
pub fn relayed(data: &[u8]) {
    WORLD.with_borrow_mut(|World { now, plane, model }| {
        for number in 0..4 {
            let path = Path {
                local: at(number),
                remote: (THEIRS, 5).into(),
            };
            let verdict = plane.packet(*now, 0, path, data);
            let sent = plane.take_sent();
            assert_eq!(sent.len(), usize::from(verdict == Verdict::Forward));
            assert!(verdict != Verdict::Forward || data.len() <= DATAGRAM_MAX);
            match number & 2 {
                0 => {
                    let mut expected = Vec::new();
                    let said = model.packet(*now, Ingress { path, bytes: data }, &mut expected);
                    assert_eq!(verdict, said);
                    for (sent, expected) in sent.iter().zip(&expected).filter(|_| number == 0) {
                        assert_eq!((sent.path, &sent.bytes), (expected.path, &expected.bytes));
                    }
                }
                _ => assert_ne!(verdict, Verdict::Forward, "forged"),
            }
        }
        while plane.poll().is_some() {}
        while model.poll().is_some() {}
    });
}
