//! `weir import-config`: a Weir configuration out of a LiveKit server's.
//!
//! Every key of the LiveKit configuration is either taken over, or stands in a comment that says
//! what to do instead.

mod cluster;
mod rules;
mod text;
mod turn;

use std::error::Error;
use std::fs;

use serde_json::{Map, Value};

use crate::cli;
use rules::{RULES, Rule, Takes};

/// The most bytes that are read of a configuration.
const INPUT_MAX: u64 = 1 << 20;

/// Prints the configuration.
pub(crate) fn run(arguments: cli::ImportConfig) -> Result<(), Box<dyn Error>> {
    let name = arguments.file.display();
    let size = fs::metadata(&arguments.file)
        .map_err(|error| format!("{name}: {error}"))?
        .len();
    if size > INPUT_MAX {
        return Err(format!("{name}: {size} bytes are no configuration").into());
    }
    let text = fs::read_to_string(&arguments.file).map_err(|error| format!("{name}: {error}"))?;
    let imported = import(&text).map_err(|error| format!("{name}: {error}"))?;
    print!("{}", imported.text());
    Ok(())
}

/// A configuration of Weir, and the keys that it does not have.
#[derive(Debug, Default, PartialEq)]
struct Imported {
    /// The configuration.
    weir: Map<String, Value>,
    /// LiveKit's keys that were not taken over, and what to do about each.
    notes: Vec<(String, String)>,
}

/// Reads a LiveKit configuration.
///
/// Errors: the YAML parser's, which names the line.
fn import(text: &str) -> Result<Imported, String> {
    let mut imported = Imported::default();
    if text.trim().is_empty() {
        return Ok(imported);
    }
    let livekit: Value = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    match livekit {
        Value::Null => {}
        Value::Object(mut all) => {
            merge_range(&mut all);
            if let Some(turn) = all.get("turn").and_then(Value::as_object) {
                imported.take_turn(turn);
                all.remove("turn");
            }
            imported.take_cluster(&mut all);
            all.iter().for_each(|(key, value)| imported.take(key, value, None));
        }
        _ => return Err("a LiveKit configuration is a list of keys and values".to_owned()),
    }
    Ok(imported)
}

/// Makes one value of the first and the last port of media. LiveKit uses them where it has no
/// `udp_port`.
fn merge_range(livekit: &mut Map<String, Value>) {
    let Some(Value::Object(rtc)) = livekit.get_mut("rtc") else {
        return;
    };
    let is_set = |value: &Value| !value.is_null() && *value != 0;
    let has_port = rtc.get("udp_port").is_some_and(is_set);
    let Some(first) = rtc.remove("port_range_start").filter(|_| !has_port) else {
        return;
    };
    rtc.remove("udp_port");
    let last = rtc.remove("port_range_end");
    let range = match last.filter(|last| is_set(last) && *last != first) {
        Some(last) => Value::from(format!("{first}-{last}")),
        None => first,
    };
    rtc.insert("port_range_start".to_owned(), range);
}

/// Whether LiveKit does not have a part either, because it is turned off or empty.
fn is_off(key: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(section) => section.is_empty() || section.get("enabled") == Some(&Value::Bool(false)),
        Value::Bool(false) => key.ends_with(".enabled"),
        _ => false,
    }
}

impl Imported {
    /// Takes over one key with everything in it. `outer` is the rule for the whole section.
    fn take(&mut self, key: &str, value: &Value, outer: Option<&Rule>) {
        let rule = RULES.iter().find(|rule| rule.key == key).or(outer);
        match (rule, value) {
            (_, Value::Object(inner)) if RULES.iter().any(|rule| rule.is_inside(key)) => {
                for (name, value) in inner {
                    self.take(&format!("{key}.{name}"), value, rule);
                }
            }
            (Some(rule), _) => self.apply(rule, key, value),
            (None, _) => self.note(key, "LiveKit 1.13 has no such key"),
        }
    }

    fn apply(&mut self, rule: &Rule, key: &str, value: &Value) {
        match rule.takes {
            Takes::Same => self.set(rule.weir, value.clone()),
            Takes::Converted(convert) => match convert(value) {
                Ok(Some(value)) => self.set(rule.weir, value),
                Ok(None) => {}
                Err(why) => self.note(key, &why),
            },
            Takes::Explained(convert) => match convert(value) {
                Ok((value, note)) => {
                    self.set(rule.weir, value);
                    note.iter().for_each(|note| self.note(key, note));
                }
                Err(why) => self.note(key, &why),
            },
            Takes::Nothing if is_off(key, value) => {}
            Takes::Nothing => self.note(key, rule.note),
        }
    }

    /// Sets a key of Weir's, such as `rtc.port`.
    fn set(&mut self, path: &str, value: Value) {
        let mut place = &mut self.weir;
        let mut names = path.split('.').peekable();
        while let Some(name) = names.next() {
            if names.peek().is_none() {
                place.insert(name.to_owned(), value);
                return;
            }
            let inner = place.entry(name).or_insert_with(|| Value::Object(Map::new()));
            place = inner.as_object_mut().expect("rules name no key inside of a value");
        }
    }

    fn note(&mut self, key: &str, note: &str) {
        self.notes.push((key.to_owned(), note.to_owned()));
    }
}

#[cfg(test)]
mod tests;
