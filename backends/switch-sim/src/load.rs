//! Loads a program: names become indices, and constructs that are not interpreted are refused.

mod actions;
mod expressions;
mod headers;
mod names;
mod parser;
mod tables;

use std::fmt;

use serde_json::Value;

use crate::json::{self, Json};
use crate::program::{Algorithm, Calculation, Checksum, Input, Program};
use names::Names;
pub(crate) use tables::prefix;

/// The reason why a program cannot be interpreted, with the name of the construct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError(String);

impl fmt::Display for LoadError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "this program cannot be interpreted: {}", self.0)
    }
}

impl std::error::Error for LoadError {}

/// The result of a step of loading.
pub(crate) type Loaded<T> = Result<T, LoadError>;

/// A refusal.
pub(crate) fn refused<T>(reason: impl Into<String>) -> Loaded<T> {
    Err(LoadError(reason.into()))
}

/// Loads the compiler's output for BMv2.
pub(crate) fn load(text: &str) -> Loaded<Program> {
    let json: Json = serde_json::from_str(text).map_err(|it| LoadError(it.to_string()))?;
    refuse_absent(&json)?;
    let mut names = Names::default();
    let mut program = Program::default();
    headers::load(&json, &mut program, &mut names)?;
    arrays(&json, &mut program, &mut names);
    calculations(&json, &mut program, &mut names)?;
    actions::load(&json.actions, &mut program, &mut names)?;
    parser::load(&json, &mut program, &names)?;
    let [deparser] = json.deparsers.as_slice() else {
        return refused("more than one deparser");
    };
    if !deparser.primitives.is_empty() {
        return refused("primitives in a deparser");
    }
    for header in &deparser.order {
        program.order.push(names.header(header)?);
    }
    tables::load(&json.pipelines, &mut program, &mut names)?;
    checksums(&json, &mut program, &names)?;
    Ok(program)
}

/// Refuses whole kinds of objects that no step below looks at.
fn refuse_absent(json: &Json) -> Loaded<()> {
    let kinds = [
        ("header unions", &json.header_unions),
        ("stacks of header unions", &json.header_union_stacks),
        ("value sets", &json.parse_vsets),
        ("meters", &json.meter_arrays),
        ("digests", &json.learn_lists),
        ("externs", &json.extern_instances),
    ];
    for (kind, objects) in kinds {
        if let Some(object) = objects.first() {
            let name = object.get("name").and_then(Value::as_str).unwrap_or_default();
            return refused(format!("{kind}, such as {name}"));
        }
    }
    Ok(())
}

fn arrays(json: &Json, program: &mut Program, names: &mut Names) {
    for array in json.counter_arrays.iter().filter(|it| !it.is_direct) {
        names.counters.insert(array.name.clone(), program.counters.len());
        program.counters.push(array_of(array));
    }
    for array in &json.register_arrays {
        names.registers.insert(array.name.clone(), program.registers.len());
        program.registers.push(array_of(array));
    }
}

fn array_of(array: &json::Array) -> crate::program::Array {
    crate::program::Array {
        name: array.name.clone(),
        size: array.size,
        width: array.bitwidth,
    }
}

fn calculations(json: &Json, program: &mut Program, names: &mut Names) -> Loaded<()> {
    for calculation in &json.calculations {
        let algorithm = match calculation.algo.as_str() {
            "csum16" | "cksum16" => Algorithm::InternetChecksum,
            "identity" => Algorithm::Identity,
            other => return refused(format!("the computation {other}")),
        };
        let mut inputs = Vec::new();
        let mut has_payload = false;
        for input in &calculation.input {
            match input.kind.as_str() {
                "field" => inputs.push(Input::Field(names.field_of(&input.value)?)),
                "header" => inputs.push(Input::Header(names.header_of(&input.value)?)),
                "payload" => has_payload = true,
                "hexstr" => {
                    let width = input.bitwidth.unwrap_or(0);
                    inputs.push(Input::Constant(names::word_of(&input.value)?, width));
                }
                other => return refused(format!("{other} as input of {}", calculation.name)),
            }
        }
        names
            .calculations
            .insert(calculation.name.clone(), program.calculations.len());
        program.calculations.push(Calculation {
            algorithm,
            inputs,
            has_payload,
        });
    }
    Ok(())
}

fn checksums(json: &Json, program: &mut Program, names: &Names) -> Loaded<()> {
    for checksum in &json.checksums {
        let (header, field) = &checksum.target;
        let condition = match &checksum.if_cond {
            Value::Null => None,
            condition => Some(expressions::expression(condition, names)?),
        };
        program.checksums.push(Checksum {
            target: names.field(header, field)?,
            calculation: names.calculation(&checksum.calculation)?,
            updates: checksum.update,
            verifies: checksum.verify,
            condition,
        });
    }
    Ok(())
}
