//! The messages of a link between media nodes.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use southbound::{LinkHello, LinkMessage, LinkReply, LinkWelcome, LinkedMessage, NodeId, TransportId};

use crate::{parts, syncs};

pub(crate) fn message() -> impl Strategy<Value = LinkMessage> {
    let hello = (syncs::versions(), any::<(u64, u64)>()).prop_map(|(versions, (node, series))| {
        LinkMessage::Hello(LinkHello {
            versions,
            node: NodeId(node),
            series,
        })
    });
    prop_oneof![hello, linked().prop_map(|linked| LinkMessage::Message(linked.into()))]
}

fn linked() -> impl Strategy<Value = LinkedMessage> {
    let receivers = (
        vec(".{0,8}", 0..3),
        vec(".{0,8}", 0..3),
        any::<(Option<u64>, Option<u16>)>(),
    );
    let names = (parts::label(), parts::label(), parts::label());
    let message = option::of(parts::message());
    (any::<(u64, u64)>(), names, message, parts::payload(), receivers).prop_map(
        |((number, reach), (room, sender, label), message, payload, (identities, sids, (only, track)))| LinkedMessage {
            number,
            room,
            reach,
            sender,
            message,
            label,
            payload,
            identities,
            sids,
            only: only.map(TransportId),
            track,
        },
    )
}

pub(crate) fn reply() -> impl Strategy<Value = LinkReply> {
    let welcome = (syncs::versions(), any::<(u64, u64)>()).prop_map(|(versions, (node, taken))| {
        LinkReply::Welcome(LinkWelcome {
            versions,
            node: NodeId(node),
            taken,
        })
    });
    prop_oneof![
        welcome,
        any::<u64>().prop_map(|number| LinkReply::Taken { number }),
        vec(parts::message(), 0..4).prop_map(|messages| LinkReply::Delivered { messages }),
    ]
}
