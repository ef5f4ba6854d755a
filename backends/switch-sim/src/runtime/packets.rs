//! Packets between the switch and its controller: metadata in front of the bytes.

use std::time::Duration;

use p4runtime::config::ControllerPacketMetadata;
use p4runtime::v1::{PacketIn, PacketMetadata, PacketOut};
use tonic::Code;

use super::Device;
use super::refusal::{Outcome, Refusal, invalid, refuse};
use super::values;
use crate::bits::{self, Writer};
use crate::switch::Output;

impl Device {
    /// The message for a packet that was sent to the controller's port.
    #[must_use]
    pub fn packet_in(&self, bytes: &[u8]) -> Option<PacketIn> {
        let metadata = self.pipeline.as_ref()?.packet_in.as_ref();
        let Some(form) = metadata else {
            return Some(PacketIn {
                payload: bytes.to_vec(),
                metadata: Vec::new(),
            });
        };
        let mut offset = 0;
        let mut metadata = Vec::with_capacity(form.metadata.len());
        for part in &form.metadata {
            let width = u32::try_from(part.bitwidth).ok()?;
            let value = values::write(bits::read(bytes, offset, width)?);
            metadata.push(PacketMetadata {
                metadata_id: part.id,
                value,
            });
            offset += width as usize;
        }
        let payload = bytes.get(offset.div_ceil(8)..)?.to_vec();
        Some(PacketIn { payload, metadata })
    }

    /// Processes a packet of the controller.
    pub fn packet_out(&mut self, now: Duration, packet: &PacketOut) -> Result<Vec<Output>, Refusal> {
        let pipeline = self.pipeline()?;
        let bytes = match &pipeline.packet_out {
            Some(form) => assemble(form, packet, self.options.is_lenient)?,
            None if packet.metadata.is_empty() => packet.payload.clone(),
            None => return invalid("the program has no header packet_out"),
        };
        Ok(self.packet(now, self.options.cpu_port, &bytes))
    }
}

fn assemble(form: &ControllerPacketMetadata, packet: &PacketOut, is_lenient: bool) -> Outcome<Vec<u8>> {
    let mut writer = Writer::default();
    for part in &form.metadata {
        let width = u32::try_from(part.bitwidth).unwrap_or(0);
        let mut given = packet.metadata.iter().filter(|it| it.metadata_id == part.id);
        let value = match (given.next(), given.next()) {
            (Some(given), None) => values::read(&given.value, width, is_lenient)?,
            (None, None) if is_lenient || part.annotations.iter().any(|it| it == "@padding") => 0,
            _ => return invalid(format!("the metadata {} is not there once", part.name)),
        };
        writer.put(value, width);
    }
    let is_known = |id: u32| form.metadata.iter().any(|it| it.id == id);
    if let Some(unknown) = packet.metadata.iter().find(|it| !is_known(it.metadata_id)) {
        return refuse(Code::InvalidArgument, format!("no metadata {}", unknown.metadata_id));
    }
    writer.align();
    writer.put_bytes(&packet.payload);
    Ok(writer.bytes())
}
