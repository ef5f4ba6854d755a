//! The servers to measure, from a file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::CompareError;

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Configuration {
    /// The server that the others are compared with.
    pub subject: String,
    /// The same in searches for a limit of time, where a server that spreads packets on purpose
    /// would be late by itself.
    pub unpaced: String,
    /// All servers.
    pub servers: Vec<ServerEntry>,
}

/// A server and how to start it.
///
/// In `arguments` and `files`, `{address}` is the address that it serves, `{folder}` the folder of
/// its files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServerEntry {
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
    /// Its WebSocket port.
    pub port: u16,
    /// The API key.
    pub key: String,
    /// Its secret.
    pub secret: String,
    /// Whether it takes part only when the command line names it.
    #[serde(default)]
    pub on_request: bool,
    /// The generator's options for it: `--mode`, `--dtls`.
    #[serde(default)]
    pub clients: String,
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
        let known = |name: &str| read.servers.iter().filter(|server| server.name == name).count();
        if let Some(twice) = read.servers.iter().find(|server| known(&server.name) > 1) {
            return Err(format!("{} is there twice", twice.name));
        }
        if let Some(unknown) = [&read.subject, &read.unpaced].into_iter().find(|name| known(name) == 0) {
            return Err(format!("there is no {unknown}"));
        }
        Ok(read)
    }
}

impl ServerEntry {
    /// The program, if it is installed.
    pub(crate) fn installed(&self) -> Option<PathBuf> {
        harness::software::installed(&self.program, &self.variable)
    }

    /// Whether it speaks LiveKit's protocol.
    pub(crate) fn speaks_livekit(&self) -> bool {
        !self.clients.split_whitespace().any(|word| word == "janus")
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

    const HEAD: &str = "subject: one\nunpaced: one\nservers:";
    const SERVER: &str = "
  - name: one
    program: no-such-program
    variable: NO_SUCH_VARIABLE
    version: --version
    arguments: serve --at {address} --file {folder}/a
    files:
      a: |
        at {address}
    port: 1
    key: k
    secret: s
";

    fn parse(text: &str) -> Result<Configuration, String> {
        Configuration::parse(text)
    }

    #[test]
    fn a_server_is_read_and_filled_in() {
        let read = parse(&format!("{HEAD}{SERVER}")).expect("valid");
        let server = &read.servers[0];
        assert_eq!(server.installed(), None);
        let command = server.command(Path::new("/p"), "10.0.0.1", Path::new("/f"));
        assert_eq!(command.join(" "), "/p serve --at 10.0.0.1 --file /f/a");
        assert_eq!(fill(&server.files["a"], "10.0.0.1", Path::new("/f")), "at 10.0.0.1\n");
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            format!("subject: two\nunpaced: one\nservers:{SERVER}"),
            format!("subject: one\nunpaced: two\nservers:{SERVER}"),
            format!("{HEAD}{SERVER}{SERVER}"),
            format!("other: 1\n{HEAD}{SERVER}"),
            String::new(),
        ] {
            assert!(parse(&text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_file_of_this_tree_is_valid() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("compare/servers.yaml");
        let read = Configuration::read(&path).expect("valid");
        assert_eq!(read.subject, "weir");
        let others: Vec<&str> = read
            .servers
            .iter()
            .filter(|it| !it.speaks_livekit())
            .map(|it| it.name.as_str())
            .collect();
        assert_eq!(others, ["janus"]);
    }
}
