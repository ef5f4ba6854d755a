//! The parser: bytes to headers.

use crate::bits;
use crate::execute::Run;
use crate::limits::STATES_MAX;
use crate::phv::Phv;
use crate::program::{Ahead, Case, Expression, KeyPart, Operation, State, Word};

/// A parser's error, by the program's number.
struct Failure(Word);

impl Run<'_> {
    /// Parses a packet. Returns the bytes taken, and the number of the error.
    pub(crate) fn parse(&mut self, phv: &mut Phv, packet: &[u8]) -> (usize, Word) {
        let program = self.program;
        let mut taken = 0;
        let mut next = program.first_state;
        let mut visited = 0;
        while let Some(index) = next {
            visited += 1;
            if visited > STATES_MAX {
                self.counters.parser_timeouts += 1;
                return (taken, program.errors.timeout);
            }
            match self.state(&program.states[index], phv, packet, &mut taken) {
                Ok(state) => next = state,
                Err(Failure(error)) => return (taken, error),
            }
        }
        (taken, program.errors.none)
    }

    fn state(
        &mut self,
        state: &State,
        phv: &mut Phv,
        packet: &[u8],
        taken: &mut usize,
    ) -> Result<Option<usize>, Failure> {
        for operation in &state.operations {
            self.operation(operation, phv, packet, taken)?;
        }
        if state.key.is_empty() {
            return Ok(state.default);
        }
        // Keys have few parts.
        let mut key = [0; 8];
        let mut longer = Vec::new();
        let key = if state.key.len() <= key.len() {
            &mut key[..state.key.len()]
        } else {
            longer.resize(state.key.len(), 0);
            longer.as_mut_slice()
        };
        for (value, part) in key.iter_mut().zip(&state.key) {
            *value = match part {
                KeyPart::Field(field) => phv.values[*field],
                KeyPart::Ahead(ahead) => self.ahead(*ahead, &packet[*taken..])?,
                KeyPart::Last(stack, offset) => {
                    let last = phv.filled[*stack].checked_sub(1);
                    let headers = &self.program.stacks[*stack].headers;
                    let Some(header) = last.and_then(|it| headers.get(it)) else {
                        return Err(Failure(self.program.errors.stack));
                    };
                    phv.values[self.program.headers[*header].first + offset]
                }
            };
        }
        let is_hit = |case: &&Case| {
            case.parts
                .iter()
                .zip(key.iter())
                .all(|((value, mask), it)| it & mask == *value)
        };
        Ok(state.cases.iter().find(is_hit).map_or(state.default, |it| it.next))
    }

    fn operation(
        &mut self,
        operation: &Operation,
        phv: &mut Phv,
        packet: &[u8],
        taken: &mut usize,
    ) -> Result<(), Failure> {
        match operation {
            Operation::Extract(header) => self.extract(*header, 0, phv, packet, taken),
            Operation::ExtractVariable(header, length) => {
                let length = self.whole_bytes(length, phv)?;
                self.extract(*header, length, phv, packet, taken)
            }
            Operation::ExtractNext(stack) => {
                let header = self.next_header(*stack, phv)?;
                self.extract(header, 0, phv, packet, taken)?;
                phv.filled[*stack] += 1;
                Ok(())
            }
            Operation::ExtractNextVariable(stack, length) => {
                let header = self.next_header(*stack, phv)?;
                let length = self.whole_bytes(length, phv)?;
                self.extract(header, length, phv, packet, taken)?;
                phv.filled[*stack] += 1;
                Ok(())
            }
            Operation::SetAhead(field, ahead) => {
                let value = self.ahead(*ahead, &packet[*taken..])?;
                phv.set(self.program, *field, value);
                Ok(())
            }
            Operation::Advance(bits) => {
                let bytes = self.whole_bytes(bits, phv)?;
                if bytes > packet.len() - *taken {
                    return Err(Failure(self.program.errors.too_short));
                }
                *taken += bytes;
                Ok(())
            }
            Operation::Verify(condition, error) => {
                let context = self.context(&[]);
                if context.is_true(phv, condition) {
                    return Ok(());
                }
                Err(Failure(context.value(phv, error)))
            }
            Operation::Primitive(primitive) => {
                self.primitive(primitive, phv, &[]);
                Ok(())
            }
        }
    }

    fn ahead(&self, ahead: Ahead, rest: &[u8]) -> Result<Word, Failure> {
        let value = bits::read(rest, ahead.offset, ahead.width);
        value.ok_or(Failure(self.program.errors.too_short))
    }

    fn next_header(&self, stack: usize, phv: &Phv) -> Result<usize, Failure> {
        let header = self.program.stacks[stack].headers.get(phv.filled[stack]);
        header.copied().ok_or(Failure(self.program.errors.stack))
    }

    fn whole_bytes(&self, bits: &Expression, phv: &Phv) -> Result<usize, Failure> {
        let bits = usize::try_from(self.context(&[]).value(phv, bits)).unwrap_or(usize::MAX);
        if bits % 8 != 0 {
            return Err(Failure(self.program.errors.argument));
        }
        Ok(bits / 8)
    }

    fn extract(
        &self,
        header: usize,
        variable: usize,
        phv: &mut Phv,
        packet: &[u8],
        taken: &mut usize,
    ) -> Result<(), Failure> {
        let form = &self.program.headers[header];
        let size = (form.bits / 8).saturating_add(variable);
        let Some(bytes) = packet[*taken..].get(..size) else {
            return Err(Failure(self.program.errors.too_short));
        };
        if form.bytes_max != 0 && size > form.bytes_max {
            return Err(Failure(self.program.errors.header));
        }
        let mut offset = 0;
        for index in form.first..form.first + form.count {
            let field = &self.program.fields[index];
            if let Some(place) = field.variable {
                let end = offset / 8 + variable;
                phv.variables[place] = bytes.get(offset / 8..end).unwrap_or_default().to_vec();
                offset = end * 8;
            } else {
                let value = bits::read(bytes, offset, field.width).unwrap_or(0);
                phv.values[index] = field.cut(value);
                offset += field.width as usize;
            }
        }
        phv.valid[header] = true;
        *taken += size;
        Ok(())
    }
}
