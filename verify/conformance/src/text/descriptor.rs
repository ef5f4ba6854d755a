//! Dependency descriptors in text.
//!
//! `dd 5 frame 13 template 6 start end`: extension 5 with three bytes. `with L3T3_KEY` puts the
//! structure into it, `under L3T3_KEY` says which one is in force where fields of other lengths are
//! written: `active 0x007`, `is S-S`, `refs 1,3`, `chains 1,0,2`.

use wire::codec::dependency::{
    ChainDiffs, DESCRIPTOR_LEN_MAX, DecodeTargets, DependencyDescriptor, FrameDiffs, Indication, MandatoryFields,
};

use super::structures::structure;
use super::words::{Number, Problem, Words, number, problem};
use crate::rtp::Element;

/// Reads the words after `dd`, up to the first unknown one.
pub(super) fn element(words: &mut Words<'_>) -> Result<Element, Problem> {
    let id = words.number("an extension id")?;
    let mut in_force = None;
    let mut descriptor = DependencyDescriptor::plain(MandatoryFields {
        start_of_frame: false,
        end_of_frame: false,
        template_id: 0,
        frame_number: 0,
    });
    loop {
        let mandatory = &mut descriptor.mandatory;
        match words.peek() {
            Some("start") => mandatory.start_of_frame = true,
            Some("end") => mandatory.end_of_frame = true,
            Some("frame" | "template" | "with" | "under" | "active" | "is" | "refs" | "chains") => {
                let word = words.word("a word")?;
                let value = words.word("its value")?;
                match word {
                    "frame" => mandatory.frame_number = number(value, "a frame number")?,
                    "template" => mandatory.template_id = number(value, "a template id")?,
                    "with" => descriptor.structure = Some(structure(value)?),
                    "under" => in_force = Some(structure(value)?),
                    "active" => descriptor.active_targets = Some(DecodeTargets(number(value, "a set of targets")?)),
                    "is" => descriptor.indications = Some(value.chars().map(indication).collect::<Result<_, _>>()?),
                    "refs" => descriptor.fdiffs = Some(frame_diffs(value)?),
                    _ => descriptor.chain_diffs = Some(chain_diffs(value)?),
                }
                continue;
            }
            _ => break,
        }
        words.next();
    }
    let mut room = [0; DESCRIPTOR_LEN_MAX];
    let written = descriptor.write(in_force.as_deref(), &mut room);
    let len = written.map_err(|error| Problem(error.to_string()))?;
    Ok((id, Some(room[..len].to_vec())))
}

fn indication(symbol: char) -> Result<Indication, Problem> {
    match symbol {
        '-' => Ok(Indication::NotPresent),
        'D' => Ok(Indication::Discardable),
        'S' => Ok(Indication::Switch),
        'R' => Ok(Indication::Required),
        other => problem(format!("`{other}` is not -, D, S or R")),
    }
}

fn frame_diffs(list: &str) -> Result<FrameDiffs, Problem> {
    let out_of_range = || Problem(format!("`{list}` are not differences of frame numbers"));
    FrameDiffs::new(&numbers(list)?).ok_or_else(out_of_range)
}

fn chain_diffs(list: &str) -> Result<ChainDiffs, Problem> {
    ChainDiffs::new(&numbers(list)?).ok_or_else(|| Problem(format!("`{list}` are too many chains")))
}

fn numbers<T: Number>(list: &str) -> Result<Vec<T>, Problem> {
    match list {
        "none" => Ok(Vec::new()),
        list => list.split(',').map(|text| number(text, "a difference")).collect(),
    }
}
