//! The program with relays in the kernel: a call between two phones at the far end of a cable, set
//! up over `ng`, which goes on while the program does not run.

#![expect(clippy::disallowed_methods, reason = "a program runs in real time")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use backend_ebpf::Pass;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use serde_json::{Value, json};
use skip::skipped;
use veth::{Pair, pair_or_skip};

const PATIENCE: Duration = Duration::from_secs(10);
const NEAR: &str = "10.77.0.1";
const TOKEN: &str = "0123456789abcdef";

/// The program at the near end.
struct Program(Child);

impl Program {
    fn start(directory: &Path, more: &str) -> Self {
        let pins = directory.join("bpf/weir");
        let rtc = format!(
            "workers: 1, offload: ebpf, ebpf: {{interfaces: [near0], pins: '{}'}}",
            pins.display()
        );
        Self::start_with(directory, &rtc, more)
    }

    /// With these settings of `rtc`.
    fn start_with(directory: &Path, rtc: &str, more: &str) -> Self {
        let config = directory.join("weir.yaml");
        let text = format!(
            "bind: ['{NEAR}']
keys: {{a: 0123456789abcdef0123456789abcdef}}
rtc: {{{rtc}}}
metrics: {{token: {TOKEN}}}
sip:
  ng: {{listen: '{NEAR}:2223'}}
  allow: [10.77.0.0/24]
  interfaces: [{{address: {NEAR}, ports: 30000-30039}}]
{more}
"
        );
        std::fs::write(&config, text).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command.args(["serve", "--log", "info", "--config"]).arg(config);
        let program = Program(command.stderr(Stdio::null()).spawn().expect("the program"));
        let begun = Instant::now();
        while TcpStream::connect((NEAR, 7880)).is_err() {
            assert!(begun.elapsed() < PATIENCE, "it does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        program
    }

    fn metrics(&self) -> String {
        let mut stream = TcpStream::connect((NEAR, 7880)).expect("it listens");
        write!(stream, "GET /metrics HTTP/1.0\r\nauthorization: Bearer {TOKEN}\r\n\r\n").expect("it reads");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it answers");
        text
    }

    fn figure(&self, name: &str) -> u64 {
        let metrics = self.metrics();
        let line = metrics.lines().find_map(|line| line.strip_prefix(name));
        line.map_or(0, |value| value.trim().parse().expect("a number"))
    }

    fn await_figure(&self, name: &str, expected: u64) {
        let begun = Instant::now();
        while self.figure(name) != expected {
            assert!(
                begun.elapsed() < PATIENCE,
                "{name} is not {expected}: {}",
                self.metrics()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It is ours: SIGKILL, so that it can do nothing any more.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends a request of a proxy at the far end, and returns the answer.
fn ask(pair: &Pair, request: &Value) -> Value {
    let socket = pair.far.run(|| UdpSocket::bind((pair.far.v4, 0)).expect("a port"));
    socket.set_read_timeout(Some(PATIENCE)).expect("a time");
    // A request under a cookie that was seen before is answered as it was then.
    static COOKIES: AtomicU32 = AtomicU32::new(0);
    let cookie = COOKIES.fetch_add(1, Ordering::Relaxed);
    let bytes = format!("{cookie} {request}");
    socket.send_to(bytes.as_bytes(), (NEAR, 2223)).expect("sent");
    let mut buffer = vec![0; 65_536];
    let len = socket.recv(&mut buffer).expect("an answer");
    let skipped = format!("{cookie} ").len();
    let reply: Value = serde_json::from_slice(&buffer[skipped..len]).expect("JSON");
    assert_eq!(reply["result"], "ok", "{reply}");
    reply
}

/// Offers or answers for a phone; where the other one is to send.
fn describe(pair: &Pair, command: &str, phone: &UdpSocket) -> SocketAddr {
    describe_in("c", pair, command, phone)
}

/// The same in a call of this name.
fn describe_in(call: &str, pair: &Pair, command: &str, phone: &UdpSocket) -> SocketAddr {
    let address = phone.local_addr().expect("bound");
    let sdp = format!(
        "v=0\r\no=- 1 1 IN IP4 {ip}\r\ns=-\r\nc=IN IP4 {ip}\r\nt=0 0\r\nm=audio {} RTP/AVP 0\r\n",
        address.port(),
        ip = address.ip()
    );
    let mut request = json!({"command": command, "call-id": call, "from-tag": "a", "sdp": sdp});
    if command == "answer" {
        request["to-tag"] = "b".into();
    }
    let reply = ask(pair, &request);
    let sdp = reply["sdp"].as_str().expect("a description");
    let port = sdp.split("m=audio ").nth(1).and_then(|rest| rest.split(' ').next());
    SocketAddr::new(
        NEAR.parse().expect("an address"),
        port.expect("a port").parse().expect("a port"),
    )
}

/// Sends numbered RTP, and expects that all of it arrives.
fn speak(from: &UdpSocket, to: SocketAddr, heard_by: &UdpSocket, numbers: std::ops::Range<u16>) {
    for number in numbers {
        let mut packet = vec![0x80, 0];
        packet.extend(number.to_be_bytes());
        packet.resize(172, 7);
        from.send_to(&packet, to).expect("sent");
        let mut buffer = [0; 2_000];
        let len = heard_by
            .recv(&mut buffer)
            .unwrap_or_else(|error| panic!("packet {number}: {error}"));
        assert_eq!(buffer[..len], packet);
    }
}

/// Does something in the near namespace, with a BPF file system of its own in the folder `bpf`.
fn with_folder(pair: &Pair, what: impl FnOnce(&Path) + Send) {
    let directory: PathBuf = std::env::temp_dir().join(format!(
        "weir-kernel-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    std::fs::create_dir_all(directory.join("bpf")).expect("a directory");
    pair.near.run(|| {
        unshare(CloneFlags::CLONE_NEWNS).expect("this takes no more privilege than namespaces");
        let none: Option<&str> = None;
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).expect("ours to change");
        mount(Some("bpf"), &directory.join("bpf"), Some("bpf"), MsFlags::empty(), none).expect("the kernel has it");
        what(&directory);
    });
    std::fs::remove_dir_all(directory).expect("it is ours");
}

/// A cable, what lets its far end take frames, and two phones there.
struct Phones {
    pair: Pair,
    sockets: [UdpSocket; 2],
    _taking: Pass,
}

impl Phones {
    fn or_skip() -> Option<Self> {
        let pair = pair_or_skip(1)?;
        if let Err(reason) = pair.far.command("ethtool", "-K far0 tx off") {
            skipped("nothing was tested", reason);
            return None;
        }
        let taking = pair.far.run(|| Pass::start("far0"));
        let sockets = [0, 1].map(|_| pair.far.run(|| UdpSocket::bind((pair.far.v4, 0)).expect("a port")));
        for socket in &sockets {
            socket.set_read_timeout(Some(Duration::from_secs(1))).expect("a time");
        }
        Some(Phones {
            _taking: taking.expect("this takes no more privilege than a cable"),
            pair,
            sockets,
        })
    }
}

/// A call that the kernel has: where the first and the second phone speak to.
fn begin_call(program: &Program, pair: &Pair, phones: &[UdpSocket; 2]) -> [SocketAddr; 2] {
    let second = describe(pair, "offer", &phones[0]);
    let first = describe(pair, "answer", &phones[1]);
    // Learned from the first packets; from then on it is the kernel's.
    speak(&phones[0], first, &phones[1], 0..5);
    speak(&phones[1], second, &phones[0], 0..5);
    program.await_figure("weir_offload_entries", 2);
    [first, second]
}

/// The output of `weir inspect`.
fn inspect() -> String {
    let list = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(["inspect", "--server", "10.77.0.1:7880", "--token", TOKEN])
        .output()
        .expect("the program");
    String::from_utf8(list.stdout).expect("text")
}

#[test]
fn the_kernel_is_used_by_default_and_left_clean() {
    let Some(pair) = pair_or_skip(1) else { return };
    with_folder(&pair, |directory| {
        let program = Program::start_with(directory, "workers: 1", "");
        // The phones are on the same machine. Nothing at the cable's far end takes what a driver's
        // program sends.
        let phones = [0, 1].map(|_| UdpSocket::bind((NEAR, 0)).expect("a port"));
        for socket in &phones {
            socket.set_read_timeout(Some(Duration::from_secs(1))).expect("a time");
        }
        let [first, second] = begin_call(&program, &pair, &phones);
        let list = inspect();
        assert!(list.starts_with("relays\tin the stack ("), "{list}");
        assert!(
            list.contains("near0, as near0 takes nothing to send from XDP programs"),
            "{list}"
        );
        let relayed = || program.figure("weir_ebpf_total{reason=\"relayed\"}");
        let before = relayed();
        speak(&phones[0], first, &phones[1], 5..55);
        speak(&phones[1], second, &phones[0], 5..55);
        assert_eq!(relayed(), before + 100);
        program.await_figure("rtpengine_sessions{type=\"own\"}", 1);

        drop(program);
        phones[0].send_to(&[0x80; 172], first).expect("sent");
        assert!(phones[1].recv(&mut [0; 2_000]).is_err(), "nobody relays any more");
        let program = Program::start_with(directory, "workers: 1, offload: none", "");
        assert_eq!(inspect(), "relays\tby sockets: rtc.offload is none\n");
        drop(program);
    });
}

#[test]
fn a_call_moves_into_the_kernel_and_outlives_the_program() {
    let Some(Phones {
        pair, sockets: phones, ..
    }) = &Phones::or_skip()
    else {
        return;
    };
    with_folder(pair, |directory| {
        let program = Program::start(directory, "");
        let [first, second] = begin_call(&program, pair, phones);
        let through = |program: &Program| {
            let figure = |reason| program.figure(&format!("weir_ebpf_total{{reason=\"{reason}\"}}"));
            figure("relayed") + figure("confirming")
        };
        let before = through(&program);
        speak(&phones[0], first, &phones[1], 5..55);
        speak(&phones[1], second, &phones[0], 5..55);
        assert_eq!(through(&program), before + 100);
        // A query about the call reports both parties.
        let told = ask(pair, &json!({"command": "query", "call-id": "c"}));
        assert_eq!(told["totals"]["RTP"]["packets"], 110, "{told}");
        let list = inspect();
        assert_eq!(list.matches("\tkernel\n").count(), 2, "{list}");
        assert!(list.starts_with("relays\tin the driver\n"), "{list}");
        println!("{list}");

        drop(program);
        speak(&phones[0], first, &phones[1], 55..155);
        speak(&phones[1], second, &phones[0], 55..155);
        let program = Program::start(directory, "");
        speak(&phones[0], first, &phones[1], 155..205);
        assert_eq!(through(&program), before + 350);

        let detach = || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
            command.args(["detach", "--pins"]).arg(directory.join("bpf/weir"));
            command.output().expect("the program").status.success()
        };
        assert!(!detach(), "a program is at work there");
        drop(program);
        assert!(detach());
        // The kernel takes programs off a little later than links are removed.
        let begun = Instant::now();
        let mut is_relayed = true;
        while is_relayed {
            assert!(begun.elapsed() < PATIENCE, "somebody relays still");
            phones[0].send_to(&[0x80; 172], first).expect("sent");
            is_relayed = phones[1].recv(&mut [0; 2_000]).is_ok();
        }
    });
}

/// Sends a packet every two milliseconds while something else is done. How many, and which of them
/// came.
fn calling(from: &UdpSocket, to: SocketAddr, heard_by: &UdpSocket, meanwhile: impl FnOnce()) -> (u16, Vec<u16>) {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| {
            let mut number = 0_u16;
            while !is_over.load(Ordering::Relaxed) {
                let mut packet = vec![0x80, 0];
                packet.extend(number.to_be_bytes());
                packet.resize(172, 7);
                from.send_to(&packet, to).expect("sent");
                number += 1;
                std::thread::sleep(Duration::from_millis(2));
            }
            number
        });
        let receiving = scope.spawn(|| {
            let mut numbers = Vec::new();
            let mut buffer = [0; 2_000];
            while heard_by.recv(&mut buffer).is_ok() {
                numbers.push(u16::from_be_bytes([buffer[2], buffer[3]]));
            }
            numbers
        });
        meanwhile();
        is_over.store(true, Ordering::Relaxed);
        (sending.join().expect("sent"), receiving.join().expect("heard"))
    })
}

#[test]
fn a_call_is_found_again_by_the_next_program_which_can_change_and_end_it() {
    let Some(Phones {
        pair, sockets: phones, ..
    }) = &Phones::or_skip()
    else {
        return;
    };
    with_folder(pair, |directory| {
        let state = format!("  state: '{}'", directory.join("state").display());
        let program = Program::start(directory, &state);
        let [first, second] = begin_call(&program, pair, phones);
        // Changes are written within a tenth of a second.
        std::thread::sleep(Duration::from_millis(500));
        let mut next = None;
        let (sent, heard) = calling(&phones[0], first, &phones[1], || {
            std::thread::sleep(Duration::from_millis(300));
            drop(program);
            std::thread::sleep(Duration::from_millis(500));
            let program = Program::start(directory, &state);
            program.await_figure("weir_sip_calls", 1);
            // RTP towards each; RTCP has not been learned, and is the base's in any case.
            program.await_figure("weir_offload_entries", 2);
            std::thread::sleep(Duration::from_millis(500));
            next = Some(program);
        });
        assert_eq!(heard, (0..sent).collect::<Vec<_>>());
        println!("{sent} packets, none lost");
        let program = next.expect("it was started");
        let told = ask(pair, &json!({"command": "query", "call-id": "c"}));
        // The kernel's count goes on; that of the first packets, which went through sockets, is
        // gone with those.
        let packets = told["totals"]["RTP"]["packets"].as_u64().expect("a number");
        assert!(
            (sent.into()..=u64::from(sent) + 10).contains(&packets),
            "{sent}: {told}"
        );

        // A change within the call keeps its ports, and another call gets others.
        assert_eq!(describe(pair, "offer", &phones[0]), second);
        assert_eq!(describe(pair, "answer", &phones[1]), first);
        speak(&phones[1], second, &phones[0], 5..25);
        let other = describe_in("d", pair, "offer", &phones[0]);
        assert!(other != first && other != second);

        ask(pair, &json!({"command": "delete", "call-id": "c", "from-tag": "a"}));
        program.await_figure("weir_offload_entries", 0);
        phones[0].send_to(&[0x80; 172], first).expect("sent");
        assert!(phones[1].recv(&mut [0; 2_000]).is_err(), "it is over");
    });
}
