//! The state of a replica, in words.

use dataplane::ReplicaSnapshot;

use super::entry;
use super::names::Names;
use super::words::{Problem, Words, problem};

/// `from STREAM newest N next N`, `key-frame` if it awaits one, and if they are not 0 `ts N id N`,
/// `tl0 N`, `layer S0T1`, `last TS ID TL0`, `frame N`, `frame-offset N`, `sent TS` or `left-out
/// TS`. For a replica that begins with a key frame, `from nowhere`.
pub(super) fn snapshot(words: &mut Words<'_>, names: &mut Names) -> Result<ReplicaSnapshot, Problem> {
    if !words.eat("from") {
        return problem("a replica goes on `from` a stream");
    }
    let mut from = ReplicaSnapshot {
        source: match words.eat("nowhere") {
            true => None,
            false => Some(names.stream(words.word("a stream")?)?),
        },
        ..ReplicaSnapshot::default()
    };
    while let Some(word) = words.next() {
        match word {
            "newest" => from.newest = words.number("a source number")?,
            "key-frame" => from.awaits_key_frame = true,
            "next" => from.next = words.number("a number")?,
            "ts" => from.timestamp_offset = words.number("the offset of timestamps")?,
            "id" => from.picture_offset = words.number("the offset of picture ids")?,
            "tl0" => from.tl0_offset = words.number("the offset of TL0PICIDX")?,
            "layer" => from.layer = entry::layer(words.word("a layer")?)?,
            "last" => {
                from.last = (
                    words.number("a timestamp")?,
                    words.number("a picture id")?,
                    words.number("a TL0PICIDX")?,
                );
            }
            "frame" => from.frame = Some(words.number("a frame's number")?),
            "frame-offset" => from.frame_offset = words.number("the offset of frame numbers")?,
            "sent" => from.decided = Some((words.number("a timestamp")?, true)),
            "left-out" => from.decided = Some((words.number("a timestamp")?, false)),
            other => return problem(format!("`{other}` is nothing of a continuation")),
        }
    }
    Ok(from)
}

/// The same in words again.
pub(super) fn print(from: &ReplicaSnapshot, names: &Names) -> String {
    let (timestamp, picture, tl0) = from.last;
    let decided = match from.decided {
        None => String::new(),
        Some((timestamp, true)) => format!(" sent {timestamp}"),
        Some((timestamp, false)) => format!(" left-out {timestamp}"),
    };
    let frame = from.frame.map_or(String::new(), |frame| format!(" frame {frame}"));
    let frame_offset = match from.frame_offset {
        0 => String::new(),
        offset => format!(" frame-offset {offset}"),
    };
    format!(
        "from {} newest {} next {}{} ts {} id {} tl0 {} layer S{}T{} last {timestamp} {picture} {tl0}\
         {frame}{frame_offset}{decided}",
        from.source
            .map_or("nowhere".to_owned(), |source| names.of_stream(source)),
        from.newest,
        from.next,
        if from.awaits_key_frame { " key-frame" } else { "" },
        from.timestamp_offset,
        from.picture_offset,
        from.tl0_offset,
        from.layer.spatial,
        from.layer.temporal,
    )
}
