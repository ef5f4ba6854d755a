//! The compiler's output for BMv2 (its JSON format 2), as far as it is interpreted.

use serde::Deserialize;
use serde_json::Value;

/// A compiled program.
#[derive(Debug, Deserialize)]
pub(crate) struct Json {
    pub(crate) header_types: Vec<HeaderType>,
    pub(crate) headers: Vec<Header>,
    #[serde(default)]
    pub(crate) header_stacks: Vec<Stack>,
    #[serde(default)]
    pub(crate) header_unions: Vec<Value>,
    #[serde(default)]
    pub(crate) header_union_stacks: Vec<Value>,
    #[serde(default)]
    pub(crate) field_lists: Vec<FieldList>,
    #[serde(default)]
    pub(crate) errors: Vec<(String, u64)>,
    pub(crate) parsers: Vec<Parser>,
    #[serde(default)]
    pub(crate) parse_vsets: Vec<Value>,
    pub(crate) deparsers: Vec<Deparser>,
    #[serde(default)]
    pub(crate) meter_arrays: Vec<Value>,
    #[serde(default)]
    pub(crate) counter_arrays: Vec<Array>,
    #[serde(default)]
    pub(crate) register_arrays: Vec<Array>,
    #[serde(default)]
    pub(crate) calculations: Vec<Calculation>,
    #[serde(default)]
    pub(crate) learn_lists: Vec<Value>,
    pub(crate) actions: Vec<Action>,
    pub(crate) pipelines: Vec<Pipeline>,
    #[serde(default)]
    pub(crate) checksums: Vec<Checksum>,
    #[serde(default)]
    pub(crate) extern_instances: Vec<Value>,
}

/// A header type. A field is `[name, width, is signed]`; the width `"*"` is a variable one.
#[derive(Debug, Deserialize)]
pub(crate) struct HeaderType {
    pub(crate) name: String,
    pub(crate) fields: Vec<Vec<Value>>,
    #[serde(default)]
    pub(crate) length_exp: Value,
    #[serde(default)]
    pub(crate) max_length: Option<u64>,
}

/// An instance of a header type.
#[derive(Debug, Deserialize)]
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) id: u64,
    pub(crate) header_type: String,
    pub(crate) metadata: bool,
}

/// A header stack, by the numbers of its headers.
#[derive(Debug, Deserialize)]
pub(crate) struct Stack {
    pub(crate) name: String,
    pub(crate) header_ids: Vec<u64>,
}

/// The fields that a copy keeps.
#[derive(Debug, Deserialize)]
pub(crate) struct FieldList {
    pub(crate) id: u64,
    pub(crate) elements: Vec<Typed>,
}

/// A value with its type: a field, a constant, an expression, the name of an object.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Typed {
    #[serde(rename = "type", default)]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) value: Value,
    #[serde(default)]
    pub(crate) bitwidth: Option<u32>,
}

/// A parser.
#[derive(Debug, Deserialize)]
pub(crate) struct Parser {
    pub(crate) name: String,
    pub(crate) init_state: String,
    pub(crate) parse_states: Vec<ParseState>,
}

/// One state of a parser.
#[derive(Debug, Deserialize)]
pub(crate) struct ParseState {
    pub(crate) name: String,
    pub(crate) parser_ops: Vec<Call>,
    pub(crate) transition_key: Vec<Typed>,
    pub(crate) transitions: Vec<Transition>,
}

/// A parser's operation, or an action's primitive. The parameters of the operation `primitive` are
/// themselves calls.
#[derive(Debug, Deserialize)]
pub(crate) struct Call {
    pub(crate) op: String,
    #[serde(default)]
    pub(crate) parameters: Vec<Value>,
}

/// A transition between states.
#[derive(Debug, Deserialize)]
pub(crate) struct Transition {
    #[serde(rename = "type", default)]
    pub(crate) kind: Option<String>,
    pub(crate) value: Option<String>,
    pub(crate) mask: Option<String>,
    pub(crate) next_state: Option<String>,
}

