//! Those whom `weir serve` waits for.

use std::fmt;

use super::Occupants;
use crate::controller_task;
use crate::sip;

/// The participants of rooms, and calls of SIP proxies.
pub(in crate::serve) struct Served {
    /// The controller of rooms.
    pub controller: controller_task::Handle,
    /// The controller of calls, if there is one.
    pub sip: Option<sip::Handle>,
}

/// The calls of SIP proxies alone.
pub(in crate::serve) struct Calls(pub sip::Handle);

impl Occupants for Calls {
    type Left = String;

    async fn tell(&self) {
        self.0.drain().await;
    }

    async fn left(&self) -> Option<String> {
        match self.0.ending_calls().await {
            0 => None,
            calls => Some(format!("{calls} calls")),
        }
    }
}

/// Everybody who is still served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::serve) struct Left {
    participants: usize,
    /// Of SIP proxies: those that end with this process.
    calls: usize,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} participants, {} calls", self.participants, self.calls)
    }
}

impl Occupants for Served {
    type Left = Left;

    async fn tell(&self) {
        let sip = async {
            if let Some(sip) = &self.sip {
                sip.drain().await;
            }
        };
        tokio::join!(self.controller.drain(), sip);
    }

    async fn left(&self) -> Option<Left> {
        let calls = match &self.sip {
            Some(sip) => sip.ending_calls().await,
            None => 0,
        };
        let left = Left {
            participants: self.controller.participants().await,
            calls,
        };
        Some(left).filter(|left| *left != Left::default())
    }
}
