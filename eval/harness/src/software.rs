//! Installed software and its versions.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::place::shell;

/// A program, if it is installed: what the environment's `variable` names, else `program`, which is
/// a path or a name on the search path.
pub fn installed(program: &str, variable: &str) -> Option<PathBuf> {
    let given = std::env::var_os(variable).filter(|value| !value.is_empty());
    let program = given.map_or_else(|| PathBuf::from(program), PathBuf::from);
    if program.components().count() > 1 {
        return program.is_file().then_some(program);
    }
    let search = std::env::var_os("PATH")?;
    std::env::split_paths(&search)
        .map(|folder| folder.join(&program))
        .find(|path| path.is_file())
}

/// The program's output for these arguments, and its build time: two trees may print the same
/// version.
pub fn version(program: &Path, arguments: &str) -> String {
    let output = Command::new(program).args(arguments.split_whitespace()).output();
    let built = shell(&format!("date -u -r {} +%FT%R", program.display())).unwrap_or_default();
    let said = output.map_or_else(
        |_| String::new(),
        |output| {
            // Most answer on the one, some on the other.
            let all = [output.stdout, output.stderr].concat();
            String::from_utf8_lossy(&all)
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned()
        },
    );
    format!("{said}, file of {}", built.trim())
}

/// Keeps the processors from sleeping until what is returned is dropped. Needs root.
pub fn keep_awake() -> io::Result<File> {
    let mut latency = OpenOptions::new().write(true).open("/dev/cpu_dma_latency")?;
    latency.write_all(&0_i32.to_ne_bytes())?;
    Ok(latency)
}

/// The processor, the kernel and the tree, a line each.
pub fn describe_machine() -> Vec<String> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": ").map(|it| it.1));
    let said = |line: &str| shell(line).unwrap_or_default().trim().to_owned();
    vec![
        format!(
            "{} cores of {}",
            crate::Machine::processors(),
            model.unwrap_or("an unknown processor")
        ),
        format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
        format!(
            "tree {} of {}",
            said("git describe --always --dirty=+"),
            said("date -u +%F")
        ),
    ]
}
