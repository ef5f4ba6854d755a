//! Actions, and the way of a packet through the tables of a pipeline.

use std::sync::Arc;

use crate::limits::STEPS_MAX;
use crate::phv::{Context, Phv};
use crate::program::{KeySource, Node, Primitive, Program, Word};
use crate::replication::DROP_PORT;
use crate::state::State;
use crate::statistics::Statistics;

/// One packet's run through the parser or a pipeline, and what its actions asked for.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    pub(crate) program: &'a Program,
    pub(crate) state: &'a mut State,
    pub(crate) counters: &'a mut Statistics,
    /// The bytes of the packet as it was received.
    pub(crate) received: usize,
    /// The bytes behind the parsed headers.
    pub(crate) payload: &'a [u8],
    pub(crate) effects: Effects,
}

/// Requests of actions that the switch fulfils after the pipeline.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Effects {
    /// Session and field list.
    pub(crate) clone: Option<(u16, u64)>,
    /// Field list; zero is no request.
    pub(crate) resubmit: u64,
    pub(crate) recirculate: u64,
    pub(crate) truncate: Option<usize>,
    pub(crate) is_done: bool,
    /// The change of the packet's length by headers that were added or removed.
    pub(crate) growth: isize,
}

impl<'a> Run<'a> {
    pub(crate) fn context<'b>(&'b self, parameters: &'b [Word]) -> Context<'b> {
        Context {
            program: self.program,
            registers: &self.state.registers,
            parameters,
        }
    }

    /// Applies a pipeline.
    pub(crate) fn apply(&mut self, first: Option<Node>, phv: &mut Phv) {
        let program: &'a Program = self.program;
        let mut next = first;
        let mut values = Vec::with_capacity(8);
        while let Some(node) = next {
            match node {
                Node::Condition(index) => {
                    let condition = &program.conditions[index];
                    let is_true = self.context(&[]).is_true(phv, &condition.expression);
                    next = if is_true { condition.yes } else { condition.no };
                }
                Node::Table(index) => {
                    next = self.table(index, phv, &mut values);
                    if self.effects.is_done {
                        return;
                    }
                }
            }
        }
    }

    /// Applies a table. Returns the next node.
    fn table(&mut self, index: usize, phv: &mut Phv, values: &mut Vec<Word>) -> Option<Node> {
        let table = &self.program.tables[index];
        values.clear();
        for key in &table.keys {
            let value = match key.source {
                // The field of an invalid header is zero.
                KeySource::Field(field) if phv.valid[self.program.fields[field].header] => phv.values[field],
                KeySource::Field(_) => 0,
                KeySource::Validity(header) => Word::from(phv.valid[header]),
            };
            values.push(value & key.mask & crate::program::mask(key.width));
        }
        let entries = &mut self.state.tables[index];
        let hit = entries.look_up(&table.keys, values);
        let bound = match hit {
            Some(place) => {
                let entry = &mut entries.all[place];
                if table.has_counters {
                    entry.count.add(self.received);
                }
                Some((entry.bound.choice, Arc::clone(&entry.bound.data)))
            }
            None => entries.default.as_ref().map(|it| (it.choice, Arc::clone(&it.data))),
        };
        let mut next = table.without;
        if let Some((choice, data)) = bound {
            let choice = &table.actions[choice];
            self.action(choice.action, phv, &data);
            next = choice.next;
        }
        match table.by_hit {
            Some((after_hit, after_miss)) => {
                if hit.is_some() {
                    after_hit
                } else {
                    after_miss
                }
            }
            None => next,
        }
    }

    fn action(&mut self, action: usize, phv: &mut Phv, data: &[Word]) {
        let program: &'a Program = self.program;
        let primitives = &program.actions[action].primitives;
        let (mut place, mut steps) = (0, 0);
        while let Some(primitive) = primitives.get(place) {
            steps += 1;
            if steps > STEPS_MAX {
                phv.fault();
                return;
            }
            place = match primitive {
                Primitive::Jump(to) => *to,
                Primitive::JumpIfZero(value, to) if !self.context(data).is_true(phv, value) => *to,
                other => {
                    self.primitive(other, phv, data);
                    place + 1
                }
            };
        }
    }

