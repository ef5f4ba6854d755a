//! Any values, and any bytes.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;

fn layers() -> impl Strategy<Value = Vec<Layer>> {
    prop::collection::vec(0u32..3, 0..TEMPLATES_MAX).prop_map(|steps| {
        let mut layers = vec![Layer::default()];
        for idc in steps {
            let layer = layers.last().unwrap().next(idc);
            layers.push(if layer.is_supported() {
                layer
            } else {
                *layers.last().unwrap()
            });
        }
        layers.truncate(TEMPLATES_MAX);
        layers
    })
}

fn some_indications(targets: usize) -> impl Strategy<Value = Indications> {
    prop::collection::vec((0u32..4).prop_map(Indication::from_bits), targets).prop_map(|all| all.into_iter().collect())
}

fn fdiffs(value_max: u16, count_max: usize) -> impl Strategy<Value = FrameDiffs> {
    prop::collection::vec(1..=value_max, 0..=count_max).prop_map(|diffs| FrameDiffs::new(&diffs).unwrap())
}

fn chain_diffs(value_max: u8, chains: usize) -> impl Strategy<Value = ChainDiffs> {
    prop::collection::vec(0..=value_max, chains).prop_map(|diffs| ChainDiffs::new(&diffs).unwrap())
}

fn some_template(layer: Layer, targets: usize, chains: usize) -> impl Strategy<Value = FrameTemplate> {
    (some_indications(targets), fdiffs(16, 3), chain_diffs(15, chains)).prop_map(
        move |(indications, fdiffs, chain_diffs)| FrameTemplate {
            layer,
            indications,
            fdiffs,
            chain_diffs,
        },
    )
}

fn structures() -> impl Strategy<Value = DependencyStructure> {
    let counts = (1..=DECODE_TARGETS_MAX).prop_flat_map(|targets| (Just(targets), 0..=targets));
    (0u8..64, counts, layers(), any::<bool>()).prop_flat_map(|(offset, (targets, chains), layers, has_sizes)| {
        let sizes = if has_sizes {
            usize::from(layers.last().unwrap().spatial) + 1
        } else {
            0
        };
        let templates: Vec<_> = layers
            .into_iter()
            .map(|layer| some_template(layer, targets, chains))
            .collect();
        let protected = if chains == 0 { 0 } else { targets };
        let protected_by = prop::collection::vec(0..chains.max(1) as u8, protected);
        let size = (1u32..=65_536, 1u32..=65_536).prop_map(|(width, height)| Resolution { width, height });
        (templates, protected_by, prop::collection::vec(size, sizes)).prop_map(
            move |(templates, protected_by, sizes)| {
                DependencyStructure::new(offset, targets, templates, &protected_by, sizes).unwrap()
            },
        )
    })
}

/// A structure, and a descriptor of one of its frames without it.
fn descriptors() -> impl Strategy<Value = (DependencyStructure, DependencyDescriptor)> {
    structures().prop_flat_map(|structure| {
        let (targets, chains, templates) = (
            structure.decode_targets(),
            structure.chains(),
            structure.templates().len(),
        );
        let mandatory = (any::<bool>(), any::<bool>(), 0..templates, any::<u16>());
        let active = any::<u32>().prop_map(move |bits| DecodeTargets(bits).intersection(DecodeTargets::first(targets)));
        let customs = (
            prop::option::of(active),
            prop::option::of(some_indications(targets)),
            prop::option::of(fdiffs(FrameDiffs::VALUE_MAX, REFERENCES_MAX)),
            prop::option::of(chain_diffs(255, chains)),
        );
        (Just(structure), mandatory, customs).prop_map(|(structure, (start, end, index, number), customs)| {
            let (active_targets, indications, fdiffs, chain_diffs) = customs;
            let mandatory = MandatoryFields {
                start_of_frame: start,
                end_of_frame: end,
                template_id: (structure.template_id_offset() + index as u8) % 64,
                frame_number: number,
            };
            let descriptor = DependencyDescriptor {
                mandatory,
                structure: None,
                active_targets,
                indications,
                fdiffs,
                chain_diffs,
            };
            (structure, descriptor)
        })
    })
}

/// As `written`, for structures larger than an extension can carry too; `None` for those.
fn written_if_it_fits(descriptor: &DependencyDescriptor, current: Option<&DependencyStructure>) -> Option<Vec<u8>> {
    let mut out = [0xff; DESCRIPTOR_LEN_MAX];
    match descriptor.write(current, &mut out) {
        Ok(len) => Some(out[..len].to_vec()),
        Err(error) => {
            assert_eq!(error, DependencyWriteError::BufferTooShort);
            None
        }
    }
}

proptest! {
    #[test]
    fn descriptors_are_read_as_they_were_written((structure, descriptor) in descriptors()) {
        let value = written(&descriptor, Some(&structure));
        let read = DependencyDescriptor::parse(&value, Some(&structure)).unwrap();
        prop_assert_eq!(&read, &descriptor);
        let frame = read.resolve(Some(&structure)).unwrap();
        prop_assert_eq!(frame.number(), descriptor.mandatory.frame_number);
        prop_assert_eq!(frame.chain_diffs().len(), structure.chains());
    }

    #[test]
    fn structures_are_read_as_they_were_written((structure, mut descriptor) in descriptors()) {
        descriptor.structure = Some(Arc::new(structure));
        if let Some(value) = written_if_it_fits(&descriptor, None) {
            prop_assert_eq!(DependencyDescriptor::parse(&value, None).unwrap(), descriptor);
        }
    }

    #[test]
    fn indications_and_the_sets_of_their_targets_agree(all in some_indications(DECODE_TARGETS_MAX)) {
        for target in 0..DECODE_TARGETS_MAX {
            let indication = all.get(target);
            prop_assert_eq!(all.targets().contains(target), indication.is_present());
            let is_needed = matches!(indication, Indication::Switch | Indication::Required);
            prop_assert_eq!(all.needed_by().contains(target), is_needed);
        }
    }

    #[test]
    fn any_bytes_are_a_value_or_an_error(
        bytes in prop::collection::vec(any::<u8>(), 0..256),
        (structure, _) in descriptors(),
    ) {
        for current in [None, Some(&structure)] {
            let Ok(descriptor) = DependencyDescriptor::parse(&bytes, current) else { continue };
            let again = written(&descriptor, current);
            prop_assert!(again.len() <= bytes.len());
            prop_assert_eq!(DependencyDescriptor::parse(&again, current).unwrap(), descriptor);
        }
    }
}
