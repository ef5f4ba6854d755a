//! `weir-switch-sim` on a network interface: frames pass through the program, and a signal ends it
//! with its counters.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::Duration;

use skip::skipped;
use switch_sim::Port;
use veth::Namespace;

#[test]
fn frames_of_an_interface_are_counted_at_the_end() {
    let namespace = match Namespace::new() {
        Ok(namespace) => namespace,
        Err(reason) => {
            skipped("nothing was tested", reason);
            return;
        }
    };
    let ip = |words: &str| namespace.command("ip", words).unwrap();
    ip("link set lo up");
    ip("link add s1 type veth peer name t1");
    ip("link set s1 up");
    ip("link set t1 up");
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
