//! `weir plan` as an operator runs it.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

fn weir_plan(words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.arg("plan").args(words.split_whitespace());
    command.output().expect("the program starts")
}

fn printed(words: &str) -> String {
    let output = weir_plan(words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn refused(words: &str) -> String {
    let output = weir_plan(words);
    assert!(!output.status.success(), "{words} is refused");
    String::from_utf8(output.stderr).expect("text")
}

/// A file of this test process.
fn file(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("weir-plan-{}-{name}", std::process::id()));
    fs::write(&path, text).expect("the folder is there");
    path
}

#[test]
fn a_question_is_answered_for_every_device() {
    let table = printed("--rooms 500 --participants 8 --senders 2 --quality 720p");
    for line in [
        "tofino2               0        -  encryption",
        "weir-udp          1,058        1  agent",
        "weir-udp: measured on 1 to 2 cores; 32 are extrapolated by their contention of 1.7 %",
    ] {
        assert!(table.contains(line), "{line} in\n{table}");
    }
    let clear = printed("--rooms 500 --participants 8 --senders 2 --quality 720p --clear --device tofino2");
    assert!(clear.contains("128,000        1  trees"), "{clear}");
    // 3,276 meetings of ten, by the numbers of receivers.
    let program = printed("--participants 10 --quality 1080p --clear --no-audio --device weir-p4");
    assert!(program.contains("3,276        1  receivers"), "{program}");
}

#[test]
fn a_device_file_of_ones_own_is_planned_on() {
    let device = file("mine.yaml", &printed("--show weir-udp"));
    let words = format!(
        "--mix campus --device {} --cores 4 --bandwidth 10G --memory 8G --csv -",
        device.display()
    );
    let rows = printed(&words);
    assert!(rows.starts_with("device,wanted,meetings,binding"), "{rows}");
    assert!(rows.contains(",bandwidth,bit/s sent,10000000000,"), "{rows}");
    let json: serde_json::Value = serde_json::from_str(&printed(&words.replace("--csv", "--json"))).expect("JSON");
    assert_eq!(json[0]["wanted"], 1_000);
    let plot = file("plot.svg", "");
    printed(&format!("--mix webinars --plot {}", plot.display()));
    let drawn = fs::read_to_string(&plot).expect("it is written");
    assert!(drawn.starts_with("<svg") && drawn.contains("weir-ebpf"));
    for path in [device, plot] {
        fs::remove_file(path).expect("it is there");
    }
}

#[test]
fn bad_input_is_refused_with_its_place_and_the_cure() {
    let mix = file("bad.csv", "count,participants,senders,quality\n5,8,9,720p\n");
    let reason = refused(&format!("--mix {}", mix.display()));
    assert!(
        reason.contains("bad.csv, line 2: `senders` is 9: from 1 to the 8 participants may send"),
        "{reason}"
    );
    fs::remove_file(mix).expect("it is there");
    for (words, reason) in [
        ("--mix /nowhere", "`weir plan --list` has the names"),
        ("--device nowhere", "`weir plan --list` has the names"),
        ("--show nothing", "`weir plan --list` has all names"),
        ("--participants 5000", "a meeting has 2 to 1000"),
        ("--cores 0", "`cores` has to be from 1 to 100000"),
        ("--bandwidth fast", "such as 25G"),
        ("--adaptation some", "none, receivers or pairs"),
        ("--mix campus --rooms 5", "cannot be used with"),
    ] {
        let found = refused(words);
        assert!(found.contains(reason), "{words}: {found}");
    }
}

#[test]
fn a_cluster_is_planned_as_its_page_shows() {
    let page = include_str!("../../docs/operate/cluster.md");
    let mut sheets = page
        .split("```")
        .filter(|block| block.starts_with("console\n$ weir plan"));
    let mut shown = 0;
    for sheet in &mut sheets {
        let (asked, answer) = sheet
            .trim_start_matches("console\n$ weir plan")
            .split_once('\n')
            .expect("an answer follows");
        assert_eq!(printed(asked), answer, "weir plan{asked}");
        shown += 1;
    }
    assert_eq!(shown, 2, "sheets of the page");
}

#[test]
fn a_cluster_that_cannot_be_planned_is_refused_with_the_reason() {
    for (words, reason) in [
        ("--viewers 10", "--cluster"),
        ("--cluster --viewers 0", "`viewers` is 0: it has to be from 1 to"),
        ("--cluster --viewers 10 --rooms 2", "cannot be used with"),
        ("--cluster --device tofino2", "tofino2 is no server"),
        ("--cluster --device weir-p4", "weir-p4 is no server"),
        ("--cluster --device weir-udp --device weir-ebpf", "name one --device"),
        ("--cluster --device mediasoup", "whose costs in `srtp` are known"),
        ("--cluster --encodings 1500", "such as 1500:50"),
        ("--cluster --encodings 1500:50,500:40", "add up to 90 %"),
        ("--cluster --viewers 10 --regions 20", "raise --fan-out"),
        (
            "--cluster --viewers 10 --bandwidth 1G --fan-out 1000",
            "a lower --fan-out",
        ),
        ("--cluster --participants 5000", "`participants` is 5000"),
        (
            "--cluster --participants 1000 --cores 1",
            "too small for a room of 1000",
        ),
    ] {
        let found = refused(words);
        assert!(found.contains(reason), "{words}: {found}");
    }
}
