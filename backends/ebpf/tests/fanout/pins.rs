//! Rooms that outlive the process: killed during a meeting, which goes on, and found by the next.

use std::env;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use backend_ebpf::{Fanout, FanoutConfig, RelayConfig, RelayOffload, RoomsPath, detach, detach_rooms};
use dataplane::{Counter, LegId, Protection, ReplicaId, ReplicaOffload, Update};
use veth::{Pair, pair_or_skip};

use crate::cable::{PATIENCE, STREAM, drain, leg, packet, replica, socket, stream};
use crate::driver::drivers;
use crate::kept::{Process, while_sending, with_pins};

fn config(pins: &Path) -> FanoutConfig {
    FanoutConfig {
        interfaces: vec!["near0".to_owned()],
        pins: Some(pins.to_owned()),
        ..FanoutConfig::default()
    }
}

/// Orders a room: who speaks to which port of ours, and who listens. Every process numbers them as
/// if it were the first.
fn order(fanout: &mut Fanout, near: SocketAddr, speaker: SocketAddr, listeners: &[SocketAddr]) {
    let mut offer = |update| fanout.offer(Instant::now(), &update).expect("the kernel can do that");
    offer(Update::SetLeg(LegId(0), leg(near, speaker, Protection::Clear)));
    offer(Update::SetStream(STREAM, stream()));
    for (number, listener) in (1..).zip(listeners) {
        offer(Update::SetLeg(LegId(number), leg(near, *listener, Protection::Clear)));
        offer(Update::SetReplica(ReplicaId(number), replica(number)));
    }
}

/// The other process. Its commands are rooms: our address, the speaker's, and the listeners'.
#[test]
#[ignore = "is a process of another test"]
fn room_process() {
    let pins = PathBuf::from(env::var_os("PINS").expect("the other test sets it"));
    serve(Fanout::start(&config(&pins), Instant::now()).unwrap());
}

/// The same where the driver copies, behind relays.
#[test]
#[ignore = "is a process of another test"]
fn driver_process() {
    let pins = PathBuf::from(env::var_os("PINS").expect("the other test sets it"));
    let relays = RelayConfig {
        interfaces: vec!["near0".to_owned()],
        pins: Some(pins.clone()),
        ..RelayConfig::default()
    };
    let mut relays = RelayOffload::start(&relays, Instant::now()).unwrap();
    // A veth that has a program is taken to want it.
    let mut merge_nothing = Command::new("ethtool");
    assert!(
        merge_nothing
            .args(["-K", "near0", "gro", "off"])
            .status()
            .unwrap()
            .success()
    );
    let config = FanoutConfig {
        path: RoomsPath::Xdp,
        ..config(&pins)
    };
    serve(Fanout::start_behind(&mut relays, &config, Instant::now()).unwrap());
}

/// Does what commands say.
fn serve(mut fanout: Fanout) {
    let forwarded = fanout.counters()[Counter::Forwarded];
    println!("> found {} of {forwarded} {}", fanout.unconfirmed(), fanout.found()[0]);
    for line in std::io::stdin().lines() {
        let addresses: Vec<SocketAddr> = line.unwrap().split(' ').map(|word| word.parse().unwrap()).collect();
        order(&mut fanout, addresses[0], addresses[1], &addresses[2..]);
        println!("> sends {}", fanout.sends(ReplicaId(1)));
    }
}

/// People at the far end, and our port for them.
struct People {
    near: SocketAddr,
    speaker: UdpSocket,
    listeners: [UdpSocket; 2],
}

impl People {
    fn new(pair: &Pair, like: IpAddr, port: u16) -> Self {
        let near = SocketAddr::new(pair.near.address(like), port);
        let listeners = [0, 1].map(|_| socket(pair, like));
        // A datagram makes the kernel resolve the receiver's hardware address.
        let asking = pair
            .near
            .run(|| UdpSocket::bind((near.ip(), 0)).expect("there are ports"));
        asking.send_to(b"hello", listeners[0].local_addr().unwrap()).unwrap();
        listeners[0].recv(&mut [0; 9]).expect("it arrives");
        People {
            near,
            speaker: socket(pair, like),
            listeners,
        }
    }

