//! Installed software and its versions.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program, if it is installed: the one in the environment's `variable`, otherwise `program`,
/// which is a path or a name on the search path.
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

/// The first line of the program's output for these arguments.
pub fn version(program: &Path, arguments: &str) -> String {
    let output = Command::new(program).args(arguments.split_whitespace()).output();
    output.map_or_else(
        |_| String::new(),
        |output| {
            // Some programs answer on standard output, some on standard error.
            let all = [output.stdout, output.stderr].concat();
            String::from_utf8_lossy(&all)
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned()
        },
    )
}

/// Keeps the processors from sleeping until the returned file is dropped. Needs root.
pub fn keep_awake() -> io::Result<File> {
    let mut latency = OpenOptions::new().write(true).open("/dev/cpu_dma_latency")?;
    latency.write_all(&0_i32.to_ne_bytes())?;
    Ok(latency)
}

/// The processor and the kernel, a line each.
pub fn describe_machine() -> Vec<String> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": ").map(|it| it.1));
    vec![
        format!(
            "{} cores of {}",
            crate::Machine::processors(),
            model.unwrap_or("an unknown processor")
        ),
        format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
    ]
}
