//! Reading, in the order of the specification's syntax tables.
//!
//! Each loop takes bits or is bounded by a constant, so the work is linear in the value's length.

use std::sync::Arc;

use super::bits::BitReader;
use super::{
    CHAINS_MAX, ChainDiffs, DECODE_TARGETS_MAX, DecodeTargets, DependencyDescriptor, DependencyError,
    DependencyStructure, FrameDiffs, FrameTemplate, Indication, Indications, Layer, MandatoryFields, Resolution,
    TEMPLATES_MAX,
};

use DependencyError::{
    MissingStructure, TooManyLayers, TooManyReferences, TooManyTemplates, Truncated, UnknownTemplate,
};

pub(super) fn descriptor(
    value: &[u8],
    current: Option<&DependencyStructure>,
) -> Result<DependencyDescriptor, DependencyError> {
    let mandatory = MandatoryFields::parse(value)?;
    let mut descriptor = DependencyDescriptor::plain(mandatory);
    let extended = &value[MandatoryFields::LEN..];
    match extended.is_empty() {
        true => check_template(current, mandatory)?,
        false => read_extended(&mut descriptor, &mut BitReader::new(extended), current)?,
    }
    Ok(descriptor)
}

/// Errors unless the structure, where there is one, has the packet's template.
fn check_template(structure: Option<&DependencyStructure>, fields: MandatoryFields) -> Result<(), DependencyError> {
    match structure {
        Some(structure) if structure.template(fields.template_id).is_none() => Err(UnknownTemplate),
        _ => Ok(()),
    }
}

fn read_extended(
    descriptor: &mut DependencyDescriptor,
    reader: &mut BitReader<'_>,
    current: Option<&DependencyStructure>,
) -> Result<(), DependencyError> {
    let mut flag = || reader.flag().ok_or(Truncated);
    let [has_structure, has_active, has_indications, has_fdiffs, has_chains] =
        [flag()?, flag()?, flag()?, flag()?, flag()?];
    if has_structure {
        descriptor.structure = Some(Arc::new(read_structure(reader)?));
    }
    let structure = descriptor.structure.as_deref().or(current);
    // The counts of another structure would make the following fields meaningless.
    check_template(structure, descriptor.mandatory)?;
    let targets = || {
        structure
            .map(DependencyStructure::decode_targets)
            .ok_or(MissingStructure)
    };
    if has_active {
        descriptor.active_targets = Some(DecodeTargets(reader.bits(targets()?).ok_or(Truncated)?));
    }
    if has_indications {
        descriptor.indications = Some(read_indications(reader, targets()?)?);
    }
    if has_fdiffs {
        descriptor.fdiffs = Some(read_frame_fdiffs(reader)?);
    }
    if has_chains {
        let chains = structure.ok_or(MissingStructure)?.chains();
        descriptor.chain_diffs = Some(read_chain_diffs(reader, chains, 8)?);
    }
    Ok(())
}

fn read_structure(reader: &mut BitReader<'_>) -> Result<DependencyStructure, DependencyError> {
    let template_id_offset = reader.bits(6).ok_or(Truncated)? as u8;
    let targets = reader.bits(5).ok_or(Truncated)? as usize + 1;
    let mut templates = read_layers(reader)?;
    for template in &mut templates {
        template.indications = read_indications(reader, targets)?;
    }
    for template in &mut templates {
        template.fdiffs = read_template_fdiffs(reader)?;
    }
    let chains = reader.below(targets as u32 + 1).ok_or(Truncated)?;
    let mut protected_by = [0; DECODE_TARGETS_MAX];
    if chains > 0 {
        for chain in &mut protected_by[..targets] {
            *chain = reader.below(chains).ok_or(Truncated)? as u8;
        }
        for template in &mut templates {
            template.chain_diffs = read_chain_diffs(reader, chains as usize, 4)?;
        }
    }
    let resolutions = read_resolutions(reader, &templates)?;
    Ok(DependencyStructure::assemble(
        template_id_offset,
        targets,
        templates,
        protected_by,
        resolutions,
    ))
}

/// One template for each layer listed, with only the layer filled in.
fn read_layers(reader: &mut BitReader<'_>) -> Result<Vec<FrameTemplate>, DependencyError> {
    let mut templates = Vec::with_capacity(TEMPLATES_MAX / 2);
    let mut layer = Layer::default();
    loop {
        if templates.len() == TEMPLATES_MAX {
            return Err(TooManyTemplates);
        }
        templates.push(FrameTemplate {
            layer,
            ..FrameTemplate::default()
        });
        match reader.bits(2).ok_or(Truncated)? {
            3 => return Ok(templates),
            idc => layer = layer.next(idc),
        }
        if !layer.is_supported() {
            return Err(TooManyLayers);
        }
    }
}

fn read_indications(reader: &mut BitReader<'_>, targets: usize) -> Result<Indications, DependencyError> {
    let mut indication = || reader.bits(2).map(Indication::from_bits).ok_or(Truncated);
    (0..targets).map(|_| indication()).collect()
}

fn read_template_fdiffs(reader: &mut BitReader<'_>) -> Result<FrameDiffs, DependencyError> {
    let mut fdiffs = FrameDiffs::NONE;
    while reader.flag().ok_or(Truncated)? {
        let diff = reader.bits(4).ok_or(Truncated)? + 1;
        fdiffs.push(diff as u16).ok_or(TooManyReferences)?;
    }
    Ok(fdiffs)
}

fn read_frame_fdiffs(reader: &mut BitReader<'_>) -> Result<FrameDiffs, DependencyError> {
    let mut fdiffs = FrameDiffs::NONE;
    loop {
        let size = reader.bits(2).ok_or(Truncated)?;
        if size == 0 {
            return Ok(fdiffs);
        }
        let diff = reader.bits(4 * size as usize).ok_or(Truncated)? + 1;
        fdiffs.push(diff as u16).ok_or(TooManyReferences)?;
    }
}

fn read_chain_diffs(reader: &mut BitReader<'_>, chains: usize, width: usize) -> Result<ChainDiffs, DependencyError> {
    debug_assert!(chains <= CHAINS_MAX && width <= 8);
    ChainDiffs::read(chains, || reader.bits(width).map(|diff| diff as u8)).ok_or(Truncated)
}

fn read_resolutions(
    reader: &mut BitReader<'_>,
    templates: &[FrameTemplate],
) -> Result<Vec<Resolution>, DependencyError> {
    if !reader.flag().ok_or(Truncated)? {
        return Ok(Vec::new());
    }
    // Layers only rise from template to template.
    let spatial_layers = templates.last().map_or(0, |template| template.layer.spatial + 1);
    let mut side = || Some(reader.bits(16)? + 1);
    let mut resolution = || {
        Some(Resolution {
            width: side()?,
            height: side()?,
        })
    };
    (0..spatial_layers).map(|_| resolution().ok_or(Truncated)).collect()
}
