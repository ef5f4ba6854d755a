//! Our compiled programs are interpreted, and agree with their descriptions.

use p4runtime::v1::ForwardingPipelineConfig;
use p4runtime::v1::SetForwardingPipelineConfigRequest;
use p4runtime::v1::set_forwarding_pipeline_config_request::Action;
use switch_sim::{Device, Options};

/// The compiled programs.
const PROGRAMS: [&str; 3] = ["multicast", "recirculation", "tree"];

#[test]
fn all_modes_are_loaded() {
    for mode in PROGRAMS {
        let folder = format!("{}/../p4/program/compiled", env!("CARGO_MANIFEST_DIR"));
        let json = std::fs::read(format!("{folder}/{mode}.json")).unwrap();
        let text = std::fs::read_to_string(format!("{folder}/{mode}.p4info.txtpb")).unwrap();
        let config = ForwardingPipelineConfig {
            p4info: Some(p4runtime::p4info(&text).unwrap()),
            p4_device_config: json,
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
            panic!("{mode}: {refusal}");
        }
    }
}
