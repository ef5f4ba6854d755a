//! The shipped devices beside the committed measurements that their numbers are from.

mod derived;
mod planned;
mod results;

use planning::{DeviceFile, Machine, Program, Server};

/// The greatest difference between a plan and a measurement.
const TOLERANCE: f64 = 0.25;

fn server(name: &str) -> Server {
    match DeviceFile::shipped(name).map(|file| file.machine) {
        Some(Machine::Server(server)) => server,
        _ => panic!("{name} is a server"),
    }
}

fn program(name: &str) -> Program {
    match DeviceFile::shipped(name).map(|file| file.machine) {
        Some(Machine::Program(program)) => program,
        _ => panic!("{name} is a P4 program"),
    }
}

/// Compares each row; a row beyond the tolerance has to be among `reasons`, and only such a row.
fn compare(rows: &[(String, f64, f64)], reasons: &[(&str, &str)]) {
    let mut faults = Vec::new();
    for (name, planned, measured) in rows {
        let difference = planned / measured - 1.0;
        let reason = reasons.iter().find(|(row, _)| row == name);
        let is_near = difference.abs() <= TOLERANCE;
        if is_near == reason.is_some() {
            faults.push(format!(
                "{name}: {planned:.4} planned, {measured:.4} measured: {difference:+.3}"
            ));
        }
    }
    let unknown = reasons
        .iter()
        .filter(|(row, _)| rows.iter().all(|(name, ..)| name != row));
    faults.extend(unknown.map(|(row, reason)| format!("{row}: there is no such row ({reason})")));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
