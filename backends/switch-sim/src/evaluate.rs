//! The value of an expression.
//!
//! BMv2 computes with numbers of any length and cuts when it writes. Here numbers have 128 bits and
//! wrap. The results are equal, because the compiler cuts each result of an operation to its type,
//! and no type is wider.

use crate::phv::{Context, Phv};
use crate::program::{Expression, Operator, Word, extend, mask};

impl Context<'_> {
    /// The value of an expression.
    pub(crate) fn value(&self, phv: &Phv, expression: &Expression) -> Word {
        match expression {
            Expression::Constant(value) => *value,
            Expression::Field(field) => phv.values[*field],
            Expression::Of(place, offset) => match phv.header(place, self) {
                Some(header) => phv.values[self.program.headers[header].first + offset],
                None => 0,
            },
            Expression::Parameter(index) => match self.parameters.get(*index) {
                Some(value) => *value,
                None => {
                    phv.fault();
                    0
                }
            },
            Expression::Register(register, index) => {
                let index = usize::try_from(self.value(phv, index)).unwrap_or(usize::MAX);
                match self.registers[*register].get(index) {
                    Some(value) => *value,
                    None => {
                        phv.fault();
                        0
                    }
                }
            }
            Expression::Valid(place) => Word::from(phv.header(place, self).is_some_and(|it| phv.valid[it])),
            Expression::Same(left, right) => match (phv.header(left, self), phv.header(right, self)) {
                (Some(left), Some(right)) => Word::from(phv.same(self.program, left, right)),
                _ => 0,
            },
            // An empty stack has no last index: BMv2 gives the largest number, as here.
            Expression::LastIndex(stack) => (phv.filled[*stack] as Word).wrapping_sub(1),
            Expression::Size(stack) => phv.filled[*stack] as Word,
            Expression::Not(inner) => Word::from(self.value(phv, inner) == 0),
            Expression::Complement(inner) => !self.value(phv, inner),
            Expression::IsNotZero(inner) => Word::from(self.value(phv, inner) != 0),
            Expression::Extend(inner, width) => extend(self.value(phv, inner) & mask(*width), *width),
            Expression::Saturate(inner, width) => self.value(phv, inner).min(mask(*width)),
            Expression::Choice(all) => {
                let chosen = if self.value(phv, &all[0]) == 0 {
                    &all[2]
                } else {
                    &all[1]
                };
                self.value(phv, chosen)
            }
            Expression::Two(operator, both) => {
                let (left, right) = (self.value(phv, &both[0]), self.value(phv, &both[1]));
                let result = apply(*operator, left, right);
                if result.is_none() {
                    phv.fault();
                }
                result.unwrap_or(0)
            }
        }
    }

    /// Whether an expression is true.
    pub(crate) fn is_true(&self, phv: &Phv, expression: &Expression) -> bool {
        self.value(phv, expression) != 0
    }
}

/// `None` for a division by zero.
fn apply(operator: Operator, left: Word, right: Word) -> Option<Word> {
    let shift = u32::try_from(right).unwrap_or(u32::MAX);
    let (signed_left, signed_right) = (left.cast_signed(), right.cast_signed());
    Some(match operator {
        Operator::Add => left.wrapping_add(right),
        Operator::Subtract => left.wrapping_sub(right),
        Operator::SubtractSaturating => left.saturating_sub(right),
        Operator::Multiply => left.wrapping_mul(right),
        Operator::Divide => left.checked_div(right)?,
        Operator::Modulo => left.checked_rem(right)?,
        Operator::ShiftLeft => left.checked_shl(shift).unwrap_or(0),
        Operator::ShiftRight => left.checked_shr(shift).unwrap_or(0),
        Operator::ShiftRightSigned => (signed_left >> shift.min(127)).cast_unsigned(),
        Operator::And => left & right,
        Operator::Or => left | right,
        Operator::Xor => left ^ right,
        Operator::Equal => Word::from(left == right),
        Operator::NotEqual => Word::from(left != right),
        Operator::Less => Word::from(left < right),
        Operator::LessSigned => Word::from(signed_left < signed_right),
        Operator::LessOrEqual => Word::from(left <= right),
        Operator::LessOrEqualSigned => Word::from(signed_left <= signed_right),
        Operator::BothTrue => Word::from(left != 0 && right != 0),
        Operator::EitherTrue => Word::from(left != 0 || right != 0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_beyond_the_width_leave_nothing() {
        assert_eq!(apply(Operator::ShiftLeft, 1, 128), Some(0));
        assert_eq!(apply(Operator::ShiftRight, Word::MAX, 1 << 40), Some(0));
    }

    #[test]
    fn comparisons_of_signed_numbers_know_the_sign() {
        let minus_one = extend(0xff, 8);
        assert_eq!(apply(Operator::LessSigned, minus_one, 0), Some(1));
        assert_eq!(apply(Operator::Less, minus_one, 0), Some(0));
        assert_eq!(
            apply(Operator::ShiftRightSigned, extend(0x80, 8), 3),
            Some(extend(0xf0, 8))
        );
    }

    #[test]
    fn a_division_by_zero_is_a_fault() {
        assert_eq!(apply(Operator::Divide, 1, 0), None);
        assert_eq!(apply(Operator::Modulo, 1, 0), None);
    }
}
