use std::cell::Cell;

use super::*;

fn key(table: Table, fields: &[u128]) -> Key {
    Key::Entry(table, fields.to_vec())
}

fn data(values: &[u128]) -> Value {
    Value::Data(values.to_vec())
}

fn sender(ssrc: u128, group: u128) -> (Key, Value) {
    (
        key(Table::Sender, &[1, 2, 3, 4, ssrc]),
        data(&[ssrc, group, 0, 0, 0, 1]),
    )
}

fn copies(rids: &[u16]) -> Value {
    Value::Copies(rids.iter().map(|rid| (2, *rid)).collect())
}

/// A later time at each call, by the time that groups rest.
fn later() -> Instant {
    thread_local!(static NOW: Cell<Instant> = Cell::new(Instant::now()));
    NOW.set(NOW.get() + GROUP_REST);
    NOW.get()
}

/// The next batch in words, which is then done.
fn step(writer: &mut TableWriter) -> Vec<(Op, Key)> {
    step_with(writer, |_| Ok(())).0
}

fn step_with(
    writer: &mut TableWriter,
    answer: impl Fn(&Write) -> Result<(), Refusal>,
) -> (Vec<(Op, Key)>, Vec<Settled>) {
    let (now, mut settled) = (later(), Vec::new());
    let batch = writer.next_batch(now, &mut settled).to_vec();
    assert!(batch.len() <= BATCH_MAX);
    assert!(
        writer.next_batch(now, &mut settled).is_empty(),
        "one is on its way, or there is nothing to do"
    );
    let outcomes: Vec<_> = batch.iter().map(answer).collect();
    if !batch.is_empty() {
        writer.answered(&outcomes, &mut settled);
    }
    (batch.into_iter().map(|write| (write.op, write.key)).collect(), settled)
}

fn steps(writer: &mut TableWriter) -> Vec<Vec<(Op, Key)>> {
    let mut batches = Vec::new();
    // Groups rest while nothing else is written.
    loop {
        let batch = step(writer);
        let batch = if batch.is_empty() { step(writer) } else { batch };
        if batch.is_empty() {
            return batches;
        }
        batches.push(batch);
    }
}

#[test]
fn a_changed_group_is_made_before_the_old_one_is_broken() {
    let mut writer = TableWriter::default();
    let (from, value) = sender(7, 1);
    writer.want(from.clone(), value);
    writer.want(Key::Group(1), copies(&[1, 2]));
    let first = steps(&mut writer);
    assert_eq!(
        first,
        [vec![(Op::Insert, Key::Group(1))], vec![(Op::Insert, from.clone())]]
    );

    writer.unwant(&Key::Group(1));
    writer.want(from.clone(), sender(7, 2).1);
    writer.want(Key::Group(2), copies(&[1, 2, 3]));
    let expected = [
        vec![(Op::Insert, Key::Group(2))],
        vec![(Op::Modify, from)],
        vec![(Op::Delete, Key::Group(1))],
    ];
    assert_eq!(steps(&mut writer), expected);
}

#[test]
fn a_group_rests_before_it_is_deleted() {
    let (mut writer, mut settled) = (TableWriter::default(), Vec::new());
    let (from, value) = sender(7, 1);
    writer.want(from.clone(), value);
    writer.want(Key::Group(1), copies(&[1, 2]));
    steps(&mut writer);
    writer.unwant(&Key::Group(1));
    writer.unwant(&from);
    let now = later();
    assert_eq!(writer.next_batch(now, &mut settled).len(), 1);
    writer.answered(&[Ok(())], &mut settled);
    assert!(writer.next_batch(now, &mut settled).is_empty());
    assert!(writer.next_batch(now + GROUP_REST / 2, &mut settled).is_empty());
    // It begins to rest again when it is wanted meanwhile.
    writer.want(Key::Group(1), copies(&[1, 2]));
    writer.unwant(&Key::Group(1));
    assert!(writer.next_batch(now + GROUP_REST, &mut settled).is_empty());
    let batch = writer.next_batch(now + 2 * GROUP_REST, &mut settled);
    assert_eq!((batch.len(), &batch[0].key), (1, &Key::Group(1)));
}

#[test]
fn an_entry_without_its_group_is_not_written() {
    let mut writer = TableWriter::default();
    let (from, value) = sender(7, 1);
    writer.want(from.clone(), value);
    writer.want(Key::Group(1), copies(&[1, 2]));
    let (_, settled) = step_with(&mut writer, |_| Err(Refusal::Full));
    assert_eq!(settled, [(Key::Group(1), Err(Failed::Full))]);
    let (batch, settled) = step_with(&mut writer, |_| Ok(()));
    assert_eq!((batch, settled), (vec![], vec![(from.clone(), Err(Failed::Full))]));

    // Once it is wanted otherwise, it is tried again.
    writer.want(Key::Group(1), copies(&[1]));
    writer.want(from, sender(7, 1).1);
    assert_eq!(steps(&mut writer).len(), 2);
}

