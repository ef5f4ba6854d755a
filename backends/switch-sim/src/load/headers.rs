//! Headers, fields, stacks, field lists and the fields that the switch itself uses.

use std::collections::HashMap;

use serde_json::Value;

use super::names::Names;
use super::{Loaded, refused};
use crate::json::{HeaderType, Json};
use crate::program::{Errors, Field, Header, Program, Stack, Standard};

/// The header of the fields that the switch itself uses.
const STANDARD: &str = "standard_metadata";

pub(crate) fn load(json: &Json, program: &mut Program, names: &mut Names) -> Loaded<()> {
    let kinds: HashMap<_, _> = json
        .header_types
        .iter()
        .enumerate()
        .map(|(index, it)| (&it.name, index))
        .collect();
    for header in &json.headers {
        let Some(&kind) = kinds.get(&header.header_type) else {
            return refused(format!("there is no header type {}", header.header_type));
        };
        let index = program.headers.len();
        names.headers.insert(header.name.clone(), index);
        names.header_ids.insert(header.id, index);
        add(&json.header_types[kind], kind, header, program, names)?;
    }
    for stack in &json.header_stacks {
        let mut headers = Vec::new();
        for id in &stack.header_ids {
            let Some(&header) = names.header_ids.get(id) else {
                return refused(format!("header stack {} of an unknown header", stack.name));
            };
            headers.push(header);
        }
        names.stacks.insert(stack.name.clone(), program.stacks.len());
        names.elements.push(headers.clone());
        program.stacks.push(Stack { headers });
    }
    for list in &json.field_lists {
        let mut fields = Vec::new();
        for element in &list.elements {
            if element.kind != "field" {
                return refused(format!("{} in a field list", element.kind));
            }
            fields.push(names.field_of(&element.value)?);
        }
        program.field_lists.push((list.id, fields));
    }
    program.errors = errors(json);
    program.standard = standard(names)?;
    Ok(())
}

fn add(
    kind: &HeaderType,
    number: usize,
    header: &crate::json::Header,
    program: &mut Program,
    names: &mut Names,
) -> Loaded<()> {
    let first = program.fields.len();
    let mut bits = 0;
    for field in &kind.fields {
        let Some(name) = field.first().and_then(Value::as_str) else {
            return refused(format!("header type {}", kind.name));
        };
        let width = field.get(1).and_then(Value::as_u64);
        let variable = width.is_none().then_some(program.variables);
        if variable.is_some() {
            if !kind.length_exp.is_null() {
                return refused(format!("a length in the header type {}", kind.name));
            }
            program.variables += 1;
        }
        let width = width.unwrap_or(0);
        if width > 128 {
            return refused(format!("the field {}.{name}, of more than 128 bits", header.name));
        }
        let width = u32::try_from(width).unwrap_or(0);
        let is_signed = field.get(2).and_then(Value::as_bool).unwrap_or(false);
        bits += width as usize;
        let index = program.fields.len();
        names.fields.insert((header.name.clone(), name.to_owned()), index);
        names.widths.push(width);
        names.signed.push(is_signed);
        names.variable.push(variable.is_some());
        program.fields.push(Field {
            header: program.headers.len(),
            width,
            is_signed,
            variable,
        });
    }
    if bits % 8 != 0 {
        return refused(format!("header {}, of {bits} bits", header.name));
    }
    names.firsts.push(first);
    program.headers.push(Header {
        kind: number,
        first,
        count: program.fields.len() - first,
        is_metadata: header.metadata,
        bits,
        bytes_max: kind.max_length.and_then(|it| usize::try_from(it).ok()).unwrap_or(0),
    });
    Ok(())
}

fn errors(json: &Json) -> Errors {
    let number = |name: &str| {
        let found = json.errors.iter().find(|(it, _)| it == name);
        found.map_or(0, |(_, number)| u128::from(*number))
    };
    Errors {
        none: number("NoError"),
        too_short: number("PacketTooShort"),
        stack: number("StackOutOfBounds"),
        header: number("HeaderTooShort"),
        timeout: number("ParserTimeout"),
        argument: number("ParserInvalidArgument"),
    }
}

fn standard(names: &Names) -> Loaded<Standard> {
    let field = |name: &str| names.field(STANDARD, name);
    Ok(Standard {
        ingress_port: field("ingress_port")?,
        egress_spec: field("egress_spec")?,
        egress_port: field("egress_port")?,
        instance_type: field("instance_type")?,
        packet_length: field("packet_length")?,
        mcast_grp: field("mcast_grp")?,
        egress_rid: field("egress_rid")?,
        ingress_global_timestamp: field("ingress_global_timestamp")?,
        egress_global_timestamp: field("egress_global_timestamp")?,
        enq_timestamp: field("enq_timestamp")?,
        parser_error: field("parser_error")?,
        checksum_error: field("checksum_error")?,
    })
}
