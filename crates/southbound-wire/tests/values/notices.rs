//! Notices of every kind.

use operator::observation::{Direction, PathProtocol, SwitchCause};
use operator::receivers::{Limit, Usage};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use southbound::{
    AudioActivity, Capabilities, ChannelEnd, CloseReason, DownlinkEstimate, FailedLink, Linked, Node, NodeId, Notice,
    Observation, RewritingModes, SentLayer, TransportQuality,
};
use wire::ExtensionForms;
use wire::codec::Layer;

use crate::commands::{subscription_id, track, transport};
use crate::{parts, relays};

const REASONS: [CloseReason; 5] = [
    CloseReason::NeverConnected,
    CloseReason::ConsentExpired,
    CloseReason::Handshake,
    CloseReason::Fingerprint,
    CloseReason::Peer,
];

pub(crate) fn notice() -> impl Strategy<Value = Notice> {
    let srtp = option::of(select(&parts::PROFILES[..]));
    prop_oneof![
        node().prop_map(Notice::Node),
        (transport(), srtp).prop_map(|(transport, srtp)| Notice::Connected { transport, srtp }),
        transport().prop_map(|transport| Notice::Disconnected { transport }),
        (transport(), select(&REASONS[..])).prop_map(|(transport, reason)| Notice::Closed { transport, reason }),
        (transport(), parts::label()).prop_map(|(transport, label)| Notice::ChannelOpened { transport, label }),
        channel_closed(),
        message_received(),
        track().prop_map(|track| Notice::TrackStarted { track }),
        (track(), any::<u8>()).prop_map(|(track, active)| Notice::Encodings { track, active }),
        subscription_id().prop_map(|subscription| Notice::SubscriptionStarted { subscription }),
        (subscription_id(), any::<bool>()).prop_map(|(subscription, paused)| Notice::Paused { subscription, paused }),
        vec(activity(), 0..6).prop_map(Notice::Audio),
        (transport(), quality()).prop_map(|(transport, quality)| Notice::Quality { transport, quality }),
        (transport(), ".{0,40}").prop_map(|(transport, why)| Notice::Refused { transport, why }),
        observation().prop_map(Notice::Observation),
        (parts::label(), any::<(u64, u64, u64)>()).prop_map(|(room, (node, series, number))| Notice::Reaches {
            room,
            node: NodeId(node),
            series,
            number
        }),
        missed(),
        relays::notice().prop_map(Notice::Relay),
    ]
}

fn missed() -> impl Strategy<Value = Notice> {
    let names = (parts::label(), parts::label(), parts::label());
    (names, transport(), parts::payload()).prop_map(|((room, sender, label), transport, payload)| Notice::Missed {
        room,
        sender,
        transport,
        label,
        payload,
    })
}

fn observation() -> impl Strategy<Value = Observation> {
    prop_oneof![of_layers(), of_transports(), estimate()]
}

fn of_layers() -> impl Strategy<Value = Observation> {
    let cause = option::of(select(
        &[
            SwitchCause::Start,
            SwitchCause::Downlink,
            SwitchCause::Request,
            SwitchCause::Publisher,
        ][..],
    ));
    let switch = (subscription_id(), option::of(sent_layer()), sent_layer(), cause);
    prop_oneof![
        switch.prop_map(|(subscription, from, to, cause)| Observation::LayerSwitch {
            subscription,
            from,
            to,
            cause
        }),
        subscription_id().prop_map(|subscription| Observation::KeyFrameRequest { subscription }),
        (track(), any::<u32>()).prop_map(|(track, attempt)| Observation::KeyFrameQuery { track, attempt }),
    ]
}

fn of_transports() -> impl Strategy<Value = Observation> {
    let direction = select(&[Direction::Uplink, Direction::Downlink][..]);
    let protocol = select(&[PathProtocol::Udp, PathProtocol::Tcp][..]);
    prop_oneof![
        (transport(), any::<u64>(), any::<u32>()).prop_map(|(transport, rate, bytes)| Observation::Probe {
            transport,
            rate,
            bytes
        }),
        (transport(), direction, any::<u64>(), any::<u64>()).prop_map(|(transport, direction, expected, lost)| {
            Observation::Loss {
                transport,
                direction,
                expected,
                lost,
            }
        }),
        (transport(), parts::address(), protocol).prop_map(|(transport, remote, protocol)| Observation::Path {
            transport,
            remote,
            protocol,
        }),
    ]
}

