//! Vectors that say what the switch does otherwise, with what it does instead.

/// The behaviour of the switch in a vector.
enum Instead {
    /// The vector holds with other words in some places, each of which is there once.
    Words(&'static [(&'static str, &'static str)]),
    /// It fails, and the failure has these words.
    Fails(&'static str),
}

/// A vector, why the switch does otherwise, and what it does.
struct Otherwise {
    file: &'static str,
    why: &'static str,
    instead: Instead,
}

const JUMP: &str = "a replica that leaves the switch goes on 512 numbers and pictures later";
const BEFORE: &str = "the switch counts a packet from before its start, and the base a late one or a duplicate";
const UNKNOWN: &str = "the switch does not know the number of a packet from before padding that it closed up";

const OTHERWISE: &[Otherwise] = &[
    Otherwise {
        file: "feedback-with-keys.vector",
        why: "an entry that has no effect is refused by switch and base",
        instead: Instead::Words(&[
            ("\nfeedback dave ", "\nrefuse unsupported feedback dave "),
            ("\nfeedback bob ", "\nrefuse unsupported feedback bob "),
        ]),
    },
    Otherwise {
        file: "feedback-of-a-shared-path.vector",
        why: "feedback is forwarded by addresses alone, so none is where legs share them",
        instead: Instead::Fails("refused as Unsupported"),
    },
    Otherwise {
        file: "duplicate.vector",
        why: BEFORE,
        instead: Instead::Words(&[("forwarded 1, duplicate 1", "forwarded 1, duplicate 1, before_switch 1")]),
    },
    Otherwise {
        file: "too-late.vector",
        why: BEFORE,
        instead: Instead::Words(&[("forwarded 3, too_late 1", "forwarded 3, too_late 1, before_switch 1")]),
    },
    Otherwise {
        file: "reorder-on-the-edge.vector",
        why: "the switch has no record of numbers, and sends a packet far behind under its number",
        instead: Instead::Words(&[
            ("seq 103 opus\nexpect  nothing", "seq 103 opus\nexpect  bob rtp seq 3"),
            ("forwarded 5, padding_only 1,", "forwarded 6, padding_only 1,"),
        ]),
    },
    Otherwise {
        file: "late-behind-padding.vector",
        why: UNKNOWN,
        instead: Instead::Words(&[
            ("expect  bob rtp seq 101\n", "expect  nothing\n"),
            (
                "forwarded 3, padding_only 1",
                "forwarded 2, too_late 1, padding_only 1, not_selected 1",
            ),
        ]),
    },
    Otherwise {
        file: "switch-behind-late-packet.vector",
        why: UNKNOWN,
        instead: Instead::Words(&[
            ("expect  bob rtp seq 101 vp8 delta id15 2 tl0 2", "expect  nothing"),
            ("seq 102 vp8 key id15 3 tl0 3", "seq 613 vp8 key id15 2 tl0 2"),
            (
                "forwarded 3, padding_only 1",
                "forwarded 2, too_late 1, padding_only 1, not_selected 1",
            ),
        ]),
    },
    Otherwise {
        file: "padding-stripped.vector",
        why: "padding behind a payload stays",
        instead: Instead::Words(&[
            ("padding 0 size 18", "padding 100 size 118"),
            ("vp8 rest padding 0", "vp8 rest padding 1"),
        ]),
    },
    Otherwise {
        file: "switch-behind-loss.vector",
        why: JUMP,
        instead: Instead::Words(&[
            ("bob rtp seq 104", "bob rtp seq 616"),
            ("bob rtp seq 105", "bob rtp seq 617"),
        ]),
    },
    Otherwise {
        file: "layers-descriptor-first.vector",
        why: "a replica begins on the switch with a key frame, and goes on 512 numbers later when it leaves",
        instead: Instead::Words(&[
            ("bob rtp seq 101 vp8 delta", "bob rtp seq 613 vp8 delta"),
            ("outside_target 1, awaiting_key_frame 1", "awaiting_key_frame 2"),
        ]),
    },
    Otherwise {
        file: "vp8-picture-ids-15.vector",
        why: JUMP,
        instead: Instead::Words(&[
            ("seq 102 vp8 key id15 0 ", "seq 614 vp8 key id15 512 "),
            ("seq 104 vp8 delta id15 2 ", "seq 616 vp8 delta id15 514 "),
            ("seq 103 vp8 delta id15 1 ", "seq 615 vp8 delta id15 513 "),
        ]),
    },
    Otherwise {
        file: "vp8-picture-ids-7.vector",
        why: JUMP,
        instead: Instead::Words(&[
            ("seq 102 vp8 key id7 1\n", "seq 614 vp8 key id7 1\n"),
            ("seq 103 vp8 delta id7 27", "seq 615 vp8 delta id7 27"),
            ("seq 104 vp8 key id15 28", "seq 616 vp8 key id15 540"),
        ]),
    },
    Otherwise {
        file: "release-at-key-frame.vector",
        why: JUMP,
        instead: Instead::Fails("seq is 613, not 101"),
    },
];

fn find(file: &str) -> Option<&'static Otherwise> {
    OTHERWISE.iter().find(|it| it.file == file)
}

/// The text of a vector with what the switch does instead.
///
/// Panics if the words are not there once each: the list is to be changed with the vector.
pub(crate) fn with_words(file: &str, text: String) -> String {
    let Some(Otherwise {
        why,
        instead: Instead::Words(words),
        ..
    }) = find(file)
    else {
        return text;
    };
    words.iter().fold(text, |text, (vector, switch)| {
        assert_eq!(text.matches(vector).count(), 1, "{file}: {vector:?}, of: {why}");
        text.replace(vector, switch)
    })
}

/// The result of a vector that may be listed as failing: it fails as the list says, or not at all.
///
/// Errors: another failure, or none where there is to be one.
pub(crate) fn judged(file: &str, result: Result<(), String>) -> Result<(), String> {
    let listed = find(file).and_then(|it| match it.instead {
        Instead::Fails(words) => Some((it.why, words)),
        Instead::Words(_) => None,
    });
    match (listed, result) {
        (Some((why, _)), Ok(())) => Err(format!("{file} is kept, in spite of this: {why}\n")),
        (Some((_, words)), Err(failure)) if failure.contains(words) => Ok(()),
        (_, result) => result,
    }
}