/// The order of headers in a sent packet.
#[derive(Debug, Deserialize)]
pub(crate) struct Deparser {
    pub(crate) order: Vec<String>,
    #[serde(default)]
    pub(crate) primitives: Vec<Value>,
}

/// Counters or registers.
#[derive(Debug, Deserialize)]
pub(crate) struct Array {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) is_direct: bool,
    #[serde(default)]
    pub(crate) size: usize,
    #[serde(default)]
    pub(crate) bitwidth: u32,
}

/// A computation over fields.
#[derive(Debug, Deserialize)]
pub(crate) struct Calculation {
    pub(crate) name: String,
    pub(crate) algo: String,
    pub(crate) input: Vec<Typed>,
}

/// An action.
#[derive(Debug, Deserialize)]
pub(crate) struct Action {
    pub(crate) name: String,
    pub(crate) id: u64,
    pub(crate) runtime_data: Vec<Parameter>,
    pub(crate) primitives: Vec<Call>,
}

/// A parameter of an action.
#[derive(Debug, Deserialize)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) bitwidth: u32,
}

/// Ingress or egress.
#[derive(Debug, Deserialize)]
pub(crate) struct Pipeline {
    pub(crate) name: String,
    pub(crate) init_table: Option<String>,
    pub(crate) tables: Vec<Table>,
    #[serde(default)]
    pub(crate) action_profiles: Vec<Value>,
    #[serde(default)]
    pub(crate) conditionals: Vec<Conditional>,
    #[serde(default)]
    pub(crate) action_calls: Vec<Value>,
}

/// A table.
#[derive(Debug, Deserialize)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) key: Vec<Key>,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) with_counters: bool,
    #[serde(default)]
    pub(crate) support_timeout: bool,
    #[serde(default)]
    pub(crate) direct_meters: Value,
    pub(crate) action_ids: Vec<u64>,
    pub(crate) actions: Vec<String>,
    #[serde(default)]
    pub(crate) base_default_next: Option<String>,
    pub(crate) next_tables: serde_json::Map<String, Value>,
    #[serde(default)]
    pub(crate) default_entry: Option<DefaultEntry>,
    #[serde(default)]
    pub(crate) entries: Vec<ConstantEntry>,
}

/// One part of a table's key.
#[derive(Debug, Deserialize)]
pub(crate) struct Key {
    pub(crate) match_type: String,
    pub(crate) target: (String, String),
    #[serde(default)]
    pub(crate) mask: Option<String>,
}

/// The action of a table's miss.
#[derive(Debug, Deserialize)]
pub(crate) struct DefaultEntry {
    pub(crate) action_id: u64,
    #[serde(default)]
    pub(crate) action_const: bool,
    #[serde(default)]
    pub(crate) action_data: Vec<String>,
}

/// An entry of the program itself.
#[derive(Debug, Deserialize)]
pub(crate) struct ConstantEntry {
    pub(crate) match_key: Vec<ConstantKey>,
    pub(crate) action_entry: DefaultEntry,
    #[serde(default)]
    pub(crate) priority: u64,
}

/// One part of such an entry's key.
#[derive(Debug, Deserialize)]
pub(crate) struct ConstantKey {
    #[serde(default)]
    pub(crate) key: Value,
    #[serde(default)]
    pub(crate) mask: Option<String>,
    #[serde(default)]
    pub(crate) prefix_length: Option<u32>,
}

/// A condition between tables.
#[derive(Debug, Deserialize)]
pub(crate) struct Conditional {
    pub(crate) name: String,
    pub(crate) expression: Value,
    pub(crate) true_next: Option<String>,
    pub(crate) false_next: Option<String>,
}

/// A checksum that is verified after parsing or written before sending.
#[derive(Debug, Deserialize)]
pub(crate) struct Checksum {
    pub(crate) target: (String, String),
    pub(crate) calculation: String,
    #[serde(default = "yes")]
    pub(crate) update: bool,
    #[serde(default = "yes")]
    pub(crate) verify: bool,
    #[serde(default)]
    pub(crate) if_cond: Value,
}

fn yes() -> bool {
    true
}
