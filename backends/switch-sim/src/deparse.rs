//! Checksums, and headers back to bytes.

use crate::bits::Writer;
use crate::execute::Run;
use crate::phv::Phv;
use crate::program::{Algorithm, Input, Word};

impl Run<'_> {
    /// The output of a computation.
    pub(crate) fn calculate(&self, calculation: usize, phv: &Phv) -> u64 {
        let calculation = &self.program.calculations[calculation];
        let mut writer = Writer::default();
        for input in &calculation.inputs {
            match input {
                Input::Field(field) if phv.valid[self.program.fields[*field].header] => {
                    self.put(*field, phv, &mut writer);
                }
                Input::Field(_) => {}
                Input::Constant(value, width) => writer.put(*value, *width),
                Input::Header(header) => self.put_header(*header, phv, &mut writer),
            }
        }
        if calculation.has_payload {
            writer.align();
            writer.put_bytes(self.payload);
        }
        let bytes = writer.bytes();
        match calculation.algorithm {
            Algorithm::InternetChecksum => u64::from(internet_checksum(&bytes)),
            Algorithm::Identity => bytes.iter().take(8).fold(0, |all, byte| all << 8 | u64::from(*byte)),
        }
    }

    /// Whether all checksums that the program verifies are right.
    pub(crate) fn verify(&self, phv: &Phv) -> bool {
        let program = self.program;
        program.checksums.iter().filter(|it| it.verifies).all(|checksum| {
            let is_valid = phv.valid[program.fields[checksum.target].header];
            let applies = |condition| self.context(&[]).is_true(phv, condition);
            !is_valid
                || !checksum.condition.as_ref().is_none_or(applies)
                || Word::from(self.calculate(checksum.calculation, phv)) == phv.values[checksum.target]
        })
    }

    /// Updates checksums, and writes the valid headers and the payload.
    pub(crate) fn deparse(&self, phv: &mut Phv) -> Vec<u8> {
        let program = self.program;
        for checksum in program.checksums.iter().filter(|it| it.updates) {
            let applies = |condition| self.context(&[]).is_true(phv, condition);
            if checksum.condition.as_ref().is_none_or(applies) {
                let value = self.calculate(checksum.calculation, phv);
                phv.set(program, checksum.target, Word::from(value));
            }
        }
        let mut writer = Writer::default();
        for header in &program.order {
            self.put_header(*header, phv, &mut writer);
        }
        writer.put_bytes(self.payload);
        writer.bytes()
    }

    fn put_header(&self, header: usize, phv: &Phv, writer: &mut Writer) {
        if phv.valid[header] {
            let form = &self.program.headers[header];
            for field in form.first..form.first + form.count {
                self.put(field, phv, writer);
            }
        }
    }

    fn put(&self, field: usize, phv: &Phv, writer: &mut Writer) {
        match self.program.fields[field].variable {
            Some(variable) => writer.put_bytes(&phv.variables[variable]),
            None => writer.put(phv.values[field], self.program.fields[field].width),
        }
    }
}

/// RFC 1071. A last odd byte is the high byte of a word.
fn internet_checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|it| match it {
        [high, low] => u64::from(u16::from_be_bytes([*high, *low])),
        [high] => u64::from(*high) << 8,
        _ => 0,
    });
    let mut sum: u64 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_rfc_1071() {
        assert_eq!(
            internet_checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]),
            !0xddf2
        );
        assert_eq!(internet_checksum(&[0x12]), !0x1200);
        assert_eq!(internet_checksum(&[]), 0xffff);
    }
}
