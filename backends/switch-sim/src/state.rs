//! Everything that outlives a packet: entries, registers, counters.

use crate::entries::Entries;
use crate::program::{Program, Word};
use crate::statistics::Count;

/// The state of a loaded program.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) tables: Vec<Entries>,
    pub(crate) registers: Vec<Vec<Word>>,
    pub(crate) counters: Vec<Vec<Count>>,
}

impl State {
    pub(crate) fn new(program: &Program) -> Self {
        Self {
            tables: program.tables.iter().map(Entries::new).collect(),
            registers: program.registers.iter().map(|it| vec![0; it.size]).collect(),
            counters: program
                .counters
                .iter()
                .map(|it| vec![Count::default(); it.size])
                .collect(),
        }
    }
}
