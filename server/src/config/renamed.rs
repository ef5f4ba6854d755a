//! Settings that had another name in an earlier release. The old name still works, with a warning.

use serde_json::Value;

/// Keys: the path of the old one, and its name and the new one's.
const KEYS: [(&str, &str, &str); 1] = [("/rtc/precedence", "rtc.precedence", "rtc.realtime_workers")];

/// Values: the path of the key and its name, the old value and the new one.
const VALUES: [(&str, &str, &str, &str); 2] = [
    ("/rtc/ebpf/rooms", "rtc.ebpf.rooms", "seen", "copy_and_pass"),
    ("/rtc/ebpf/rooms", "rtc.ebpf.rooms", "unseen", "copy"),
];

/// A warning for each old name in a file.
pub(super) fn warnings(written: &Value) -> Vec<String> {
    let keys = KEYS.iter().filter(|(path, ..)| written.pointer(path).is_some());
    let keys = keys.map(|(_, old, new)| format!("{old} is called {new} now"));
    let has = |path: &str, word: &str| written.pointer(path).and_then(Value::as_str) == Some(word);
    let values = VALUES.iter().filter(|(path, _, old, _)| has(path, old));
    let values = values.map(|(_, key, old, new)| format!("the value {old} of {key} is called {new} now"));
    keys.chain(values).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::media::RtcFile;
    use crate::dataplane::ebpf::Rooms;

    #[test]
    fn old_names_still_work_with_a_warning() {
        let read = |text: &str| {
            let rtc: RtcFile = serde_saphyr::from_str(text).unwrap();
            let written = serde_json::json!({"rtc": serde_saphyr::from_str::<Value>(text).unwrap()});
            (rtc.realtime_workers, rtc.ebpf.rooms, warnings(&written))
        };
        for (old, new, rooms) in [
            ("seen", "copy_and_pass", Rooms::CopyAndPass),
            ("unseen", "copy", Rooms::Copy),
        ] {
            let (realtime, read_rooms, said) = read(&format!("precedence: false\nebpf: {{rooms: {old}}}\n"));
            assert_eq!((realtime, read_rooms), (Some(false), rooms));
            let [key, value] = &said[..] else { panic!("{said:?}") };
            assert!(key.contains("precedence") && key.contains("realtime_workers"), "{key}");
            assert!(value.contains(old) && value.contains(new), "{value}");
            let after = read(&format!("realtime_workers: false\nebpf: {{rooms: {new}}}\n"));
            assert_eq!(after, (Some(false), rooms, Vec::new()));
        }
    }
}
