//! Commands and notices of relayed calls.

use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use southbound::relay::{Accept, Entry, Hop, Keys, Offloaded, Refusal, RelayCommand, RelayNotice, Report, Traffic};

use crate::parts;
use crate::parts::address;

pub(crate) fn command() -> impl Strategy<Value = RelayCommand> {
    prop_oneof![
        address().prop_map(RelayCommand::Open),
        entry().prop_map(|entry| RelayCommand::Resume(Box::new(entry))),
        entry().prop_map(|entry| RelayCommand::Install(Box::new(entry))),
        address().prop_map(RelayCommand::Silence),
        address().prop_map(RelayCommand::Close),
        address().prop_map(RelayCommand::Report),
    ]
}

pub(crate) fn notice() -> impl Strategy<Value = RelayNotice> {
    let refusal = select(&[Refusal::Taken, Refusal::Full, Refusal::NoSrtp][..]);
    prop_oneof![
        address().prop_map(|at| RelayNotice::Opened { at }),
        (address(), refusal).prop_map(|(at, why)| RelayNotice::Refused { at, why }),
        (address(), address()).prop_map(|(at, from)| RelayNotice::Source { at, from }),
        (address(), traffic(), option::of(parts::duration())).prop_map(|(at, traffic, idle)| RelayNotice::Traffic {
            at,
            traffic,
            idle,
        }),
        (address(), any::<u32>(), report()).prop_map(|(at, ssrc, report)| RelayNotice::Quality { at, ssrc, report }),
    ]
}

fn traffic() -> impl Strategy<Value = Traffic> {
    let counts_and_ssrc = (any::<[u64; 6]>(), option::of(any::<u32>()));
    counts_and_ssrc.prop_map(|([packets, bytes, errors, some, of_them, too], ssrc)| Traffic {
        packets,
        bytes,
        errors,
        ssrc,
        offloaded: Offloaded {
            packets: some,
            bytes: of_them,
            errors: too,
        },
    })
}

fn report() -> impl Strategy<Value = Report> {
    let duration = || option::of(parts::duration());
    (0.0..=1.0_f64, parts::duration(), duration(), duration()).prop_map(|(loss, jitter, round_trip_leg, round_trip)| {
        Report {
            loss,
            jitter,
            round_trip_leg,
            round_trip,
        }
    })
}

fn entry() -> impl Strategy<Value = Entry> {
    let checks = option::of((parts::credentials(), option::of(parts::credentials())));
    let hops = (option::of(hop()), option::of(hop()));
    (address(), accept(), keys(), hops, checks, any::<Option<u32>>()).prop_map(
        |(at, accept, ingress_protection, (rtp, rtcp), checks, clock_rate)| Entry {
            at,
            accept,
            ingress_protection,
            rtp,
            rtcp,
            checks,
            clock_rate,
        },
    )
}

fn hop() -> impl Strategy<Value = Hop> {
    (address(), address(), keys(), any::<Option<u8>>()).prop_map(|(from, to, egress_protection, tos)| Hop {
        from,
        to,
        egress_protection,
        tos,
    })
}

fn accept() -> impl Strategy<Value = Accept> {
    prop_oneof![
        address().prop_map(Accept::Only),
        (option::of(parts::ip()), any::<u32>(), any::<bool>()).prop_map(|(within, window, rtp_only)| Accept::Learn {
            within,
            window,
            rtp_only
        }),
    ]
}

fn keys() -> impl Strategy<Value = Keys> {
    prop_oneof![
        Just(Keys::Clear),
        parts::master_key().prop_map(Keys::Srtp),
        (parts::fingerprint(), any::<bool>(), any::<u32>()).prop_map(|(fingerprint, active, association)| Keys::Dtls {
            fingerprint,
            active,
            association,
        }),
    ]
}
