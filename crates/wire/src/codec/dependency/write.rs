//! Writing, the mirror of reading: every value in as few bits as the format allows.

use super::bits::{BitWriter, Full};
use super::{
    DESCRIPTOR_LEN_MAX, DependencyDescriptor, DependencyStructure, DependencyWriteError, FrameDiffs, FrameTemplate,
    Indications, MandatoryFields,
};

impl From<Full> for DependencyWriteError {
    fn from(Full: Full) -> Self {
        Self::BufferTooShort
    }
}

impl DependencyDescriptor {
    /// Writes the extension value to the front of `out` and returns its length. `current` is the
    /// structure in force at the receiver before this packet.
    ///
    /// A descriptor read from the shortest form of its values is written as the same bytes, any
    /// other as equal values. A buffer of [`DESCRIPTOR_LEN_MAX`] bytes holds whatever an extension
    /// can carry.
    ///
    /// Errors: [`DependencyWriteError`], with `out` then undefined.
    pub fn write(&self, current: Option<&DependencyStructure>, out: &mut [u8]) -> Result<usize, DependencyWriteError> {
        let cut = out.len().min(DESCRIPTOR_LEN_MAX);
        let (mandatory, extended) = out[..cut]
            .split_first_chunk_mut()
            .ok_or(DependencyWriteError::BufferTooShort)?;
        *mandatory = self.mandatory.to_bytes();
        let flags = self.flags();
        if !flags.contains(&true) {
            return Ok(MandatoryFields::LEN);
        }
        let mut writer = BitWriter::new(extended);
        for flag in flags {
            writer.flag(flag)?;
        }
        self.write_extended(&mut writer, current)?;
        Ok(MandatoryFields::LEN + writer.len())
    }

    /// The optional fields that are present, in order.
    fn flags(&self) -> [bool; 5] {
        [
            self.structure.is_some(),
            self.active_targets.is_some(),
            self.indications.is_some(),
            self.fdiffs.is_some(),
            self.chain_diffs.is_some(),
        ]
    }

    fn write_extended(
        &self,
        writer: &mut BitWriter<'_>,
        current: Option<&DependencyStructure>,
    ) -> Result<(), DependencyWriteError> {
        if let Some(structure) = &self.structure {
            write_structure(writer, structure)?;
        }
        let structure = self.structure_or(current).ok_or(DependencyWriteError::MissingStructure);
        if let Some(active) = self.active_targets {
            let targets = structure?.decode_targets();
            let known = active.intersection(super::DecodeTargets::first(targets));
            writer.bits(known.0, targets)?;
        }
        if let Some(indications) = self.indications {
            write_indications(writer, indications, structure?.decode_targets())?;
        }
        if let Some(fdiffs) = &self.fdiffs {
            write_frame_fdiffs(writer, fdiffs)?;
        }
        if let Some(chain_diffs) = &self.chain_diffs {
            // The list has the length that the structure requires.
            let diffs = chain_diffs.as_slice().iter().copied().chain(std::iter::repeat(0));
            for diff in diffs.take(structure?.chains()) {
                writer.bits(u32::from(diff), 8)?;
            }
        }
        Ok(())
    }
}

fn write_structure(writer: &mut BitWriter<'_>, structure: &DependencyStructure) -> Result<(), Full> {
    let targets = structure.decode_targets();
    writer.bits(u32::from(structure.template_id_offset), 6)?;
    writer.bits(targets as u32 - 1, 5)?;
    write_layers(writer, &structure.templates)?;
    for template in &structure.templates {
        write_indications(writer, template.indications, targets)?;
    }
    for template in &structure.templates {
        write_template_fdiffs(writer, &template.fdiffs)?;
    }
    write_chains(writer, structure)?;
    writer.flag(!structure.resolutions.is_empty())?;
    for resolution in &structure.resolutions {
        writer.bits(resolution.width - 1, 16)?;
        writer.bits(resolution.height - 1, 16)?;
    }
    Ok(())
}

fn write_layers(writer: &mut BitWriter<'_>, templates: &[FrameTemplate]) -> Result<(), Full> {
    for pair in templates.windows(2) {
        let (from, to) = (pair[0].layer, pair[1].layer);
        let idc = match to {
            _ if to == from => 0,
            _ if to.spatial == from.spatial => 1,
            _ => 2,
        };
        writer.bits(idc, 2)?;
    }
    writer.bits(3, 2)
}

fn write_indications(writer: &mut BitWriter<'_>, indications: Indications, targets: usize) -> Result<(), Full> {
    (0..targets).try_for_each(|target| writer.bits(indications.get(target).to_bits(), 2))
}

fn write_template_fdiffs(writer: &mut BitWriter<'_>, fdiffs: &FrameDiffs) -> Result<(), Full> {
    for &diff in fdiffs.as_slice() {
        writer.flag(true)?;
        writer.bits(u32::from(diff) - 1, 4)?;
    }
    writer.flag(false)
}

fn write_frame_fdiffs(writer: &mut BitWriter<'_>, fdiffs: &FrameDiffs) -> Result<(), Full> {
    for &diff in fdiffs.as_slice() {
        let value = u32::from(diff) - 1;
        let size = match value {
            0..16 => 1,
            16..256 => 2,
            _ => 3,
        };
        writer.bits(size, 2)?;
        writer.bits(value, 4 * size as usize)?;
    }
    writer.bits(0, 2)
}

fn write_chains(writer: &mut BitWriter<'_>, structure: &DependencyStructure) -> Result<(), Full> {
    let (targets, chains) = (structure.decode_targets(), structure.chains() as u32);
    writer.below(chains, targets as u32 + 1)?;
    if chains == 0 {
        return Ok(());
    }
    for &chain in &structure.protected_by[..targets] {
        writer.below(u32::from(chain), chains)?;
    }
    let mut diffs = structure.templates.iter().flat_map(|t| t.chain_diffs.as_slice());
    diffs.try_for_each(|&diff| writer.bits(u32::from(diff), 4))
}
