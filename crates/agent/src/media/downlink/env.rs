//! What receivers' media depends on.

use crate::media::budget::Budgets;
use crate::media::media_transport::MediaTransports;
use crate::media::uplink::Uplink;

/// What the receivers' side uses of the others.
pub(in crate::media) struct Env<'a> {
    /// Both directions of each transport.
    pub(in crate::media) transports: &'a mut MediaTransports,
    /// What publishers send; asked for key frames.
    pub(in crate::media) uplink: &'a mut Uplink,
    /// What each receiver's path carries.
    pub(in crate::media) budgets: &'a Budgets,
}
