//! The interpreter of `switch-sim` as a switch of [`SwitchDevice`](super::SwitchDevice).

use std::collections::VecDeque;
use std::time::Instant;

use backend_p4::Switch;
use p4runtime::v1;
use p4runtime::v1::set_forwarding_pipeline_config_request::Action;
use switch_sim::{Device, Options, Output};
use tonic::Status;

use super::switch::Ports;

/// The interpreter, with a clock that stands still between calls.
pub struct Interpreter {
    device: Device,
    start: Instant,
    now: Instant,
    packet_ins: VecDeque<v1::PacketIn>,
}

impl Interpreter {
    /// A switch without a program, whose clock begins at `start`.
    pub fn new(start: Instant) -> Self {
        Interpreter {
            device: Device::new(Options::default()),
            start,
            now: start,
            packet_ins: VecDeque::new(),
        }
    }

    /// Keeps the packets for the controller, and returns the others.
    fn sort(&mut self, outputs: Vec<Output>) -> Vec<(u16, Vec<u8>)> {
        let cpu = self.device.options().cpu_port;
        let mut frames = Vec::new();
        for output in outputs {
            match output.port == cpu {
                true => self.packet_ins.extend(self.device.packet_in(&output.bytes)),
                false => frames.push((output.port, output.bytes)),
            }
        }
        frames
    }
}

impl Switch for Interpreter {
    fn install(&mut self, config: v1::ForwardingPipelineConfig) {
        let request = v1::SetForwardingPipelineConfigRequest {
            device_id: self.device.options().device_id,
            action: Action::VerifyAndCommit.into(),
            config: Some(config),
            ..Default::default()
        };
        let installed = self.device.set_pipeline(&request);
        installed.unwrap_or_else(|refusal| panic!("the program is refused: {refusal}"));
    }

    fn write(&mut self, updates: Vec<v1::Update>) -> Vec<Result<(), Status>> {
        let request = v1::WriteRequest {
            device_id: self.device.options().device_id,
            updates,
            ..Default::default()
        };
        let outcomes = self
            .device
            .write(&request)
            .unwrap_or_else(|refusal| panic!("{refusal}"));
        let status = |refusal: switch_sim::Refusal| Status::new(refusal.code, refusal.message);
        outcomes.into_iter().map(|outcome| outcome.map_err(status)).collect()
    }

    fn read(&mut self, entities: Vec<v1::Entity>) -> Vec<v1::Entity> {
        let request = v1::ReadRequest {
            device_id: self.device.options().device_id,
            entities,
            ..Default::default()
        };
        self.device.read(&request).unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    fn packet_out(&mut self, packet: v1::PacketOut) {
        let now = self.now.saturating_duration_since(self.start);
        let outputs = self.device.packet_out(now, &packet);
        let outputs = outputs.unwrap_or_else(|refusal| panic!("{refusal}"));
        assert_eq!(self.sort(outputs), [], "leases are sent, and nothing else");
    }

    fn next_packet_in(&mut self) -> Option<v1::PacketIn> {
        self.packet_ins.pop_front()
    }
}

impl Ports for Interpreter {
    fn name(&self) -> String {
        "the interpreted switch".into()
    }

    fn frame(&mut self, now: Instant, port: u16, bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
        let outputs = self
            .device
            .packet(now.saturating_duration_since(self.start), port, bytes);
        self.sort(outputs)
    }

    fn at(&mut self, now: Instant) {
        self.now = now;
    }

    fn stamps_virtual_time(&self) -> bool {
        true
    }
}
