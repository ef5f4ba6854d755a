//! Forwarding that outlives the process: killed during a call, found again by the next.

#![allow(clippy::disallowed_methods, reason = "tests wait in real time")]

#[path = "support/kept.rs"]
mod kept;
mod support;

use std::env;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use backend_ebpf::{Attached, Counter, EbpfError, Hook, Path as RunsAt, RelayConfig, RelayOffload, detach};
use dataplane::Offload;
use kept::{Process, while_sending, with_pins};
use support::*;

fn config(pins: &Path) -> RelayConfig {
    RelayConfig {
        interfaces: vec!["near0".to_owned()],
        relays_max: 64,
        pins: Some(pins.to_owned()),
        ..RelayConfig::default()
    }
}

/// The other process: its commands are addresses, `at accept local remote`.
#[test]
#[ignore = "is a process of another test"]
fn in_driver() {
    serve(Hook::Xdp);
}

/// The same in the stack.
#[test]
#[ignore = "is a process of another test"]
fn in_stack() {
    serve(Hook::Tc);
}

fn serve(hook: Hook) {
    let pins = PathBuf::from(env::var_os("PINS").expect("the other test sets it"));
    let config = RelayConfig { hook, ..config(&pins) };
    let mut offload = RelayOffload::start(&config, Instant::now()).unwrap();
    println!("> found {} {}", offload.unconfirmed(), offload.found()[0]);
    for line in std::io::stdin().lines() {
        let addresses: Vec<SocketAddr> = line.unwrap().split(' ').map(|word| word.parse().unwrap()).collect();
        let relay = relay(addresses[1], addresses[2], addresses[3]);
        offload.set(Instant::now(), addresses[0], &relay).unwrap();
        println!(
            "> has {} of them unconfirmed {}",
            offload.relays(),
            offload.unconfirmed()
        );
    }
}

fn offer(process: &mut Process, parties: &Parties) -> [String; 2] {
    [0, 1].map(|from: usize| {
        let (at, to) = (parties.ours[from], 1 - from);
        process.tell(&format!(
            "{at} {} {} {}",
            parties.theirs[from], parties.ours[to], parties.theirs[to]
        ))
    })
}

/// Sends a packet every millisecond from one to the other while something else is done. How many,
/// and which came.
fn calling(parties: &Parties, meanwhile: impl FnOnce()) -> (u32, Vec<u32>) {
    let [caller, called] = &parties.sockets;
    let send = |number| {
        caller.send_to(&rtp(number, 172), parties.ours[0]).unwrap();
    };
    let hear = || {
        let mut numbers = Vec::new();
        let mut buffer = [0; 2_000];
        while let Ok(len) = called.recv(&mut buffer) {
            numbers.push(support::number(&buffer[..len]));
        }
        numbers
    };
    let (sent, [heard]) = while_sending(send, [hear], meanwhile);
    (sent, heard)
}

#[test]
fn a_process_that_is_killed_and_replaced_loses_no_packet() {
    let Some(pair) = cable_or_skip() else { return };
    let families = [IpAddr::from(pair.near.v4), pair.near.v6.into()];
    let places = [("in_driver", "native"), ("in_stack", "tc")];
    for (like, (test, place)) in families.into_iter().flat_map(|like| places.map(|place| (like, place))) {
        let parties = Parties::new(&pair, like);
        with_pins(&pair, |pins| {
            let mut first = Process::start(test, pins);
            assert_eq!(first.says(), format!("found 0 near0: {place}"));
            assert_eq!(offer(&mut first, &parties)[1], "has 2 of them unconfirmed 0");
            let (sent, got) = calling(&parties, || {
                thread::sleep(Duration::from_millis(300));
                first.kill();
                thread::sleep(Duration::from_millis(500));
                let mut second = Process::start(test, pins);
                assert_eq!(second.says(), "found 2 near0: adopted");
                thread::sleep(Duration::from_millis(100));
                let said = offer(&mut second, &parties);
                assert_eq!(said, ["has 2 of them unconfirmed 1", "has 2 of them unconfirmed 0"]);
                thread::sleep(Duration::from_millis(300));
                second.kill();
                thread::sleep(Duration::from_millis(100));
            });
            assert_eq!(got, (0..sent).collect::<Vec<_>>());
            println!("{sent} packets of {like} {test}, none lost");

            // Counting went on, too.
            let mut third = RelayOffload::start(&config(pins), Instant::now()).unwrap();
            let (traffic, _) = third.relay_traffic(parties.ours[0]).unwrap();
            assert_eq!(
                (traffic.packets, third.statistics().read()[Counter::Relayed]),
                (sent.into(), sent.into())
            );
        });
    }
}

