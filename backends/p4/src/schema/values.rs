//! Values in the protocol's shortest form: big-endian without leading zeros, at least one byte
//! (P4Runtime section 8.4).

use std::collections::BTreeSet;

use p4runtime::v1::{self, replica::PortKind};

use crate::entry::Value;

/// A value of so many bits; more significant bits are cut off.
pub(super) fn bytes(value: u128, width: u32) -> Vec<u8> {
    let value = if width < 128 { value & ((1 << width) - 1) } else { value };
    let bytes = value.to_be_bytes();
    let zeros = bytes.iter().take(15).take_while(|byte| **byte == 0).count();
    bytes[zeros..].to_vec()
}

/// A value of at most 128 bits.
pub(super) fn read(bytes: &[u8]) -> Option<u128> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let bytes = bytes.get(zeros..).filter(|bytes| bytes.len() <= 16)?;
    Some(bytes.iter().fold(0, |value, byte| value << 8 | u128::from(*byte)))
}

/// The copies of a group or session. Ports are in the form that all versions of the protocol have.
#[expect(deprecated, reason = "BMv2's server knows the older form of a port in any case")]
pub(super) fn copies(value: Option<&Value>) -> Vec<v1::Replica> {
    let Some(Value::Copies(copies)) = value else {
        return Vec::new();
    };
    let replicas = copies.iter().map(|(port, instance)| v1::Replica {
        instance: (*instance).into(),
        port_kind: Some(PortKind::EgressPort((*port).into())),
        ..Default::default()
    });
    replicas.collect()
}

/// The same as read.
#[expect(deprecated, reason = "a server may answer in the older form of a port")]
pub(super) fn read_copies(replicas: &[v1::Replica]) -> Value {
    let copy = |replica: &v1::Replica| {
        let port = match replica.port_kind.as_ref()? {
            PortKind::EgressPort(port) => u128::from(*port),
            PortKind::Port(port) => read(port)?,
        };
        Some((u16::try_from(port).ok()?, u16::try_from(replica.instance).ok()?))
    };
    let copies: Option<BTreeSet<(u16, u16)>> = replicas.iter().map(copy).collect();
    copies.map_or(Value::Foreign, Value::Copies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_no_leading_zeros() {
        assert_eq!(bytes(0, 16), [0]);
        assert_eq!(bytes(0x1_02, 16), [1, 2]);
        assert_eq!(bytes(0xabcd, 8), [0xcd]);
        assert_eq!(bytes(u128::MAX, 128), [0xff; 16]);
        for value in [0, 1, 255, 256, u128::MAX] {
            assert_eq!(read(&bytes(value, 128)), Some(value));
        }
        assert_eq!(read(&[0, 0, 7]), Some(7), "some servers keep the width");
        assert_eq!(read(&[1; 17]), None);
    }
}
