//! Codec descriptors, the part of payloads that an SFU reads.

use wire::codec::dependency::{
    DESCRIPTOR_LEN_MAX, DependencyDescriptor, DependencyStructure, DependencyWriteError, MandatoryFields,
};
use wire::codec::vp8::Vp8Descriptor;
use wire::codec::vp9::Vp9Descriptor;
use wire::codec::{Codec, is_key_frame_start};

/// The VP8 descriptor: it ends inside its payload, and rewriting it changes only the two named
/// fields.
pub fn vp8(data: &[u8]) {
    let is_start = is_key_frame_start(Codec::Vp8, data);
    let Ok(before) = Vp8Descriptor::parse(data) else {
        assert!(!is_start);
        return;
    };
    assert!((1..=data.len()).contains(&before.len));
    assert!(!is_start || before.is_frame_start());

    let (mut payload, mut after) = (data.to_vec(), before);
    after.rewrite_picture_id(&mut payload, 0x5555);
    after.rewrite_tl0_pic_idx(&mut payload, 0xaa);
    assert_eq!(Vp8Descriptor::parse(&payload), Ok(after));
    assert_eq!(payload[before.len..], data[before.len..]);

    if let Some(id) = before.picture_id {
        after.rewrite_picture_id(&mut payload, id.value());
    }
    if let Some(index) = before.tl0_pic_idx {
        after.rewrite_tl0_pic_idx(&mut payload, index);
    }
    assert_eq!(payload, data, "writing the old values back undoes everything");
}

/// The VP9 descriptor: it ends inside its payload, and only a readable one starts a key frame.
pub fn vp9(data: &[u8]) {
    let is_start = is_key_frame_start(Codec::Vp9, data);
    match Vp9Descriptor::parse(data) {
        Ok(descriptor) => {
            assert!((1..=data.len()).contains(&descriptor.len));
            assert_eq!(is_start, descriptor.is_key_frame_start());
        }
        Err(_) => assert!(!is_start),
    }
}

/// H.264 units: once a start is found, more bytes after it do not hide it.
pub fn h264(data: &[u8]) {
    a_start_stays_one(Codec::H264, data);
}

/// H.265 units: once a start is found, more bytes after it do not hide it.
pub fn h265(data: &[u8]) {
    a_start_stays_one(Codec::H265, data);
}

/// The AV1 aggregation header: once a start is found, more bytes after it do not hide it.
pub fn av1(data: &[u8]) {
    a_start_stays_one(Codec::Av1, data);
}

/// Two dependency descriptors of one stream, the first with its length in front of it: the second
/// is read with the structure of the first, and each is written as values that are read the same.
pub fn dependency(data: &[u8]) {
    let Some((&len, rest)) = data.split_first() else { return };
    let (first, second) = rest.split_at(rest.len().min(usize::from(len)));
    let structure = one_dependency(first, None).and_then(|descriptor| descriptor.structure);
    one_dependency(second, structure.as_deref());
}

fn one_dependency(value: &[u8], current: Option<&DependencyStructure>) -> Option<DependencyDescriptor> {
    let descriptor = DependencyDescriptor::parse(value, current).ok()?;
    assert_eq!(MandatoryFields::parse(value), Ok(descriptor.mandatory));
    if let Ok(frame) = descriptor.resolve(current) {
        let chains = frame.structure().chains();
        assert_eq!(frame.chain_diffs().len(), chains);
        assert!((0..chains).all(|chain| frame.previous_in_chain(chain) != Some(frame.number())));
        assert!(frame.referred().all(|number| number != frame.number()));
        assert!(
            frame
                .structure()
                .target_of(frame.layer())
                .is_none_or(|target| target < 32)
        );
    }
    let mut out = [0; DESCRIPTOR_LEN_MAX];
    match descriptor.write(current, &mut out) {
        Ok(written) => {
            assert!(written <= value.len(), "the shortest form is no longer");
            let again = DependencyDescriptor::parse(&out[..written], current);
            assert_eq!(again.as_ref(), Ok(&descriptor));
        }
        Err(error) => {
            assert_eq!(error, DependencyWriteError::BufferTooShort);
            assert!(value.len() > DESCRIPTOR_LEN_MAX, "a descriptor that fitted still fits");
        }
    }
    Some(descriptor)
}

fn a_start_stays_one(codec: Codec, data: &[u8]) {
    assert!(!is_key_frame_start(codec, &[]));
    if is_key_frame_start(codec, data) {
        assert!(is_key_frame_start(codec, &[data, &[0; 3]].concat()));
    }
}