    /// Executes one primitive that is not a jump.
    pub(crate) fn primitive(&mut self, primitive: &Primitive, phv: &mut Phv, data: &[Word]) {
        let program: &'a Program = self.program;
        let context = self.context(data);
        match primitive {
            Primitive::Assign(place, expression) => {
                let value = context.value(phv, expression);
                if let Some(field) = phv.field(place, &context) {
                    phv.set(program, field, value);
                }
            }
            Primitive::AssignVariable(to, from) => {
                let fields = (phv.field(to, &context), phv.field(from, &context));
                if let (Some(to), Some(from)) = fields
                    && let (Some(to), Some(from)) = (program.fields[to].variable, program.fields[from].variable)
                {
                    phv.variables[to] = phv.variables[from].clone();
                }
            }
            Primitive::AssignHeader(to, from) => {
                if let (Some(to), Some(from)) = (phv.header(to, &context), phv.header(from, &context)) {
                    phv.copy_header(program, to, from);
                }
            }
            Primitive::AssignStack(to, from) => {
                phv.filled[*to] = phv.filled[*from];
                let pairs = program.stacks[*to].headers.iter().zip(&program.stacks[*from].headers);
                for (to, from) in pairs {
                    phv.copy_header(program, *to, *from);
                }
            }
            Primitive::Push(stack, count) => {
                let count = usize::try_from(context.value(phv, count)).unwrap_or(usize::MAX);
                phv.push(program, *stack, count);
            }
            Primitive::Pop(stack, count) => {
                let count = usize::try_from(context.value(phv, count)).unwrap_or(usize::MAX);
                phv.pop(program, *stack, count);
            }
            Primitive::SetValid(place) => {
                if let Some(header) = phv.header(place, &context)
                    && !phv.valid[header]
                {
                    phv.set_valid(program, header);
                    self.effects.growth += phv.length(program, header) as isize;
                }
            }
            Primitive::SetInvalid(place) => {
                if let Some(header) = phv.header(place, &context)
                    && phv.valid[header]
                {
                    phv.valid[header] = false;
                    self.effects.growth -= phv.length(program, header) as isize;
                }
            }
            Primitive::Drop => {
                phv.set(program, program.standard.egress_spec, Word::from(DROP_PORT));
                phv.set(program, program.standard.mcast_grp, 0);
            }
            Primitive::Clone(session, list) => {
                let session = context.value(phv, session) as u16 & 0x7fff;
                self.effects.clone = Some((session, context.value(phv, list) as u64));
            }
            Primitive::Resubmit(list) => self.effects.resubmit = context.value(phv, list) as u64,
            Primitive::Recirculate(list) => {
                self.effects.recirculate = context.value(phv, list) as u64;
            }
            Primitive::Truncate(length) => {
                let length = usize::try_from(context.value(phv, length)).unwrap_or(usize::MAX);
                self.effects.truncate = Some(length);
            }
            Primitive::Assert(condition) => {
                if !context.is_true(phv, condition) {
                    phv.fault();
                }
            }
            Primitive::Exit => self.effects.is_done = true,
            Primitive::Count(..) | Primitive::ReadRegister(..) | Primitive::WriteRegister(..) | Primitive::Hash(..) => {
                self.stateful(primitive, phv, data)
            }
            Primitive::Jump(_) | Primitive::JumpIfZero(..) | Primitive::Nothing => {}
        }
    }

    /// Executes a primitive with an index into an array.
    fn stateful(&mut self, primitive: &Primitive, phv: &mut Phv, data: &[Word]) {
        let program: &'a Program = self.program;
        let context = self.context(data);
        let place = |index| usize::try_from(context.value(phv, index)).unwrap_or(usize::MAX);
        let done = match primitive {
            Primitive::Count(counter, index) => {
                let place = place(index);
                let cell = self.state.counters[*counter].get_mut(place);
                cell.map(|it| it.add(self.received))
            }
            Primitive::ReadRegister(to, register, index) => {
                let value = context.registers[*register].get(place(index)).copied();
                match (value, phv.field(to, &context)) {
                    (Some(value), Some(field)) => {
                        phv.set(program, field, value);
                        Some(())
                    }
                    _ => None,
                }
            }
            Primitive::WriteRegister(register, index, value) => {
                let place = place(index);
                let width = program.registers[*register].width;
                let value = context.value(phv, value) & crate::program::mask(width);
                let cell = self.state.registers[*register].get_mut(place);
                cell.map(|it| *it = value)
            }
            Primitive::Hash(to, base, calculation, size) => {
                let base = context.value(phv, base) as u64;
                let size = (context.value(phv, size) as u64).max(1);
                let field = phv.field(to, &context);
                let output = self.calculate(*calculation, phv);
                field.map(|it| phv.set(program, it, Word::from((output % size).wrapping_add(base))))
            }
            _ => Some(()),
        };
        if done.is_none() {
            phv.fault();
        }
    }
}