    /// As a process is told of them.
    fn words(&self) -> String {
        let others = [&self.speaker, &self.listeners[0], &self.listeners[1]];
        let others = others.map(|socket| socket.local_addr().unwrap().to_string());
        format!("{} {}", self.near, others.join(" "))
    }

    fn speak(&self, sequence: u16) {
        self.speaker.send_to(&packet(sequence, 200), self.near).unwrap();
    }

    /// Whether everybody hears a packet.
    fn hear(&self, sequence: u16) -> bool {
        self.listeners.iter().for_each(drain);
        self.speak(sequence);
        let hears = |listener: &UdpSocket, timeout| {
            listener.set_read_timeout(Some(timeout)).unwrap();
            listener.recv(&mut [0; 2_000]).is_ok()
        };
        let wait = Duration::from_millis(100);
        let Some(first) = self.listeners.iter().position(|listener| hears(listener, wait)) else {
            return false;
        };
        for (index, listener) in self.listeners.iter().enumerate() {
            assert!(index == first || hears(listener, PATIENCE), "all or nobody");
        }
        true
    }

    /// Sends a packet every millisecond while something else is done. How many, and which of them
    /// each got, by the numbers they have there.
    fn meeting(&self, meanwhile: impl FnOnce()) -> (u16, [Vec<u16>; 2]) {
        let listeners = self.listeners.each_ref().map(|listener| || numbers(listener));
        let (sent, heard) = while_sending(|number| self.speak(number as u16), listeners, meanwhile);
        (sent as u16, heard)
    }
}

/// The numbers of all packets until no more come.
fn numbers(listener: &UdpSocket) -> Vec<u16> {
    let mut numbers = Vec::new();
    let mut buffer = [0; 2_000];
    while listener.recv(&mut buffer).is_ok() {
        numbers.push(u16::from_be_bytes([buffer[2], buffer[3]]));
    }
    numbers
}

#[test]
fn a_meeting_continues_while_the_process_is_killed_and_replaced() {
    let Some(pair) = pair_or_skip(1) else { return };
    for like in [IpAddr::from(pair.near.v4), pair.near.v6.into()] {
        let (people, others) = (People::new(&pair, like, 7000), People::new(&pair, like, 7002));
        with_pins(&pair, |pins| {
            let mut first = Process::start("pins::room_process", pins);
            assert_eq!(first.says(), "found 0 of 0 near0: tc");
            assert_eq!(first.tell(&people.words()), "sends true");
            let (sent, got) = people.meeting(|| {
                thread::sleep(Duration::from_millis(300));
                first.kill();
                thread::sleep(Duration::from_millis(500));
                let mut second = Process::start("pins::room_process", pins);
                let said = second.says();
                assert!(
                    said.starts_with("found 1 of ") && said.ends_with(" near0: adopted"),
                    "{said}"
                );
                thread::sleep(Duration::from_millis(100));
                // Others meet, by the same numbers of legs, streams and replicas: they and those
                // who were found do not hear of each other.
                assert_eq!(second.tell(&others.words()), "sends true");
                assert!(others.hear(1) && others.hear(2));
                second.kill();
                thread::sleep(Duration::from_millis(100));
                assert!(others.hear(3));
            });
            let all: Vec<u16> = (100..100 + sent).collect();
            assert_eq!(got, [all.clone(), all]);
            println!("{sent} packets of {like} to two, none lost");

            // Counting went on, too, and what nobody orders again ends when its time is over.
            let keep = Duration::from_millis(800);
            let mut third = Fanout::start(&FanoutConfig { keep, ..config(pins) }, Instant::now()).unwrap();
            assert_eq!(third.counters()[Counter::Forwarded], 2 * u64::from(sent) + 2 * 3);
            assert_eq!(third.unconfirmed(), 2);
            third.poll();
            assert!(people.hear(sent) && others.hear(4));
            let [speaker, one, other] = [&others.speaker, &others.listeners[0], &others.listeners[1]]
                .map(|socket| socket.local_addr().unwrap());
            order(&mut third, others.near, speaker, &[one, other]);
            thread::sleep(keep);
            third.poll();
            assert_eq!(third.unconfirmed(), 0);
            assert!(!people.hear(sent + 1), "nobody ordered them again");
            assert!(others.hear(5), "these are ordered");
        });
    }
}

