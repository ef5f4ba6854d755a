//! The imported configuration as text.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::Imported;

impl Imported {
    /// A configuration file of Weir, with what was not taken over in comments.
    pub(super) fn text(&self) -> String {
        let mut text =
            "# weir.yaml, from a LiveKit server's configuration. docs/operate/running.md has all keys.\n".to_owned();
        write_map(&mut text, &self.weir, 0);
        if !self.notes.is_empty() {
            text.push_str("\n# Keys of LiveKit:\n");
        }
        for (key, note) in &self.notes {
            let _ = writeln!(text, "# {}: {note}", key.escape_debug());
        }
        text
    }
}

fn write_map(text: &mut String, map: &Map<String, Value>, depth: usize) {
    for (key, value) in map {
        let _ = write!(text, "{:1$}{2}:", "", 2 * depth, scalar(key));
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                text.push('\n');
                write_map(text, inner, depth + 1);
            }
            // JSON is YAML.
            _ => {
                let _ = writeln!(text, " {value}");
            }
        }
    }
}

/// A key as it is, or in quotes where YAML could read it as something else.
fn scalar(key: &str) -> String {
    let is_plain = key.starts_with(|first: char| first.is_ascii_alphabetic())
        && key
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || "_-".contains(char))
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(&key.to_lowercase().as_str());
    if is_plain {
        key.to_owned()
    } else {
        Value::from(key).to_string()
    }
}
