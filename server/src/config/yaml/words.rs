//! Errors of reading in the words of who wrote the file: the setting, the given value, the expected
//! form, and the cure.

use serde::de::DeserializeOwned;

use super::error::{Cause, Error};
use super::fault::Fault;
use super::node::{Content, Node};
use super::schema;

/// A longer text may be a secret in a wrong place, and is not shown.
const SHOWN_MAX: usize = 30;

/// The error of reading a type. Values below `secrets` are not shown.
pub(super) fn fault<T: DeserializeOwned>(error: &Error, root: &Node, secrets: &[&str]) -> Fault {
    let place = error.place();
    let key = root.name(&place);
    let node = root.at(&place).unwrap_or(root);
    let is_secret = secrets.iter().any(|secret| is_below(&key, secret));
    let given = given(node, is_secret);
    let line = root.line_at(&place);
    let message = match &error.cause {
        Cause::Form(form) => expected(form, &given, node, is_secret),
        Cause::Other(why) => format!("{given} is given: {}", in_words(why)),
        Cause::Choice(name, known) => {
            let near = nearest(name, known)
                .map(|near| format!(", perhaps {near}"))
                .unwrap_or_default();
            format!("{given} is given, and one of {} is expected{near}", known.join(", "))
        }
        Cause::Missing(name) => format!("`{name}` is missing: every entry needs it"),
        Cause::Twice(name) => format!("`{name}` is given twice, by two names: keep one of them"),
        Cause::Unknown(name, known) => unknown::<T>(&key, name, known),
    };
    let key = Some(key).filter(|key| !key.is_empty());
    Fault { line, key, message }
}

impl Node {
    /// The line of the setting or the element at a place.
    fn line_at(&self, place: &[usize]) -> usize {
        let Some((last, around)) = place.split_last() else {
            return self.line;
        };
        match self.at(around).map(|node| &node.content) {
            Some(Content::Map(entries)) => entries.get(*last).map_or(self.line, |entry| entry.line),
            Some(Content::List(list)) => list.get(*last).map_or(self.line, |node| node.line),
            _ => self.line,
        }
    }
}

/// Whether a setting is this one, or below it.
fn is_below(key: &str, around: &str) -> bool {
    let rest = key.strip_prefix(around);
    rest.is_some_and(|rest| rest.is_empty() || around.is_empty() || rest.starts_with('.'))
}

/// The given value, as far as it may be shown.
fn given(node: &Node, is_secret: bool) -> String {
    match &node.content {
        Content::Nothing => "nothing".to_owned(),
        Content::List(_) => "a list".to_owned(),
        Content::Map(_) => "a section of settings".to_owned(),
        Content::Text(_) if is_secret => "a text".to_owned(),
        // A URL may have a password before its host.
        Content::Text(text) if text.chars().count() > SHOWN_MAX || text.contains('@') => "a text".to_owned(),
        Content::Text(text) => format!("`{}`", text.escape_debug()),
    }
}

fn expected(form: &str, given: &str, node: &Node, is_secret: bool) -> String {
    let cure = match &node.content {
        Content::Text(_) if form == "a list" => match given {
            "a text" if is_secret => ": write a line `- ` for each below it".to_owned(),
            "a text" => ": put it in brackets, `[...]`".to_owned(),
            given => format!(": write [{}]", given.trim_matches('`')),
        },
        Content::Text(_) if node.end > node.line => format!(
            ": lines {} to {} are one value, because the later ones are indented more",
            node.line, node.end
        ),
        Content::Text(_) if form == "a section of settings" => {
            ": write them below it, indented, each as `setting: value`".to_owned()
        }
        Content::Text(text) if form.starts_with("a whole number") && has_unit(text) => {
            ": write the number alone, without a unit".to_owned()
        }
        Content::Text(_) => String::new(),
        Content::List(_) => match form {
            "a section of settings" => ": leave the dashes or the brackets out".to_owned(),
            _ => ": write it without a dash and without brackets".to_owned(),
        },
        Content::Map(_) if form == "a list" => ": let each element begin with a dash".to_owned(),
        Content::Map(_) => ": write one value".to_owned(),
        Content::Nothing => ": give a value, or leave the line out".to_owned(),
    };
    let form = match form.starts_with('`') || form.contains(' ') {
        true => form.to_owned(),
        false => format!("a {form}"),
    };
    format!("{given} is given, and {form} is expected{cure}")
}

/// Whether it is a number with a unit, such as `10m`.
fn has_unit(text: &str) -> bool {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    rest.len() < text.len() && rest.trim().chars().all(|c| c.is_ascii_alphabetic() || c == 'µ') && !rest.is_empty()
}

/// The reason that a type of the standard library gives, with the form it wants.
fn in_words(why: &str) -> &str {
    match why {
        "invalid IP address syntax" => "an address is written \"192.0.2.1\" or \"2001:db8::1\"",
        "invalid socket address syntax" => "an address with a port is written \"127.0.0.1:2223\" or \"[::1]:2223\"",
        why => why,
    }
}

fn unknown<T: DeserializeOwned>(key: &str, name: &str, known: &[&str]) -> String {
    let here = key.strip_suffix(name).unwrap_or_default().trim_end_matches('.');
    let here = match here {
        "" => "at the top".to_owned(),
        section => format!("in `{section}`"),
    };
    if let Some(near) = nearest(name, known) {
        return format!("there is no setting `{name}` {here}: perhaps `{near}` is meant");
    }
    let ending = format!(".{name}");
    let elsewhere: Vec<String> = schema::names::<T>()
        .into_iter()
        .filter(|known| known == name || known.ends_with(&ending))
        .map(|known| format!("`{known}`"))
        .collect();
    match elsewhere.is_empty() {
        false => format!(
            "there is no setting `{name}` {here}, but {}: write it in that section, indented below its name",
            elsewhere.join(" and ")
        ),
        true => format!("there is no setting `{name}` {here}: there are {}", known.join(", ")),
    }
}

/// The name that differs least, if it differs in no more than about a third of its letters.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let by_distance = known.iter().map(|known| (distance(name, known), *known));
    let (distance, nearest) = by_distance.min()?;
    (distance <= nearest.len().div_ceil(3).min(3)).then_some(nearest)
}

/// The letters to insert, to leave out or to replace.
fn distance(a: &str, b: &str) -> usize {
    const LETTERS_MAX: usize = 40;
    let [a, b] = [a, b].map(|text| text.chars().take(LETTERS_MAX).collect::<Vec<char>>());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
