//! Other parts of the media that the receivers' side depends on.

use crate::media::budget::Budgets;
use crate::media::media_transport::MediaTransports;
use crate::media::uplink::Uplink;

/// References to the parts that the receivers' side uses.
pub(in crate::media) struct Env<'a> {
    /// Both directions of each transport.
    pub(in crate::media) transports: &'a mut MediaTransports,
    /// The publishers' streams; asked for key frames.
    pub(in crate::media) uplink: &'a mut Uplink,
    /// The capacity of each receiver's path.
    pub(in crate::media) budgets: &'a Budgets,
}
