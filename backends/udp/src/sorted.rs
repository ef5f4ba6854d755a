//! Sorted lists of keys and values, for few entries.

/// Adds to a sorted list, or replaces the value.
pub(crate) fn insert_sorted<K: Ord + Copy, V>(list: &mut Vec<(K, V)>, key: K, value: V) {
    match list.binary_search_by_key(&key, |entry| entry.0) {
        Ok(found) => list[found].1 = value,
        Err(slot) => list.insert(slot, (key, value)),
    }
}

/// Removes from a sorted list.
pub(crate) fn remove_sorted<K: Ord + Copy, V>(list: &mut Vec<(K, V)>, key: K) {
    if let Ok(found) = list.binary_search_by_key(&key, |entry| entry.0) {
        list.remove(found);
    }
}
