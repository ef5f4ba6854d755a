//! The text format of Protocol Buffers, in which a compiler writes the description of a program.

use std::fmt;

use prost_reflect::{DescriptorPool, DynamicMessage};

use crate::config::P4Info;

/// The descriptors of all messages.
const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

/// The reason why a text is not the description of a program, with its place in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextError(String);

impl fmt::Display for TextError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "not a p4info in text form: {}", self.0)
    }
}

impl std::error::Error for TextError {}

/// Reads the description of a program (`p4info.txtpb`).
pub fn p4info(text: &str) -> Result<P4Info, TextError> {
    let error = |error: &dyn fmt::Display| TextError(error.to_string());
    let pool = DescriptorPool::decode(DESCRIPTORS).map_err(|it| error(&it))?;
    let kind = pool
        .get_message_by_name("p4.config.v1.P4Info")
        .ok_or_else(|| error(&"the descriptors lack P4Info"))?;
    let message = DynamicMessage::parse_text_format(kind, text).map_err(|it| error(&it))?;
    message.transcode_to().map_err(|it| error(&it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_read_from_text() {
        let text = r#"
            # proto-file: p4/config/v1/p4info.proto
            pkg_info { arch: "v1model" }
            tables {
              preamble { id: 33554433 name: "Ingress.relay" alias: "relay" }
              match_fields { id: 1 name: "dst_addr" bitwidth: 128 match_type: EXACT }
              action_refs { id: 16777217 annotations: "@defaultonly" scope: DEFAULT_ONLY }
              size: 1024
            }
        "#;
        let info = p4info(text).unwrap();
        assert_eq!(info.tables.len(), 1);
        let table = &info.tables[0];
        assert_eq!(table.preamble.as_ref().unwrap().alias, "relay");
        assert_eq!(table.match_fields[0].bitwidth, 128);
        assert_eq!(table.size, 1024);
    }

    #[test]
    fn an_unknown_field_is_an_error_with_its_name() {
        let error = p4info("tables { colour: 1 }").unwrap_err();
        assert!(error.to_string().contains("colour"), "{error}");
    }
}