fn estimate() -> impl Strategy<Value = Observation> {
    let limit = select(&[Limit::Start, Limit::Delay, Limit::Loss, Limit::Remb, Limit::Silence][..]);
    let usage = select(&[Usage::Normal, Usage::Over, Usage::Under][..]);
    let delays = (option::of(parts::duration()), parts::duration());
    (
        transport(),
        any::<(u64, u64, u64)>(),
        limit,
        usage,
        0.0..=1.0f32,
        delays,
    )
        .prop_map(
            |(transport, rates, limit, usage, loss, (round_trip, queue))| Observation::Estimate {
                transport,
                estimate: DownlinkEstimate {
                    target: rates.0,
                    allocated: rates.1,
                    wanted: rates.2,
                    limit,
                    usage,
                    loss,
                    round_trip,
                    queue,
                },
            },
        )
}

fn sent_layer() -> impl Strategy<Value = SentLayer> {
    any::<[u8; 3]>().prop_map(|[encoding, spatial, temporal]| SentLayer {
        encoding,
        layer: Layer { spatial, temporal },
    })
}

fn channel_closed() -> impl Strategy<Value = Notice> {
    let why = select(&[ChannelEnd::Peer, ChannelEnd::TooSlow][..]);
    (transport(), parts::label(), why).prop_map(|(transport, label, why)| Notice::ChannelClosed {
        transport,
        label,
        why,
    })
}

fn message_received() -> impl Strategy<Value = Notice> {
    (
        transport(),
        parts::label(),
        parts::payload(),
        parts::message(),
        any::<bool>(),
        any::<Option<u64>>(),
        linked(),
    )
        .prop_map(
            |(transport, label, payload, message, reliable, passed_on, linked)| Notice::MessageReceived {
                transport,
                label,
                payload,
                message,
                reliable,
                passed_on,
                linked,
            },
        )
}

fn linked() -> impl Strategy<Value = Linked> {
    let nodes = vec(any::<(u64, u64)>(), 0..3);
    (nodes, any::<Option<(u64, u64, u64)>>()).prop_map(|(nodes, failed)| Linked {
        nodes: nodes.into_iter().map(|(node, number)| (NodeId(node), number)).collect(),
        failed: failed.map(|(node, series, number)| FailedLink {
            node: NodeId(node),
            series,
            number,
        }),
    })
}

fn activity() -> impl Strategy<Value = AudioActivity> {
    (track(), any::<u8>(), parts::duration()).prop_map(|(track, level, active)| AudioActivity { track, level, active })
}

fn quality() -> impl Strategy<Value = TransportQuality> {
    let loss = || 0.0..=1.0_f32;
    let round_trip = option::of(parts::duration());
    (loss(), loss(), round_trip, parts::duration()).prop_map(|(uplink_loss, downlink_loss, round_trip, jitter)| {
        TransportQuality {
            uplink_loss,
            downlink_loss,
            round_trip,
            jitter,
        }
    })
}

fn node() -> impl Strategy<Value = Node> {
    let addresses = || vec(parts::address(), 0..4);
    let names = (any::<u64>(), parts::fingerprint(), any::<(bool, bool)>());
    (names, addresses(), addresses(), capabilities()).prop_map(
        |((node, fingerprint, (clear_rtp, clear_trunks)), addresses, tcp_addresses, capabilities)| Node {
            node: NodeId(node),
            addresses,
            tcp_addresses,
            fingerprint,
            clear_rtp,
            clear_trunks,
            capabilities,
        },
    )
}

fn capabilities() -> impl Strategy<Value = Capabilities> {
    any::<([bool; 8], [u64; 4])>().prop_map(|(flags, numbers)| {
        let [
            srtp,
            copies,
            transport_numbers,
            exact,
            low_memory,
            low_retransmission,
            one_byte,
            two_byte,
        ] = flags;
        let [transports_max, streams_max, replicas_max, relays_max] = numbers;
        Capabilities {
            srtp,
            copies,
            transport_numbers,
            rewriting: RewritingModes {
                exact,
                low_memory,
                low_retransmission,
            },
            extensions: ExtensionForms { one_byte, two_byte },
            transports_max,
            streams_max,
            replicas_max,
            relays_max,
        }
    })
}
