//! A parsed file with the lines of its parts.

use std::collections::BTreeMap;

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, Span};
use zeroize::Zeroizing;

use super::fault::Fault;

/// So many parts a file may have, with those that aliases repeat.
const PARTS_MAX: usize = 200_000;
/// So many sections with an error of YAML itself are told.
const SYNTAX_MAX: usize = 20;

/// A part of a file.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// Its first line.
    pub line: usize,
    /// Its last line, of a scalar.
    pub end: usize,
    pub content: Content,
}

#[derive(Clone, Debug)]
pub(super) enum Content {
    /// Nothing, or `null`.
    Nothing,
    /// A text, which may be that of a number.
    Text(Zeroizing<String>),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A setting of a mapping.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub key: String,
    pub line: usize,
    /// `None` if it has an error that was told.
    pub value: Option<Node>,
}

impl Node {
    fn new(line: usize, content: Content) -> Self {
        Node {
            line,
            end: line,
            content,
        }
    }

    /// Leaves out what is at a place. Returns whether there was anything.
    pub(super) fn leave_out(&mut self, place: &[usize]) -> bool {
        let Some((first, rest)) = place.split_first() else {
            return false;
        };
        match &mut self.content {
            Content::Map(entries) => match entries.get_mut(*first) {
                Some(entry) if rest.is_empty() => entry.value.take().is_some(),
                Some(Entry { value: Some(value), .. }) => value.leave_out(rest),
                _ => false,
            },
            Content::List(list) if rest.is_empty() && *first < list.len() => {
                list.remove(*first);
                true
            }
            Content::List(list) => list.get_mut(*first).is_some_and(|node| node.leave_out(rest)),
            Content::Nothing | Content::Text(_) => false,
        }
    }

    /// The part at a place.
    pub(super) fn at(&self, place: &[usize]) -> Option<&Node> {
        let Some((first, rest)) = place.split_first() else {
            return Some(self);
        };
        match &self.content {
            Content::Map(entries) => entries.get(*first)?.value.as_ref()?.at(rest),
            Content::List(list) => list.get(*first)?.at(rest),
            Content::Nothing | Content::Text(_) => None,
        }
    }

    /// The dotted name of the setting at a place. Elements of lists have none of their own.
    pub(super) fn name(&self, place: &[usize]) -> String {
        let mut names = Vec::new();
        let mut node = Some(self);
        for step in place {
            node = match node.map(|node| &node.content) {
                Some(Content::Map(entries)) => entries.get(*step).and_then(|entry| {
                    names.push(entry.key.as_str());
                    entry.value.as_ref()
                }),
                Some(Content::List(list)) => list.get(*step),
                _ => None,
            };
        }
        names.join(".")
    }

    pub(super) fn line_of(&self, name: &str) -> Option<usize> {
        match &self.content {
            Content::Map(entries) => entries.iter().find_map(|entry| {
                let rest = name.strip_prefix(entry.key.as_str())?;
                let rest = match rest.strip_prefix('.') {
                    Some(rest) => rest,
                    None if rest.is_empty() => return Some(entry.line),
                    None => return None,
                };
                let inner = entry.value.as_ref().and_then(|value| value.line_of(rest));
                Some(inner.unwrap_or(entry.line))
            }),
            Content::List(list) => list.iter().find_map(|node| node.line_of(name)),
            Content::Nothing | Content::Text(_) => None,
        }
    }
}

/// Parses a text, as far as it is YAML. A section with an error of YAML itself is left out.
pub(super) fn parse(text: &str) -> (Node, Vec<Fault>) {
    let mut text = Zeroizing::new(text.to_owned());
    let mut faults = tabs(&text);
    if !faults.is_empty() {
        let spaces = |line: &str| line.replacen('\t', "  ", usize::MAX);
        text = Zeroizing::new(text.lines().map(|line| spaces(line) + "\n").collect());
    }
    for _ in 0..SYNTAX_MAX {
        let fault = match Builder::new(&text).build() {
            Ok((root, twice)) => {
                faults.extend(twice);
                return (root, faults);
            }
            Err(fault) => fault,
        };
        let (section, rest) = without_section(&text, fault.line).unzip();
        let key = fault.key.clone().or(section.flatten());
        // A quote or a bracket that is not closed makes errors of all that follows.
        faults.retain(|later| !(later.is_unclosed() && fault.is_unclosed() && later.line > fault.line));
        faults.push(Fault { key, ..fault });
        match rest {
            Some(rest) => text = rest,
            None => break,
        }
    }
    (Node::new(1, Content::Nothing), faults)
}

/// An error for each line that a tab indents.
fn tabs(text: &str) -> Vec<Fault> {
    let is_indented = |line: &str| {
        let content = line.trim_start();
        !content.is_empty() && !content.starts_with('#') && line[..line.len() - content.len()].contains('\t')
    };
    let lines = (1..).zip(text.lines()).filter(|(_, line)| is_indented(line));
    lines
        .map(|(line, _)| Fault::syntax(line, "a tab indents this line: YAML takes spaces only".to_owned()))
        .collect()
}

