//! Headers and metadata of one packet: the values of all fields, and which headers are valid.

use std::cell::Cell;

use crate::program::{FieldPlace, HeaderPlace, Program, Word};

/// The parsed state of a packet.
#[derive(Debug, Clone)]
pub(crate) struct Phv {
    pub(crate) values: Vec<Word>,
    pub(crate) variables: Vec<Vec<u8>>,
    pub(crate) valid: Vec<bool>,
    /// The number of headers in each stack.
    pub(crate) filled: Vec<usize>,
    /// Indices out of range, divisions by zero and broken assertions. BMv2 ends or reads other
    /// memory there; here the value is zero and nothing is written.
    pub(crate) faults: Cell<u64>,
}

impl Phv {
    pub(crate) fn new(program: &Program) -> Self {
        Self {
            values: vec![0; program.fields.len()],
            variables: vec![Vec::new(); program.variables],
            valid: program.headers.iter().map(|it| it.is_metadata).collect(),
            filled: vec![0; program.stacks.len()],
            faults: Cell::new(0),
        }
    }

    /// Notes a fault.
    pub(crate) fn fault(&self) {
        self.faults.set(self.faults.get() + 1);
    }

    /// Sets all metadata to zero.
    pub(crate) fn reset_metadata(&mut self, program: &Program) {
        for header in program.headers.iter().filter(|it| it.is_metadata) {
            self.values[header.first..header.first + header.count].fill(0);
        }
    }

    /// Copies the fields of a list.
    pub(crate) fn keep(&mut self, list: &[usize], from: &Phv) {
        for field in list {
            self.values[*field] = from.values[*field];
        }
    }

    /// Writes a field, cut to its width.
    pub(crate) fn set(&mut self, program: &Program, field: usize, value: Word) {
        self.values[field] = program.fields[field].cut(value);
    }

    /// The bytes of a header on the wire.
    pub(crate) fn length(&self, program: &Program, header: usize) -> usize {
        let header = &program.headers[header];
        let fields = &program.fields[header.first..header.first + header.count];
        let variable = fields.iter().filter_map(|it| it.variable);
        header.bits / 8 + variable.map(|it| self.variables[it].len()).sum::<usize>()
    }

    /// Copies a header's fields and its validity.
    pub(crate) fn copy_header(&mut self, program: &Program, to: usize, from: usize) {
        self.valid[to] = self.valid[from];
        if self.valid[from] {
            self.copy_fields(program, to, from);
        }
    }

    fn copy_fields(&mut self, program: &Program, to: usize, from: usize) {
        let (target, source) = (&program.headers[to], &program.headers[from]);
        for offset in 0..target.count.min(source.count) {
            let (to, from) = (target.first + offset, source.first + offset);
            self.values[to] = self.values[from];
            let variables = (program.fields[to].variable, program.fields[from].variable);
            if let (Some(to), Some(from)) = variables {
                self.variables[to] = self.variables[from].clone();
            }
        }
    }

    /// Whether two headers are valid and equal.
    pub(crate) fn same(&self, program: &Program, left: usize, right: usize) -> bool {
        let (a, b) = (&program.headers[left], &program.headers[right]);
        let equal = |offset: usize| {
            let (a, b) = (a.first + offset, b.first + offset);
            let variables = (program.fields[a].variable, program.fields[b].variable);
            let by_variable = match variables {
                (Some(a), Some(b)) => self.variables[a] == self.variables[b],
                _ => true,
            };
            self.values[a] == self.values[b] && by_variable
        };
        a.kind == b.kind && self.valid[left] && self.valid[right] && (0..a.count).all(equal)
    }

    /// Makes a header valid with zeros, unless it is valid.
    pub(crate) fn set_valid(&mut self, program: &Program, header: usize) {
        if self.valid[header] {
            return;
        }
        self.valid[header] = true;
        let form = &program.headers[header];
        for field in form.first..form.first + form.count {
            self.values[field] = 0;
            if let Some(variable) = program.fields[field].variable {
                self.variables[variable].clear();
            }
        }
    }

    /// Moves the headers of a stack towards its end; the first are invalid.
    pub(crate) fn push(&mut self, program: &Program, stack: usize, count: usize) {
        let headers = &program.stacks[stack].headers;
        self.filled[stack] = self.filled[stack].saturating_add(count).min(headers.len());
        for index in (0..headers.len()).rev() {
            match index.checked_sub(count) {
                Some(source) => self.copy_header(program, headers[index], headers[source]),
                None => self.valid[headers[index]] = false,
            }
        }
    }

    /// Moves the headers of a stack towards its beginning; the last are invalid.
    pub(crate) fn pop(&mut self, program: &Program, stack: usize, count: usize) {
        let headers = &program.stacks[stack].headers;
        self.filled[stack] = self.filled[stack].saturating_sub(count);
        for index in 0..headers.len() {
            match headers.get(index.saturating_add(count)) {
                Some(source) => self.copy_header(program, headers[index], *source),
                None => self.valid[headers[index]] = false,
            }
        }
    }

    /// The header at a place; `None` is a fault.
    pub(crate) fn header(&self, place: &HeaderPlace, context: &Context<'_>) -> Option<usize> {
        let program = context.program;
        let found = match place {
            HeaderPlace::Fixed(header) => return Some(*header),
            HeaderPlace::Element(stack, index) => {
                let index = usize::try_from(context.value(self, index)).unwrap_or(usize::MAX);
                program.stacks[*stack].headers.get(index)
            }
            HeaderPlace::Last(stack) => {
                let last = self.filled[*stack].checked_sub(1);
                last.and_then(|it| program.stacks[*stack].headers.get(it))
            }
        };
        if found.is_none() {
            self.fault();
        }
        found.copied()
    }

    /// The field at a place.
    pub(crate) fn field(&self, place: &FieldPlace, context: &Context<'_>) -> Option<usize> {
        match place {
            FieldPlace::Fixed(field) => Some(*field),
            FieldPlace::Of(header, offset) => {
                Some(context.program.headers[self.header(header, context)?].first + offset)
            }
        }
    }
}

/// All that an expression reads beside the packet's fields.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) program: &'a Program,
    pub(crate) registers: &'a [Vec<Word>],
    /// The parameters of the running action.
    pub(crate) parameters: &'a [Word],
}
