//! No keystream protects two different packets. SRTP's secrecy depends on it, independently of the
//! model.

use std::collections::BTreeMap;

use crate::peers::Keystream;
use crate::rtp::hex;
use crate::subject::Observation;

/// Everything one device ever sent sealed.
#[derive(Default)]
pub struct KeystreamCheck {
    spent: BTreeMap<Keystream, Vec<u8>>,
}

impl KeystreamCheck {
    /// Checks the packets of a step.
    ///
    /// Errors: a datagram under a keystream that protected another one.
    pub fn observe(&mut self, observation: &Observation) -> Result<(), String> {
        let sealed = observation.got.values().flatten().flatten();
        for opened in sealed {
            let Some(keystream) = &opened.keystream else { continue };
            let before = self.spent.insert(keystream.clone(), opened.bytes.clone());
            if let Some(before) = before.filter(|before| *before != opened.bytes) {
                let (ssrc, index) = (keystream.ssrc, keystream.index);
                let (first, second) = (hex(&before), hex(&opened.bytes));
                return Err(format!(
                    "index {index} of SSRC {ssrc:#x} protects two packets under one key\n{first}\n{second}"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use dataplane::Counters;

    use super::*;
    use crate::peers::Opened;
    use crate::step::path_of;

    fn sent(index: u64, bytes: &[u8]) -> Observation {
        let keystream = Keystream {
            key: vec![1],
            rtcp: false,
            ssrc: 7,
            index,
        };
        let opened = Opened {
            bytes: bytes.to_vec(),
            keystream: Some(keystream),
        };
        Observation {
            written: Ok(()),
            got: BTreeMap::from([(path_of(1), vec![Ok(opened)])]),
            events: Vec::new(),
            counters: Counters::default(),
        }
    }

    #[test]
    fn one_index_protects_one_packet() {
        let mut check = KeystreamCheck::default();
        assert_eq!(check.observe(&sent(1, b"a")), Ok(()));
        assert_eq!(check.observe(&sent(2, b"b")), Ok(()));
        assert_eq!(
            check.observe(&sent(1, b"a")),
            Ok(()),
            "the same bytes give nothing away"
        );
        assert!(check.observe(&sent(2, b"c")).is_err());
    }
}