/// The name of the section of the outermost mapping that has this line, and the text with empty
/// lines in its place.
fn without_section(text: &str, line: usize) -> Option<(Option<String>, Zeroizing<String>)> {
    let lines: Vec<&str> = text.lines().collect();
    let begins =
        |line: &&str| line.starts_with(|c: char| !c.is_whitespace() && c != '#' && c != '-' && c != ']' && c != '}');
    let at = line.clamp(1, lines.len().max(1)) - 1;
    let first = lines.get(..=at)?.iter().rposition(begins)?;
    let after = lines[at + 1..]
        .iter()
        .position(begins)
        .map_or(lines.len(), |n| at + 1 + n);
    let kept = |number: usize| !(first..after).contains(&number);
    let rest = lines.iter().enumerate().map(|(number, line)| match kept(number) {
        true => format!("{line}\n"),
        false => "\n".to_owned(),
    });
    let name = lines[first].split_once(':').map(|(name, _)| name.to_owned());
    Some((name, Zeroizing::new(rest.collect())))
}

struct Builder<'a> {
    events: Box<dyn Iterator<Item = Result<(Event<'a>, Span), Fault>> + 'a>,
    anchors: BTreeMap<usize, Node>,
    parts: usize,
    /// The names of the mappings around.
    names: Vec<String>,
    faults: Vec<Fault>,
}

impl<'a> Builder<'a> {
    fn new(text: &'a str) -> Self {
        let events = Parser::new_from_str(text);
        let events = events.map(|event| event.map_err(|error| Fault::of_yaml(&error)));
        Builder {
            events: Box::new(events),
            anchors: BTreeMap::new(),
            parts: 0,
            names: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// The file, and the settings that are given twice.
    fn build(mut self) -> Result<(Node, Vec<Fault>), Fault> {
        let root = self.document()?;
        Ok((root, self.faults))
    }

    fn next(&mut self) -> Result<(Event<'a>, Span), Fault> {
        let end = || Err(Fault::syntax(1, "the file ends too early".to_owned()));
        self.events.next().unwrap_or_else(end)
    }

    fn document(&mut self) -> Result<Node, Fault> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(root.unwrap_or_else(|| Node::new(1, Content::Nothing))),
                Event::DocumentStart(..) if root.is_some() => {
                    let why = "a second document begins here: a file has one, without a line `---` inside".to_owned();
                    return Err(Fault::syntax(span.start.line(), why));
                }
                Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd => {}
                event => root = Some(self.node(event, &span)?),
            }
        }
    }

    fn node(&mut self, event: Event<'a>, span: &Span) -> Result<Node, Fault> {
        let line = span.start.line();
        self.parts += 1;
        if self.parts > PARTS_MAX {
            return Err(Fault::syntax(line, format!("a file has at most {PARTS_MAX} parts")));
        }
        let (anchor, content) = match event {
            Event::Scalar(text, style, anchor, _) => {
                let is_nothing = style == ScalarStyle::Plain && ["", "~", "null", "Null", "NULL"].contains(&&*text);
                let content = match is_nothing {
                    true => Content::Nothing,
                    false => Content::Text(Zeroizing::new(text.into_owned())),
                };
                (anchor, content)
            }
            Event::SequenceStart(_, anchor, _) => (anchor, Content::List(self.list()?)),
            Event::MappingStart(_, anchor, _) => (anchor, Content::Map(self.map()?)),
            Event::Alias(anchor) => {
                let node = self.anchors.get(&anchor).cloned();
                let mut node = node.ok_or_else(|| Fault::syntax(line, "this alias (`*`) has no anchor".to_owned()))?;
                self.parts += size(&node);
                node.line = line;
                return Ok(node);
            }
            _ => return Err(Fault::syntax(line, "no value stands here".to_owned())),
        };
        let mut node = Node::new(line, content);
        node.end = span.end.line();
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn list(&mut self) -> Result<Vec<Node>, Fault> {
        let mut list = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(list),
                (event, span) => list.push(self.node(event, &span)?),
            }
        }
    }

    fn map(&mut self) -> Result<Vec<Entry>, Fault> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut merged = Vec::new();
        loop {
            let (event, span) = self.next()?;
            let line = span.start.line();
            let key = match event {
                Event::MappingEnd => break,
                Event::Scalar(text, ..) => text.into_owned(),
                _ => return Err(Fault::syntax(line, "the name of a setting is a text".to_owned())),
            };
            let (event, span) = self.next()?;
            self.names.push(key.clone());
            let value = self.node(event, &span)?;
            let name = self.names.join(".");
            self.names.pop();
            if key == "<<" {
                merged.push(value);
            } else if let Some(first) = entries.iter().find(|entry| entry.key == key) {
                self.faults.push(Fault::twice(&key, name, [first.line, line]));
            } else {
                let value = Some(value);
                entries.push(Entry { key, line, value });
            }
        }
        merged.into_iter().for_each(|node| merge(&mut entries, node));
        Ok(entries)
    }
}

/// Adds the settings of a merge key (`<<`) that a mapping has not itself.
fn merge(entries: &mut Vec<Entry>, node: Node) {
    match node.content {
        Content::Map(others) => {
            for other in others {
                if entries.iter().all(|entry| entry.key != other.key) {
                    entries.push(other);
                }
            }
        }
        Content::List(list) => list.into_iter().for_each(|node| merge(entries, node)),
        Content::Nothing | Content::Text(_) => {}
    }
}

fn size(node: &Node) -> usize {
    match &node.content {
        Content::Map(entries) => entries.iter().flat_map(|entry| &entry.value).map(size).sum::<usize>() + 1,
        Content::List(list) => list.iter().map(size).sum::<usize>() + 1,
        Content::Nothing | Content::Text(_) => 1,
    }
}