/// The driver's part ends with the process, and the stack's goes on from the same tables; the next
/// process's driver takes only what is ordered there.
#[test]
fn a_meeting_continues_in_the_stack_after_the_driver_copied() {
    let Some(pair) = pair_or_skip(1) else { return };
    let _pass = drivers(&pair);
    let like = pair.near.v4.into();
    let (people, others) = (People::new(&pair, like, 7000), People::new(&pair, like, 7002));
    with_pins(&pair, |pins| {
        let mut first = Process::start("pins::driver_process", pins);
        first.says();
        assert_eq!(first.tell(&people.words()), "sends true");
        let (sent, got) = people.meeting(|| {
            thread::sleep(Duration::from_millis(300));
            first.kill();
            thread::sleep(Duration::from_millis(500));
            let mut second = Process::start("pins::driver_process", pins);
            let said = second.says();
            assert!(
                said.starts_with("found 1 of ") && said.ends_with(" near0: adopted"),
                "{said}"
            );
            assert_eq!(second.tell(&others.words()), "sends true");
            assert!(others.hear(1) && others.hear(2));
            thread::sleep(Duration::from_millis(300));
            second.kill();
            thread::sleep(Duration::from_millis(100));
            assert!(others.hear(3));
        });
        let all: Vec<u16> = (100..100 + sent).collect();
        assert_eq!(got, [all.clone(), all]);
        println!("{sent} packets to two, none lost");
    });
}

/// Every place is used again once what was found there is gone.
#[test]
fn places_of_found_entries_are_free_afterwards() {
    let Some(pair) = pair_or_skip(1) else { return };
    let people = People::new(&pair, pair.near.v4.into(), 7000);
    let addresses = people.words();
    let addresses: Vec<SocketAddr> = addresses.split(' ').map(|word| word.parse().unwrap()).collect();
    with_pins(&pair, |pins| {
        let keep = Duration::ZERO;
        for time in 0..3 {
            let mut fanout = Fanout::start(&FanoutConfig { keep, ..config(pins) }, Instant::now()).unwrap();
            assert_eq!(fanout.unconfirmed(), usize::from(time > 0));
            fanout.poll();
            assert_eq!(fanout.unconfirmed(), 0);
            assert!(!people.hear(10 * time));
            order(&mut fanout, addresses[0], addresses[1], &addresses[2..]);
            assert!(people.hear(10 * time + 1) && people.hear(10 * time + 2));
        }
    });
}

#[test]
fn pins_of_another_layout_are_removed() {
    let Some(pair) = pair_or_skip(1) else { return };
    with_pins(&pair, |pins| {
        let other = pins.join("rooms/fanout-0-0");
        std::fs::create_dir_all(&other).unwrap();
        let fanout = Fanout::start(&config(pins), Instant::now()).unwrap();
        assert_eq!((fanout.unconfirmed(), other.exists()), (0, false));
    });
}

#[test]
fn leftovers_can_be_taken_down() {
    let Some(pair) = pair_or_skip(1) else { return };
    let people = People::new(&pair, pair.near.v4.into(), 7000);
    let ends = |detach: &dyn Fn(&Path) -> std::io::Result<()>, pins: &Path, number| {
        let mut process = Process::start("pins::room_process", pins);
        process.says();
        process.tell(&people.words());
        assert!(people.hear(number));
        detach(pins).unwrap_err();
        process.kill();
        assert!(people.hear(number + 1));
        detach(pins).unwrap();
        // The kernel takes programs off a little later than links are removed.
        let deadline = Instant::now() + PATIENCE;
        while people.hear(number + 2) {
            assert!(Instant::now() < deadline, "somebody copies still");
        }
    };
    with_pins(&pair, |pins| {
        ends(&detach_rooms, pins, 10);
        ends(&detach, pins, 20);
    });
}
