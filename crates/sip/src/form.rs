//! How values are written that have no form of their own.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use wire::sdp::{Direction, IceCredentials};

/// Bytes that are mostly text, each written as a character, so that text stays readable and no byte
/// is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        bytes::serialize(&self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        bytes::deserialize(deserializer).map(Bytes)
    }
}

/// The same for a field of bytes.
pub(crate) mod bytes {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
        serializer.serialize_str(&text)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = text.chars().map(u8::try_from).collect::<Result<_, _>>();
        bytes.map_err(|_| de::Error::custom("a character that is no byte"))
    }
}

/// By the attribute's name.
pub(crate) mod direction {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(direction: &Direction, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(direction.name())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Direction, D::Error> {
        let name = String::deserialize(deserializer)?;
        let all = [
            Direction::SendRecv,
            Direction::SendOnly,
            Direction::RecvOnly,
            Direction::Inactive,
        ];
        let found = all.into_iter().find(|direction| direction.name() == name);
        found.ok_or_else(|| de::Error::custom("no direction"))
    }
}

/// A user fragment and a password.
pub(crate) mod credentials {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(ice: &Option<IceCredentials>, serializer: S) -> Result<S::Ok, S::Error> {
        let pair = ice.as_ref().map(|ice| [&ice.ufrag, &ice.password]);
        pair.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<IceCredentials>, D::Error> {
        let pair: Option<[String; 2]> = Option::deserialize(deserializer)?;
        Ok(pair.map(|[ufrag, password]| IceCredentials { ufrag, password }))
    }
}
