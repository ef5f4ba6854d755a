//! The relays to measure, from a file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::CompareError;

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Configuration {
    /// All relays: first the subject, then its reference, then others.
    pub relays: Vec<Relay>,
}

/// A relay and how to start it.
///
/// In `arguments` and `files`, `{address}` is the address that it serves, `{folder}` the folder of
/// its files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Relay {
    /// Its name in tables.
    pub name: String,
    /// Its program: a path from the root of this tree, or a name on the search path.
    pub program: String,
    /// The environment variable that names another.
    pub variable: String,
    /// Arguments that make the program print its version.
    pub version: String,
    /// Arguments to start it with, separated by spaces.
    pub arguments: String,
    /// Files that it reads: name and content.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Its `ng` port; none if it relays without control.
    #[serde(default)]
    pub control: Option<u16>,
    /// The most calls it is given when calls are added.
    pub most: u32,
}

impl Configuration {
    /// Reads the file.
    pub(crate) fn read(path: &Path) -> Result<Self, CompareError> {
        let refuse = |error: String| CompareError::Configuration(format!("{}: {error}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| refuse(error.to_string()))?;
        Self::parse(&text).map_err(refuse)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let read: Self = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        let known = |name: &str| read.relays.iter().filter(|relay| relay.name == name).count();
        match read.relays.iter().find(|relay| known(&relay.name) > 1) {
            Some(twice) => Err(format!("{} is there twice", twice.name)),
            None if read.relays.is_empty() => Err("there is no relay".into()),
            None => Ok(read),
        }
    }
}

impl Relay {
    /// The program, if it is installed.
    pub(crate) fn installed(&self) -> Option<PathBuf> {
        harness::software::installed(&self.program, &self.variable)
    }

    /// The words that start it.
    pub(crate) fn command(&self, program: &Path, address: &str, folder: &Path) -> Vec<String> {
        let filled = fill(&self.arguments, address, folder);
        let words = filled.split_whitespace().map(String::from);
        std::iter::once(program.display().to_string()).chain(words).collect()
    }

    /// Writes its files into `folder`.
    pub(crate) fn write_files(&self, address: &str, folder: &Path) -> std::io::Result<()> {
        let write =
            |(name, content): (&String, &String)| std::fs::write(folder.join(name), fill(content, address, folder));
        self.files.iter().try_for_each(write)
    }
}

fn fill(text: &str, address: &str, folder: &Path) -> String {
    text.replace("{address}", address)
        .replace("{folder}", &folder.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RELAY: &str = "
  - name: one
    program: no-such-program
    variable: NO_SUCH_VARIABLE
    version: --version
    arguments: --at {address} --file {folder}/a
    most: 5
";

    #[test]
    fn a_relay_is_read_and_filled_in() {
        let read = Configuration::parse(&format!("relays:{RELAY}")).expect("valid");
        let relay = &read.relays[0];
        assert_eq!((relay.installed(), relay.control), (None, None));
        let command = relay.command(Path::new("/p"), "10.0.0.1", Path::new("/f"));
        assert_eq!(command.join(" "), "/p --at 10.0.0.1 --file /f/a");
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            format!("relays:{RELAY}{RELAY}"),
            "relays: []".into(),
            format!("other: 1\nrelays:{RELAY}"),
            String::new(),
        ] {
            assert!(Configuration::parse(&text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_file_of_this_tree_is_valid() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("relays.yaml");
        let read = Configuration::read(&path).expect("valid");
        let names: Vec<&str> = read.relays.iter().map(|relay| relay.name.as_str()).collect();
        assert_eq!(names, ["weir-ebpf", "rtpengine", "weir", "weir-afxdp", "bare"]);
    }
}
