//! Our compiled programs are interpreted, and agree with their descriptions and their sources.

use std::fmt::Write;
use std::path::Path;

use p4runtime::v1::ForwardingPipelineConfig;
use p4runtime::v1::SetForwardingPipelineConfigRequest;
use p4runtime::v1::set_forwarding_pipeline_config_request::Action;
use sha2::{Digest, Sha256};
use switch_sim::{Device, Options, PROGRAMS};

#[test]
fn all_modes_are_loaded() {
    for program in PROGRAMS {
        let config = ForwardingPipelineConfig {
            p4info: Some(p4runtime::p4info(program.p4info).unwrap()),
            p4_device_config: program.json.into(),
            cookie: None,
        };
        let mut device = Device::new(Options::default());
        let request = SetForwardingPipelineConfigRequest {
            device_id: 1,
            action: Action::VerifyAndCommit as i32,
            config: Some(config),
            ..Default::default()
        };
        if let Err(refusal) = device.set_pipeline(&request) {
            panic!("{}: {refusal}", program.name);
        }
    }
}

#[test]
fn compiled_programs_and_vectors_are_those_of_the_sources() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../p4/program");
    for (outcome, command) in [("compiled", "backends/p4/compile"), ("testgen", "backends/p4/generate")] {
        let Ok(sums) = std::fs::read_to_string(folder.join(outcome).join("source.sha256")) else {
            assert_eq!(outcome, "testgen", "there are no compiled programs: run {command}");
            continue;
        };
        let mut listed = 0;
        for line in sums.lines() {
            let (sum, name) = line.split_once("  ").unwrap();
            let source = std::fs::read(folder.join(name)).unwrap();
            let mut hex = String::new();
            for byte in Sha256::digest(&source) {
                write!(hex, "{byte:02x}").unwrap();
            }
            assert_eq!(hex, sum, "{name} is newer than {outcome}: run {command}");
            listed += usize::from(name.ends_with(".p4"));
        }
        let sources = std::fs::read_dir(&folder).unwrap();
        let is_source = |it: &std::fs::DirEntry| it.path().extension().is_some_and(|it| it == "p4");
        let sources = sources.map(Result::unwrap).filter(is_source).count();
        assert_eq!(listed, sources, "{outcome} lacks a source: run {command}");
    }
}
