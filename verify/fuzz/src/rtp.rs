//! RTP packets.

use wire::{ExtensionWriter, Mid, RtpPacket, rtx};

use crate::assert_inside;

/// An RTP packet: its parts tile it, and writing them again gives a packet of the same meaning.
pub fn rtp(data: &[u8]) {
    let protected = RtpPacket::parse_protected(data);
    let Ok(packet) = RtpPacket::parse(data) else { return };
    assert_eq!(
        protected.expect("parsing less cannot find more wrong").header(),
        packet.header()
    );
    assert_eq!(
        packet.header_len() + packet.payload().len() + packet.padding_len(),
        data.len()
    );
    assert_inside(data, packet.payload());

    let elements: Vec<_> = packet.extensions().collect();
    for (id, value) in &elements {
        assert_ne!(*id, 0, "id 0 is padding");
        assert_inside(&data[..packet.header_len()], value);
        if let Some(mid) = Mid::from_bytes(value) {
            assert_eq!(mid.as_bytes(), *value);
        }
    }
    if let Some((original, payload)) = rtx::split(packet.payload()) {
        let mut osn = [0; rtx::OSN_LEN];
        rtx::write_osn(&mut osn, original);
        assert_eq!([&osn[..], payload].concat(), packet.payload());
    }
    written_again_is_the_same(&packet, &elements);
}

fn written_again_is_the_same(packet: &RtpPacket<'_>, elements: &[(u8, &[u8])]) {
    let extensions = ExtensionWriter::new(elements).expect("elements that were read can be written");
    let header = packet.header();
    let mut bytes = vec![0xff; header.encoded_len(&extensions)];
    header
        .write(&extensions, &mut bytes)
        .expect("the buffer has the length asked for");
    bytes.extend(&packet.as_bytes()[packet.header_len()..]);

    let again = RtpPacket::parse(&bytes).expect("a written packet can be read");
    assert_eq!(again.header(), header);
    assert_eq!(again.extensions().collect::<Vec<_>>(), elements);
    assert_eq!(
        (again.payload(), again.padding_len()),
        (packet.payload(), packet.padding_len())
    );
}
