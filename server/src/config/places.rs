//! The places of settings in a file: the line of a key, the key of a line, and what is left of a
//! file without a setting.
//!
//! Keys are found by their indentation, so all keys of a mapping in braces are at its line.

use zeroize::Zeroizing;

use super::ConfigError;

/// Every error that `read` finds in a text.
///
/// A reader stops at the first error. So the setting with the error is left out, and the rest is
/// read again. A text that is no YAML has one error, since its settings cannot be told apart.
pub(super) fn errors(text: &str, read: impl Fn(&str) -> Result<(), ConfigError>) -> Vec<ConfigError> {
    let mut text = Zeroizing::new(text.to_owned());
    let is_readable = is_yaml(&text);
    let mut errors = Vec::new();
    while let Err(error) = read(&text) {
        let line = error.line().filter(|_| is_readable);
        errors.push(error);
        match line.and_then(|line| without(&text, line)) {
            Some(rest) => text = rest,
            None => break,
        }
    }
    errors
}

/// The line of a setting, by its dotted name; of the mapping around it where it is not there
/// itself.
///
/// Shape: lines count from 1.
pub(super) fn line_of(text: &str, name: &str) -> Option<usize> {
    let is_around = |key: &Key| {
        let rest = name.strip_prefix(key.name.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let around = keys(text).into_iter().filter(is_around);
    // Of two of the same name, the first.
    around.rev().max_by_key(|key| key.name.len()).map(|key| key.line)
}

/// The dotted name of the setting at a line, or of the last one above it.
pub(super) fn key_at(text: &str, line: usize) -> Option<String> {
    let above = keys(text).into_iter().take_while(|key| key.line <= line);
    above.last().map(|key| key.name)
}

/// A key that begins a line.
struct Key {
    line: usize,
    /// The columns before it.
    indentation: usize,
    /// It belongs to an element of a list.
    is_in_list: bool,
    /// Its dotted name.
    name: String,
}

/// Every key that begins a line.
fn keys(text: &str) -> Vec<Key> {
    let mut around: Vec<(usize, bool, &str)> = Vec::new();
    let mut found = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        // An element of a list is a mapping that begins after the dash.
        let indentation = content.find(|c| c != ' ' && c != '-').unwrap_or(content.len());
        let Some(key) = key(&content[indentation..]) else {
            continue;
        };
        let continues_element = around
            .iter()
            .any(|(column, is_in_list, _)| *column == indentation && *is_in_list);
        let is_in_list = content[..indentation].contains('-') || continues_element;
        around.retain(|(column, ..)| *column < indentation);
        around.push((indentation, is_in_list, key));
        let names: Vec<&str> = around.iter().map(|(.., name)| *name).collect();
        found.push(Key {
            line,
            indentation,
            is_in_list,
            name: names.join("."),
        });
    }
    found
}

/// The key that a line begins with.
fn key(line: &str) -> Option<&str> {
    let (key, rest) = line.split_once(':')?;
    let key = key.trim_matches(['"', '\'']);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_key = !key.is_empty() && key.chars().all(is_name);
    (is_key && (rest.is_empty() || rest.starts_with([' ', '\t']))).then_some(key)
}

/// The text with empty lines in place of the setting at a line. `None` if there is none.
fn without(text: &str, line: usize) -> Option<Zeroizing<String>> {
    let keys = keys(text);
    let mut at = keys.iter().rposition(|key| key.line <= line)?;
    while let Some(around) = around(&keys, at) {
        // A mapping or a list that loses all it has would be another error.
        let is_alone = around + 1 == at && end(&keys, around) == end(&keys, at);
        if !is_alone && !keys[at].is_in_list {
            break;
        }
        at = around;
    }
    let section = keys[..=at].iter().rposition(|key| key.indentation == 0).unwrap_or(at);
    let texts = [at, section].map(|at| without_lines(text, keys[at].line, end(&keys, at)));
    texts.into_iter().find(|text| is_yaml(text))
}

/// The key of the mapping that a key is in.
fn around(keys: &[Key], at: usize) -> Option<usize> {
    keys[..at]
        .iter()
        .rposition(|key| key.indentation < keys[at].indentation)
}

/// The line after all that belongs to a key.
fn end(keys: &[Key], at: usize) -> usize {
    let mut after = keys[at + 1..].iter();
    after
        .find(|key| key.indentation <= keys[at].indentation)
        .map_or(usize::MAX, |key| key.line)
}

fn without_lines(text: &str, begin: usize, end: usize) -> Zeroizing<String> {
    let mut rest = Zeroizing::new(String::with_capacity(text.len() + 1));
    for (line, content) in (1..).zip(text.lines()) {
        if !(begin..end).contains(&line) {
            rest.push_str(content);
        }
        rest.push('\n');
    }
    rest
}

fn is_yaml(text: &str) -> bool {
    text.trim().is_empty() || serde_saphyr::from_str::<serde_json::Value>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# A comment: of no key.
port: 7880
rtc:
  port: 7882
  ebpf: {interfaces: [eth0]}
sip:
  interfaces:
    - name: one
      ports: 1-2
  allow: [10.0.0.0/8]
log:
  level: info
";

    #[test]
    fn settings_have_lines_and_lines_settings() {
        for (key, line) in [
            ("port", Some(2)),
            ("rtc.port", Some(4)),
            ("rtc.ebpf.interfaces", Some(5)),
            ("rtc.p4", Some(3)),
            ("sip.interfaces.ports", Some(9)),
            ("sip.allow", Some(10)),
            ("metrics", None),
        ] {
            assert_eq!(line_of(TEXT, key), line, "{key}");
        }
        for (line, key) in [
            (1, None),
            (4, Some("rtc.port")),
            (5, Some("rtc.ebpf")),
            (10, Some("sip.allow")),
        ] {
            assert_eq!(key_at(TEXT, line).as_deref(), key, "{line}");
        }
    }

    #[test]
    fn settings_are_left_out_and_lines_stay() {
        let lines_without = |line: usize| {
            let rest = without(TEXT, line).unwrap();
            assert_eq!(rest.lines().count(), TEXT.lines().count());
            let lines = (1..).zip(rest.lines()).filter(|(_, line)| line.is_empty());
            lines.map(|(line, _)| line).collect::<Vec<usize>>()
        };
        assert_eq!(lines_without(4), [4]);
        assert_eq!(lines_without(9), [7, 8, 9], "an element takes its list along");
        assert_eq!(lines_without(6), [6, 7, 8, 9, 10]);
        assert_eq!(lines_without(12), [11, 12], "an empty mapping goes, too");
        assert!(without(TEXT, 1).is_none());
    }
}