#[test]
fn relays_that_are_not_offered_again_are_swept() {
    let Some(pair) = cable_or_skip() else { return };
    let parties = Parties::new(&pair, pair.near.v4.into());
    with_pins(&pair, |pins| {
        let offer = |offload: &mut RelayOffload, from: usize| {
            offload
                .set(Instant::now(), parties.ours[from], &parties.relay(from))
                .unwrap();
        };
        let mut offload = RelayOffload::start(&config(pins), Instant::now()).unwrap();
        offer(&mut offload, 0);
        offer(&mut offload, 1);
        drop(offload);
        let keep = Duration::from_millis(200);
        let mut offload = RelayOffload::start(&RelayConfig { keep, ..config(pins) }, Instant::now()).unwrap();
        assert_eq!((offload.relays(), offload.unconfirmed()), (2, 2));
        offload.next_written();
        assert_eq!(offload.relays(), 2);
        thread::sleep(keep);
        offload.next_written();
        assert_eq!((offload.relays(), offload.unconfirmed()), (0, 0));
        drop(offload);
        assert_eq!(RelayOffload::start(&config(pins), Instant::now()).unwrap().relays(), 0);
    });
}

#[test]
fn tables_of_another_size_are_not_adopted() {
    let Some(pair) = cable_or_skip() else { return };
    let parties = Parties::new(&pair, pair.near.v4.into());
    with_pins(&pair, |pins| {
        let start = |relays_max| {
            RelayOffload::start(
                &RelayConfig {
                    relays_max,
                    ..config(pins)
                },
                Instant::now(),
            )
            .unwrap()
        };
        let mut offload = start(64);
        offload.set(Instant::now(), parties.ours[0], &parties.relay(1)).unwrap();
        drop(offload);
        let offload = start(65);
        assert_eq!((offload.relays(), offload.found()[0].attached), (0, Attached::Native));
        drop(offload);
        let offload = start(65);
        assert_eq!(
            (offload.found()[0].attached, offload.path()),
            (Attached::Adopted, RunsAt::Driver)
        );
    });
}

#[test]
fn one_process_owns_a_folder_and_leftovers_can_be_taken_down() {
    let Some(pair) = cable_or_skip() else { return };
    with_pins(&pair, |pins| {
        // The namespace may have it set already, which is nothing to set back.
        let setting = "/proc/sys/net/ipv4/conf/lo/forwarding";
        let is_set = || std::fs::read_to_string(setting).unwrap().trim() == "1";
        std::fs::write(setting, "0").unwrap();
        let offload = RelayOffload::start(&config(pins), Instant::now()).unwrap();
        let second = RelayOffload::start(&config(pins), Instant::now());
        assert!(matches!(second, Err(EbpfError::InUse(_))), "{second:?}");
        detach(pins).unwrap_err();
        drop(offload);
        assert!(is_set(), "pinned programs go on");
        let unpinned = RelayConfig {
            pins: None,
            hook: Hook::Xdp,
            ..config(pins)
        };
        let beside = RelayOffload::start(&unpinned, Instant::now());
        assert!(matches!(beside, Err(EbpfError::Taken(_))), "{beside:?}");
        detach(pins).unwrap();
        assert!(!is_set());
        // The kernel takes programs off a little later than links are removed.
        let deadline = Instant::now() + PATIENCE;
        while let Err(error) = RelayOffload::start(&unpinned, Instant::now()) {
            assert!(Instant::now() < deadline, "{error}");
        }
        // And without pins nothing is left.
        RelayOffload::start(&unpinned, Instant::now()).unwrap();
    });
}
