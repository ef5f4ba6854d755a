//! The program for Tofino has the tables of the one that the controller writes.
//!
//! No compiler for it is needed: its sources are read as text, and compared with the description that
//! is compiled from the program for v1model.

use std::collections::BTreeMap;
use std::path::Path;

use p4runtime::config::{P4Info, action_ref};

/// The tables that the program for Tofino lacks, each with the reason.
const LACKING: [(&str, &str); 1] = [("report", "sender reports end at the host")];

/// A table as its source says: the names of its keys, and its actions that an entry may have.
#[derive(Debug, PartialEq, Eq)]
struct Form {
    keys: Vec<String>,
    /// The parameters of each action.
    actions: BTreeMap<String, Vec<String>>,
}

/// Every source of the program, one after the other and without comments.
fn sources() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("program/tna");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "p4"))
        .collect();
    files.sort();
    assert!(files.len() > 10, "{files:?}");
    let text: String = files
        .iter()
        .map(|file| std::fs::read_to_string(file).unwrap())
        .collect();
    text.lines()
        .map(|line| line.split("//").next().unwrap())
        .collect::<Vec<_>>()
        .join("\n")
}

/// What follows `start` up to the bracket that closes it, for every place of `start` in `text`.
fn blocks<'a>(text: &'a str, start: &str, open: char, close: char) -> Vec<(&'a str, &'a str)> {
    let mut blocks = Vec::new();
    for (at, _) in text.match_indices(start) {
        let rest = &text[at + start.len()..];
        let Some(begin) = rest.find(open) else { continue };
        let mut depth = 0;
        for (offset, letter) in rest[begin..].char_indices() {
            if letter == open {
                depth += 1;
            } else if letter == close {
                depth -= 1;
            }
            if depth == 0 {
                blocks.push((rest[..begin].trim(), &rest[begin + open.len_utf8()..begin + offset]));
                break;
            }
        }
    }
    blocks
}

/// The parameters of every action by its name. Names are unique among actions of entries.
fn parameters(text: &str) -> BTreeMap<String, Vec<String>> {
    let parse = |list: &str| {
        let names = list.split(',').filter_map(|it| it.split_whitespace().last());
        names.map(str::to_owned).collect()
    };
    blocks(text, "action ", '(', ')')
        .into_iter()
        .map(|(name, list)| (name.to_owned(), parse(list)))
        .collect()
}

/// The tables of the sources whose entries a controller writes.
fn written(text: &str) -> BTreeMap<String, Form> {
    let parameters = parameters(text);
    let mut tables = BTreeMap::new();
    for (name, body) in blocks(text, "table ", '{', '}') {
        if body.contains("const entries") {
            continue;
        }
        let (_, keys) = blocks(body, "key =", '{', '}')[0];
        let keys = blocks(keys, "@name", '(', ')')
            .into_iter()
            .map(|(_, key)| key.trim_matches('"').to_owned());
        let (_, actions) = blocks(body, "actions =", '{', '}')[0];
        let actions = actions
            .split(';')
            .map(str::trim)
            .filter(|it| !it.is_empty() && !it.starts_with("@defaultonly"));
        let form = Form {
            keys: keys.collect(),
            actions: actions.map(|it| (it.to_owned(), parameters[it].clone())).collect(),
        };
        assert!(tables.insert(name.to_owned(), form).is_none(), "two tables {name}");
    }
    tables
}

/// The tables of a compiled program.
fn compiled() -> BTreeMap<String, Form> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("program/compiled/multicast.p4info.txtpb");
    let info = p4runtime::p4info(&std::fs::read_to_string(path).unwrap()).unwrap();
    let form = |table: &p4runtime::config::Table| {
        let of_entries = table
            .action_refs
            .iter()
            .filter(|it| it.scope() != action_ref::Scope::DefaultOnly);
        Form {
            keys: table.match_fields.iter().map(|it| it.name.clone()).collect(),
            actions: of_entries.map(|it| action(&info, it.id)).collect(),
        }
    };
    let name = |table: &p4runtime::config::Table| table.preamble.as_ref().unwrap().alias.clone();
    info.tables.iter().map(|table| (name(table), form(table))).collect()
}

/// The name of an action, and those of its parameters.
fn action(info: &P4Info, id: u32) -> (String, Vec<String>) {
    let find = |it: &&p4runtime::config::Action| it.preamble.as_ref().unwrap().id == id;
    let action = info.actions.iter().find(find).unwrap();
    let name = action.preamble.as_ref().unwrap().name.rsplit('.').next().unwrap();
    (
        name.to_owned(),
        action.params.iter().map(|it| it.name.clone()).collect(),
    )
}

#[test]
fn tna_tables_are_those_that_the_controller_writes() {
    let (tna, v1model) = (written(&sources()), compiled());
    for (name, form) in &tna {
        assert_eq!(Some(form), v1model.get(name), "{name}");
    }
    for name in v1model.keys() {
        assert!(
            tna.contains_key(name) || LACKING.iter().any(|it| it.0 == name),
            "{name} is not ported"
        );
    }
    assert!(tna.len() >= 10, "{:?}", tna.keys());
}

#[test]
fn tna_text_with_another_parameter_is_another_table() {
    let text = "action a(bit<8> x, bit<4> y) { }\ntable t { key = { m.k: exact @name(\"k\"); } actions = { a; @defaultonly b; } }";
    let tables = written(text);
    assert_eq!(tables["t"].keys, ["k"]);
    assert_eq!(tables["t"].actions["a"], ["x", "y"]);
    let other = written(&text.replace(" y)", " z)"));
    assert_ne!(tables, other);
}
