//! Values that several messages have.

use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::sync::Arc;
use std::time::Duration;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use southbound::{Fingerprint, HashFunction, IceCredentials, MessageId, NodeId};
use wire::srtp::{MasterKey, Mki, SessionParameters, SrtpProfile};
use wire::{Codec, Mid, PayloadType, Rid};

pub(crate) const PROFILES: [SrtpProfile; 12] = [
    SrtpProfile::AeadAes128Gcm,
    SrtpProfile::AeadAes256Gcm,
    SrtpProfile::AesCm128HmacSha1_80,
    SrtpProfile::AesCm128HmacSha1_32,
    SrtpProfile::AesCm192HmacSha1_80,
    SrtpProfile::AesCm192HmacSha1_32,
    SrtpProfile::AesCm256HmacSha1_80,
    SrtpProfile::AesCm256HmacSha1_32,
    SrtpProfile::F8_128HmacSha1_80,
    SrtpProfile::F8_128HmacSha1_32,
    SrtpProfile::NullHmacSha1_80,
    SrtpProfile::NullHmacSha1_32,
];

pub(crate) fn label() -> impl Strategy<Value = Arc<str>> {
    ".{0,12}".prop_map(Arc::from)
}

pub(crate) fn payload() -> impl Strategy<Value = Arc<[u8]>> {
    vec(any::<u8>(), 0..64).prop_map(Arc::from)
}

pub(crate) fn message() -> impl Strategy<Value = MessageId> {
    any::<(u64, u64)>().prop_map(|(node, number)| MessageId {
        node: NodeId(node),
        number,
    })
}

pub(crate) fn duration() -> impl Strategy<Value = Duration> {
    (any::<u64>(), 0..1_000_000_000_u32).prop_map(|(seconds, nanos)| Duration::new(seconds, nanos))
}

pub(crate) fn address() -> impl Strategy<Value = SocketAddr> {
    let scoped = |(ip, port, flow, scope): (u128, u16, u32, u32)| SocketAddrV6::new(ip.into(), port, flow, scope);
    prop_oneof![
        any::<([u8; 4], u16)>().prop_map(SocketAddr::from),
        any::<(u128, u16, u32, u32)>().prop_map(move |parts| scoped(parts).into()),
    ]
}

pub(crate) fn ip() -> impl Strategy<Value = IpAddr> {
    address().prop_map(|address| address.ip())
}

pub(crate) fn credentials() -> impl Strategy<Value = IceCredentials> {
    ("[!-~]{4,256}", "[!-~]{22,256}").prop_map(|(ufrag, password)| IceCredentials { ufrag, password })
}

pub(crate) fn fingerprint() -> impl Strategy<Value = Fingerprint> {
    (select(&HashFunction::ALL[..]), any::<[u8; 32]>()).prop_map(|(hash, bytes)| Fingerprint {
        hash,
        digest: bytes.repeat(2)[..hash.digest_len()].to_vec(),
    })
}

pub(crate) fn payload_type() -> impl Strategy<Value = PayloadType> {
    (0..128_u8).prop_map(|value| PayloadType::new(value).expect("seven bits"))
}

pub(crate) fn codec() -> impl Strategy<Value = Codec> {
    select(&Codec::ALL[..])
}

pub(crate) fn mid() -> impl Strategy<Value = Mid> {
    "[0-9A-Za-z]{1,64}".prop_map(|name| Mid::new(&name).expect("a token"))
}

pub(crate) fn rid() -> impl Strategy<Value = Rid> {
    "[0-9A-Za-z]{1,16}".prop_map(|name| Rid::new(&name).expect("a token"))
}

pub(crate) fn master_key() -> impl Strategy<Value = MasterKey> {
    (single_key(), vec(single_key(), 0..3)).prop_map(|(key, others)| key.with_others(others))
}

fn single_key() -> impl Strategy<Value = MasterKey> {
    let mki = (any::<u32>(), 4..=Mki::LEN_MAX).prop_map(|(value, len)| Mki::new(value, len).expect("it fits"));
    let parameters =
        (any::<[bool; 3]>(), option::of(mki)).prop_map(|([rtp, rtcp, unauthenticated], mki)| SessionParameters {
            unencrypted_rtp: rtp,
            unencrypted_rtcp: rtcp,
            unauthenticated_rtp: unauthenticated,
            mki,
        });
    (select(&PROFILES[..]), any::<[u8; 32]>(), parameters).prop_map(|(profile, bytes, parameters)| {
        let key = MasterKey::new(profile, &bytes[..profile.key_len()], &bytes[..profile.salt_len()]);
        key.expect("the lengths are the profile's").with_parameters(parameters)
    })
}
