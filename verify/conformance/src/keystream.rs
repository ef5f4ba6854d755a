//! No keystream protects two different packets. Whatever the model says: this is what SRTP's secrecy hangs on.

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
    /// Looks at what a step sent.
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
