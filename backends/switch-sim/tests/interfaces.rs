//! `weir-switch-sim` on a network interface: frames pass through the program with their tags, and a
//! signal ends it with its counters.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::Duration;

use skip::skipped;
use switch_sim::Port;
use veth::Namespace;

/// A namespace with a cable from `s1` to `t1`, or `None` with the reason on standard error.
fn cable() -> Option<Namespace> {
    let namespace = match Namespace::new() {
        Ok(namespace) => namespace,
        Err(reason) => {
            skipped("nothing was tested", reason);
            return None;
        }
    };
    let ip = |words: &str| namespace.command("ip", words).unwrap();
    ip("link set lo up");
    ip("link add s1 type veth peer name t1");
    ip("link set s1 up");
    ip("link set t1 up");
    Some(namespace)
}

#[test]
fn a_port_receives_the_tags_of_a_frame() {
    let Some(namespace) = cable() else { return };
    let [from, to] = ["t1", "s1"].map(|name| namespace.run(|| Port::open(name).unwrap()));
    to.set_timeout(Some(Duration::from_secs(5))).unwrap();
    // No tag, one of 802.1Q, and one of 802.1ad outside of another.
    for tags in [
        &[][..],
        &[0x81, 0x00, 0x60, 0x07],
        &[0x88, 0xa8, 0x00, 0x08, 0x81, 0x00, 0x00, 0x07],
    ] {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        frame.extend(tags);
        frame.extend([0x88, 0xb5, 1, 2, 3]);
        frame.resize(64, 9);
        from.send(&frame).unwrap();
        // The interface's own stack may send frames, too.
        let mut received = std::iter::from_fn(|| to.receive().unwrap());
        let mine = received.find(|it| it.starts_with(&frame[..6])).unwrap();
        assert_eq!(mine, frame);
    }
}

#[test]
fn frames_of_an_interface_are_counted_at_the_end() {
    let Some(namespace) = cable() else { return };
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir-switch-sim"));
    command.args(["--listen", "127.0.0.1:0", "--program", "multicast", "--port", "1@s1"]);
    let mut program = namespace.run(|| command.stdout(Stdio::piped()).spawn().unwrap());
    let mut output = BufReader::new(program.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert!(line.contains("loopback only"), "{line}");

    // The controller of the program answers ARP; there is none.
    let mut request = vec![0xff; 6];
    request.extend([2, 0, 0, 0, 0, 2, 0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1]);
    request.resize(60, 0);
    let port = namespace.run(|| Port::open("t1").unwrap());
    for _ in 0..3 {
        port.send(&request).unwrap();
    }
    std::thread::sleep(Duration::from_millis(300));
    let pid = program.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert!(program.wait().unwrap().success());
    // The interface's own stack may send frames, too.
    assert!(rest.contains("WeirIngress.punted[0]"), "{rest}");
    assert!(!rest.contains("received 0\n") && rest.contains("faults 0\n"), "{rest}");
}
