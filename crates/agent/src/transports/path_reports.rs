//! Reports of the ICE pairs that transports use, for timelines.

use dataplane::Path;
use operator::observation::PathProtocol;
use southbound::{Notice, Observation, TransportId};

use crate::context::Context;
use crate::ice::Ice;

/// Reports the nominated pair of a transport, if it is another one than was reported.
pub(super) fn follow(cx: &mut Context<'_>, transport: TransportId, ice: &Ice, reported: &mut Option<Path>) {
    let nominated = ice.best().filter(|_| ice.is_nominated());
    let Some(path) = nominated.filter(|path| *reported != Some(*path)) else {
        return;
    };
    *reported = Some(path);
    let protocol = match cx.shared.config.is_tcp(&path) {
        true => PathProtocol::Tcp,
        false => PathProtocol::Udp,
    };
    let remote = path.remote;
    cx.notice(Notice::Observation(Observation::Path {
        transport,
        remote,
        protocol,
    }));
}
