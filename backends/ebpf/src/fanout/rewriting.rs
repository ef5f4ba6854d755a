//! The rewriters in C, compared with those in Rust: any loss, order, repetition, key frames out of
//! turn and changes of cadence, run by the kernel.
//!
//! Those in Rust mask no loss (`crates/rewriting/tests/promises.rs`). A rewriter with the same
//! answers masks none either, and this is tested again here.

#[allow(dead_code, reason = "the rewriters' own tests ask more of it")]
#[path = "../../../../crates/rewriting/tests/stream/mod.rs"]
mod stream;

use std::collections::BTreeMap;

use aya::programs::{SchedClassifier, TestRunOptions};
use aya::{Ebpf, TestRun, include_bytes_aligned};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use rewriting::{Cadence, FramePacket, LowMemory, LowRetransmission, Rewriter};
use stream::{Arrival, Stream};

use crate::layout::fanout_rewriting::{ASK_CADENCE, ASK_NUMBER, ASK_START, QUESTIONS, Question};

static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/fanout_rewriting.bpf.o"));

const CASES: u32 = 2_000;
const SEQUENCE: u16 = 65_000;
const ETHERNET: usize = 14;

/// The questions for both rewriters, with the answers of the one in Rust.
fn ask_rust<R: Rewriter>(stream: &mut Stream, arrivals: &[Arrival]) -> Vec<(Question, u64, Option<u16>)> {
    let first = stream.first();
    let mut rewriter = R::start(&first, SEQUENCE, stream.cadence());
    let start = Question {
        sequence: SEQUENCE,
        ..question(&first, ASK_START, stream.cadence())
    };
    let mut asked = vec![(start, 0, None)];
    for arrival in arrivals {
        if let Some((cadence, from)) = stream.change(arrival) {
            rewriter.change_cadence(cadence, from);
            let change = Question {
                frame: from,
                ..question(&first, ASK_CADENCE, cadence)
            };
            asked.push((change, 0, None));
        }
        let packet = stream.arrive(arrival);
        let number = rewriter.rewrite(&packet);
        // Rewriters are not asked about packets that the replica does not get.
        if packet.forwarded {
            asked.push((question(&packet, ASK_NUMBER, stream.cadence()), packet.number, number));
        }
    }
    asked
}

fn question(packet: &FramePacket, kind: u32, cadence: Cadence) -> Question {
    Question {
        number: packet.number as u16,
        frame: packet.frame,
        sequence: 0,
        kind: kind as u8,
        period: cadence.period() as u8,
        starts_frame: packet.start_of_frame.into(),
        ends_frame: packet.end_of_frame.into(),
        key_frame: packet.key_frame.into(),
        sent: 0,
    }
}

/// The kernel's answers to the questions that have one.
fn ask_kernel(program: &SchedClassifier, which: u32, questions: &[Question]) -> Vec<Option<u16>> {
    let mut answers = Vec::new();
    for some in questions.chunks(QUESTIONS as usize) {
        let mut frame = vec![0; ETHERNET];
        frame.extend(some.iter().flat_map(bytes));
        let mut out = vec![0; frame.len()];
        let mut context = [0; 44];
        context[8..12].copy_from_slice(&which.to_ne_bytes());
        let mut options = TestRunOptions::new();
        options.data_in = Some(&frame);
        options.data_out = Some(&mut out);
        options.ctx_in = Some(&context);
        program.test_run(options).expect("the kernel runs it");
        let (questions, _) = out[ETHERNET..].as_chunks::<{ size_of::<Question>() }>();
        let asked = questions.iter().filter(|question| u32::from(question[6]) == ASK_NUMBER);
        answers.extend(asked.map(|question| {
            let sequence = u16::from_ne_bytes([question[4], question[5]]);
            (question[11] == 1).then_some(sequence)
        }));
    }
    answers
}

fn bytes(question: &Question) -> [u8; size_of::<Question>()] {
    let [n0, n1] = question.number.to_ne_bytes();
    let [f0, f1] = question.frame.to_ne_bytes();
    let [s0, s1] = question.sequence.to_ne_bytes();
    [
        n0,
        n1,
        f0,
        f1,
        s0,
        s1,
        question.kind,
        question.period,
        question.starts_frame,
        question.ends_frame,
        question.key_frame,
        question.sent,
    ]
}

/// Two packets closer together than what the replica needs between them.
fn masked(stream: &Stream, sent: &BTreeMap<u64, u64>) -> Option<(u64, u64)> {
    let mut pairs = sent.iter().zip(sent.iter().skip(1));
    let too_close = |((older, from), (newer, to)): &((&u64, &u64), (&u64, &u64))| {
        **to as i64 - **from as i64 <= stream.needed_between(**older, **newer) as i64
    };
    pairs.find(too_close).map(|((older, _), (newer, _))| (*older, *newer))
}

#[test]
fn the_kernel_numbers_as_the_rewriters_do_and_masks_no_loss() {
    let loaded = Ebpf::load(OBJECT).map_err(|error| skip::skipped("nothing was tested", error));
    let Ok(mut loaded) = loaded else { return };
    let program: &mut SchedClassifier = loaded.program_mut("answer_questions").unwrap().try_into().unwrap();
    program.load().expect("the verifier agrees");
    println!(
        "{} instructions verified",
        program.info().unwrap().verified_instruction_count().unwrap_or(0)
    );
    let program = &*program;
    let mut runner = TestRunner::new(ProptestConfig {
        cases: CASES,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let result = runner.run(&stream::any(), |(stream, arrivals)| {
        for (which, ask) in [
            (
                0,
                ask_rust::<LowMemory> as fn(&mut Stream, &[Arrival]) -> Vec<(Question, u64, Option<u16>)>,
            ),
            (1, ask_rust::<LowRetransmission>),
        ] {
            let mut stream = stream.clone();
            let asked = ask(&mut stream, &arrivals);
            let questions: Vec<Question> = asked.iter().map(|(question, ..)| *question).collect();
            let answers = ask_kernel(program, which, &questions);
            let numbered = asked
                .iter()
                .filter(|(question, ..)| u32::from(question.kind) == ASK_NUMBER);
            let expected: Vec<Option<u16>> = numbered.clone().map(|(_, _, answer)| *answer).collect();
            prop_assert_eq!(&answers, &expected, "rewriter {}", which);
            let sent = numbered
                .zip(&answers)
                .filter_map(|((_, number, _), answer)| Some((*number, u64::from((*answer)?.wrapping_sub(SEQUENCE)))));
            prop_assert_eq!(masked(&stream, &sent.collect()), None, "rewriter {}", which);
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}
