//! The switch's counters, as last read.

use std::collections::HashMap;
use std::time::Instant;

/// One cell of a counter of the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Cell {
    /// Packets of a relay.
    Relayed(u16),
    /// Packets of a replica.
    Sent(u32),
    /// A verdict, by its name in the program.
    Verdict(&'static str),
}

/// The count of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// Packets,
    pub packets: u64,
    /// and their bytes, as the switch counts them.
    pub bytes: u64,
    /// When it was last found to have counted something.
    pub last: Option<Instant>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Row {
    /// As it was read last.
    raw: (u64, u64),
    /// Since it was begun, whether the switch restarted meanwhile or not.
    total: Count,
}

/// All cells that are read.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    rows: HashMap<Cell, Row>,
    /// The number of readings that have been asked for, and of the newest one that was answered.
    begun: u64,
    done: u64,
    /// Packets of all relays so far.
    relayed: u64,
}

impl Cells {
    /// Counts a cell from zero.
    pub(crate) fn start(&mut self, cell: Cell) {
        self.rows.entry(cell).or_default().total = Count::default();
    }

    /// The count of a cell since it was started.
    pub(crate) fn get(&self, cell: Cell) -> Count {
        self.rows.get(&cell).map_or(Count::default(), |row| row.total)
    }

    /// How many packets all relays have had so far, including those that are gone.
    pub(crate) fn relayed(&self) -> u64 {
        self.relayed
    }

    /// A reading is asked for.
    pub(crate) fn begin_reading(&mut self) {
        self.begun += 1;
    }

    /// The number of the newest reading that was asked for.
    pub(crate) fn begun(&self) -> u64 {
        self.begun
    }

    /// Whether a reading that was asked for after that one is answered.
    pub(crate) fn is_read_after(&self, begun: u64) -> bool {
        self.done > begun
    }

    /// The answer to the newest reading. A cell that counts less than before was reset with the
    /// switch.
    pub(crate) fn read(&mut self, now: Instant, cells: impl IntoIterator<Item = (Cell, u64, u64)>) {
        for (cell, packets, bytes) in cells {
            let row = self.rows.entry(cell).or_default();
            let (before, bytes_before) = if packets < row.raw.0 { (0, 0) } else { row.raw };
            if packets > before {
                if matches!(cell, Cell::Relayed(_)) {
                    self.relayed += packets - before;
                }
                row.total.packets += packets - before;
                row.total.bytes += bytes.saturating_sub(bytes_before);
                row.total.last = Some(now);
            }
            row.raw = (packets, bytes);
        }
        self.done = self.begun;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_go_on_over_a_restart_of_the_switch() {
        let (now, cell) = (Instant::now(), Cell::Sent(4));
        let mut cells = Cells::default();
        cells.read(now, [(cell, 10, 1_000)]);
        cells.start(cell);
        assert_eq!(cells.get(cell), Count::default());
        cells.read(now, [(cell, 15, 1_500)]);
        cells.read(now, [(cell, 2, 200)]);
        let count = cells.get(cell);
        assert_eq!((count.packets, count.bytes), (7, 700));
    }
}