#[test]
fn a_group_stays_while_a_sender_that_was_not_changed_uses_it() {
    let mut writer = TableWriter::default();
    let (from, value) = sender(7, 1);
    writer.want(from.clone(), value);
    writer.want(Key::Group(1), copies(&[1, 2]));
    steps(&mut writer);
    writer.want(from.clone(), sender(7, 2).1);
    writer.want(Key::Group(2), copies(&[1, 3]));
    writer.unwant(&Key::Group(1));
    step(&mut writer);
    let (_, settled) = step_with(&mut writer, |_| Err(Refusal::Other));
    assert_eq!(settled, [(from.clone(), Err(Failed::Refused))]);
    assert_eq!(step(&mut writer), [], "its old value is there");
    writer.unwant(&from);
    assert_eq!(steps(&mut writer).concat().len(), 2);
}

#[test]
fn replicas_are_written_last_and_deleted_first() {
    let mut writer = TableWriter::default();
    let all = [
        key(Table::Replica, &[1, 1]),
        key(Table::TemplateLayer, &[1, 2]),
        Key::Group(1),
        key(Table::Receiver, &[1]),
        key(Table::Service, &[1, 2]),
    ];
    for key in &all {
        writer.want(key.clone(), data(&[]));
    }
    let written: Vec<Key> = steps(&mut writer).concat().into_iter().map(|(_, key)| key).collect();
    assert!(written.iter().eq(all.iter().rev()), "{written:?}");
    for key in &all {
        writer.unwant(key);
    }
    let deleted: Vec<Key> = steps(&mut writer).concat().into_iter().map(|(_, key)| key).collect();
    let [replica, layer, group, receiver, service] = all.clone();
    // A group rests first.
    assert_eq!(deleted, [replica, layer, receiver, group, service]);
    assert!(all.iter().all(|key| writer.is_absent(key)));
}

#[test]
fn refusals_that_tell_the_state_are_followed() {
    let mut writer = TableWriter::default();
    let receiver = key(Table::Receiver, &[1]);
    writer.want(receiver.clone(), data(&[5]));
    step_with(&mut writer, |_| Err(Refusal::Exists));
    assert_eq!(step(&mut writer), [(Op::Modify, receiver.clone())]);
    assert!(writer.is_written(&receiver));

    writer.want(receiver.clone(), data(&[6]));
    step_with(&mut writer, |_| Err(Refusal::Absent));
    assert_eq!(step(&mut writer), [(Op::Insert, receiver.clone())]);

    writer.unwant(&receiver);
    step_with(&mut writer, |_| Err(Refusal::Absent));
    assert!(writer.is_absent(&receiver) && writer.is_settled());

    // A switch that contradicts itself is not asked for ever.
    writer.want(receiver.clone(), data(&[5]));
    let contradicts = |write: &Write| match write.op {
        Op::Insert => Err(Refusal::Exists),
        Op::Modify | Op::Delete => Err(Refusal::Absent),
    };
    let mut answers = Vec::new();
    for _ in 0..10 {
        answers.extend(step_with(&mut writer, contradicts).1);
    }
    assert_eq!(answers, [(receiver, Err(Failed::Refused))]);
    assert!(writer.is_settled());
}

#[test]
fn a_value_that_changes_while_it_is_on_its_way_is_written_again() {
    let (mut writer, mut settled) = (TableWriter::default(), Vec::new());
    let receiver = key(Table::Receiver, &[1]);
    writer.want(receiver.clone(), data(&[5]));
    writer.next_batch(later(), &mut settled);
    writer.want(receiver.clone(), data(&[6]));
    writer.answered(&[Ok(())], &mut settled);
    assert_eq!(settled, [], "it has not the wanted value");
    assert_eq!(step(&mut writer), [(Op::Modify, receiver.clone())]);
    writer.unwant(&receiver);
    writer.next_batch(later(), &mut settled);
    writer.want(receiver.clone(), data(&[6]));
    writer.answered(&[Ok(())], &mut settled);
    assert_eq!(step(&mut writer), [(Op::Insert, receiver)]);
}

#[test]
fn a_batch_has_at_most_a_hundred_updates_of_one_rank() {
    let mut writer = TableWriter::default();
    for place in 0..250 {
        writer.want(key(Table::Receiver, &[place]), data(&[1]));
    }
    writer.want(key(Table::Replica, &[1, 1]), data(&[1]));
    let sizes: Vec<usize> = steps(&mut writer).iter().map(Vec::len).collect();
    assert_eq!(sizes, [100, 100, 50, 1]);
}

#[test]
fn foreign_entries_become_the_desired_ones() {
    let (mut writer, mut settled) = (TableWriter::default(), Vec::new());
    let all: Vec<Key> = (0..4).map(|place| key(Table::Receiver, &[place])).collect();
    for key in &all[..3] {
        writer.want(key.clone(), data(&[1]));
    }
    writer.next_batch(later(), &mut settled);
    writer.lost();
    assert!(!writer.is_absent(&all[0]), "it may have been written");
    let found = [(0, 1), (1, 2), (3, 1)].map(|(place, value)| (all[place].clone(), data(&[value])));
    assert_eq!(writer.found(found.into()), 1, "the fourth is somebody else's");
    let expected = [
        vec![(Op::Modify, all[1].clone()), (Op::Insert, all[2].clone())],
        vec![(Op::Delete, all[3].clone())],
    ];
    assert_eq!(steps(&mut writer), expected);
    assert_eq!(writer.found(BTreeMap::new()), 0);
    assert_eq!(
        steps(&mut writer).concat().len(),
        3,
        "a switch that has lost all gets all"
    );
}
