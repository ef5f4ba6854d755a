//! Counters that a controller sets.

use p4runtime::v1::update::Type;
use p4runtime::v1::{CounterData, CounterEntry, DirectCounterEntry};
use tonic::Code;

use super::Device;
use super::refusal::{Outcome, invalid, refuse};
use crate::statistics::Count;

impl Device {
    pub(super) fn write_counter(&mut self, kind: Type, entry: &CounterEntry) -> Outcome<()> {
        let pipeline = self.pipeline_mut()?;
        let Some(counter) = pipeline.counters.get(&entry.counter_id) else {
            return invalid(format!("there is no counter {:#010x}", entry.counter_id));
        };
        let cells = &mut pipeline.switch.state.counters[*counter];
        let Some(index) = &entry.index else {
            return refuse(Code::Unimplemented, "a write to all cells of a counter");
        };
        let cell = usize::try_from(index.index).ok().and_then(|it| cells.get_mut(it));
        let Some(cell) = cell else {
            return invalid(format!("the counter has no cell {}", index.index));
        };
        *cell = value(kind, entry.data.as_ref())?;
        Ok(())
    }

    pub(super) fn write_direct_counter(&mut self, kind: Type, entry: &DirectCounterEntry) -> Outcome<()> {
        let Some(of) = &entry.table_entry else {
            return invalid("a counter without an entry");
        };
        let table = self.pipeline()?.table(of.table_id)?;
        if !table.has_counter {
            return invalid(format!("{} has no counters", table.name));
        }
        let (key, priority) = self.key(of, table)?;
        let index = table.index;
        let tables = &mut self.pipeline_mut()?.switch.state.tables;
        let Some(held) = tables[index].get_mut(&key, priority) else {
            return refuse(Code::NotFound, "there is no entry with this key");
        };
        held.count = value(kind, entry.data.as_ref())?;
        Ok(())
    }
}

fn value(kind: Type, data: Option<&CounterData>) -> Outcome<Count> {
    match (kind, data) {
        (Type::Modify, Some(data)) => Ok(count(data)),
        _ => invalid("a counter can only be modified"),
    }
}

/// A counter of a message.
pub(super) fn count(data: &CounterData) -> Count {
    Count {
        packets: u64::try_from(data.packet_count).unwrap_or(0),
        bytes: u64::try_from(data.byte_count).unwrap_or(0),
    }
}

/// A counter in a message.
pub(super) fn data(count: Count) -> CounterData {
    CounterData {
        packet_count: i64::try_from(count.packets).unwrap_or(i64::MAX),
        byte_count: i64::try_from(count.bytes).unwrap_or(i64::MAX),
    }
}
