//! The SRTP profile negotiated with each kind of server.

use super::*;
use crate::digest::digest;
use rtc_dtls::cipher_suite::CipherSuiteId;
use rtc_dtls::config::ConfigBuilder;
use rtc_dtls::crypto_provider::providers::RingProvider;
use rtc_dtls::endpoint::{Endpoint, EndpointEvent};
use rtc_dtls::extension::extension_use_srtp::SrtpProtectionProfile as Profile;
use southbound::HashFunction;

mod kinds;

/// Runs our client against a server with these profiles, in its order of preference where it has
/// one.
fn against(profiles: Vec<Profile>) -> (Result<Option<SrtpProfile>, HandshakeFault>, Option<Profile>) {
    let now = Instant::now();
    let provider = Arc::new(RingProvider::new());
    let crypto = rtc_dtls::crypto_provider::RTCCryptoProvider::crypto(&*provider);
    let theirs = rtc_dtls::crypto::Certificate::generate_self_signed(vec!["peer".into()], crypto).unwrap();
    let digest = digest(HashFunction::Sha256, theirs.certificate[0].as_ref());
    let config = ConfigBuilder::default()
        .with_crypto_provider(provider)
        .with_certificates(vec![theirs])
        .with_cipher_suites(vec![CipherSuiteId::Tls_Ecdhe_Ecdsa_With_Aes_128_Gcm_Sha256])
        .with_srtp_protection_profiles(profiles)
        .with_insecure_skip_verify(true)
        .build(false, None)
        .unwrap();
    let address = "127.0.0.1:2".parse().unwrap();
    let mut server = Endpoint::new(address, Default::default(), Some(Arc::new(config)));
    let identity = Identity::new(&Certificate::generate().unwrap(), Duration::from_secs(20));
    let promised = vec![Fingerprint {
        hash: HashFunction::Sha256,
        digest,
    }];
    let mut client = Association::new(&identity, DtlsRole::Client, promised, now);
    let (mut chosen, mut theirs, mut effects) = (None, None, Vec::new());
    let mut result = client.handle_timeout(now, &mut effects);
    for _ in 0..20 {
        for effect in std::mem::take(&mut effects) {
            match effect {
                Effect::Send(datagram) => {
                    let events = server.read(now, address, None, datagram[..].into()).unwrap_or_default();
                    if events
                        .iter()
                        .any(|event| matches!(event, EndpointEvent::HandshakeComplete))
                    {
                        theirs = server
                            .get_connection_state(address)
                            .map(|state| state.srtp_protection_profile());
                    }
                }
                Effect::Keys(profile, _) => chosen = Some(profile),
                Effect::Data(_) | Effect::Closed => {}
            }
        }
        while let (Some(transmit), true) = (server.poll_transmit(), result.is_ok()) {
            result = client.receive(now, &transmit.message, &mut effects);
        }
    }
    (result.map(|()| chosen), theirs)
}

#[test]
fn a_server_chooses_among_all_profiles() {
    for (profile, expected) in [
        (Profile::Srtp_Aead_Aes_256_Gcm, SrtpProfile::AeadAes256Gcm),
        (Profile::Srtp_Aead_Aes_128_Gcm, SrtpProfile::AeadAes128Gcm),
        (Profile::Srtp_Aes128_Cm_Hmac_Sha1_80, SrtpProfile::AesCm128HmacSha1_80),
    ] {
        let (ours, theirs) = against(vec![profile]);
        assert_eq!(ours, Ok(Some(expected)));
        assert_eq!(theirs, Some(profile));
    }
}

#[test]
fn a_server_without_a_known_profile_is_refused() {
    assert_eq!(
        against(vec![Profile::Srtp_Aes128_Cm_Hmac_Sha1_32]).0,
        Err(HandshakeFault::Alert("InsufficientSecurity".to_owned()))
    );
}

#[test]
fn a_certificate_is_known_by_every_hash_function() {
    let certificate = Certificate::generate().unwrap();
    for fingerprint in certificate.fingerprints() {
        assert_eq!(fingerprint.digest.len(), fingerprint.hash.digest_len());
        assert!(matches_any(&certificate.der, std::slice::from_ref(&fingerprint)));
        assert!(!matches_any(b"another", std::slice::from_ref(&fingerprint)));
    }
    assert!(certificate.fingerprints().contains(&certificate.fingerprint()));
    let known = "a9993e364706816aba3e25717850c26c9cd0d89d";
    assert_eq!(digest(HashFunction::Sha1, b"abc")[..], unhex(known), "FIPS 180");
    let known = "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7";
    assert_eq!(digest(HashFunction::Sha224, b"abc")[..], unhex(known), "FIPS 180");
}

fn unhex(text: &str) -> Vec<u8> {
    let octet = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(octet).collect()
}

#[test]
fn an_association_may_move_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<Association>();
}

#[test]
fn a_client_repeats_its_flight_at_doubling_intervals_until_the_limit() {
    let start = Instant::now();
    let identity = Identity::new(&Certificate::generate().unwrap(), Duration::from_secs(20));
    let mut client = Association::new(&identity, DtlsRole::Client, Vec::new(), start);
    let (mut now, mut sent, mut effects) = (start, Vec::new(), Vec::new());
    while client.handle_timeout(now, &mut effects).is_ok() {
        if effects.drain(..).count() > 0 {
            sent.push((now - start).as_millis());
        }
        now = client.poll_timeout().unwrap();
    }
    assert_eq!(sent, [0, 500, 1_500, 3_500, 7_500, 15_500]);
    assert_eq!(now - start, Duration::from_secs(20));
}

#[test]
fn a_server_repeats_its_flight_though_the_client_repeats_its_own() {
    let start = Instant::now();
    let identity = Identity::new(&Certificate::generate().unwrap(), Duration::from_secs(20));
    let mut server = Association::new(&identity, DtlsRole::Server, Vec::new(), start);
    let mut client = Association::new(&identity, DtlsRole::Client, Vec::new(), start);
    let mut hello = Vec::new();
    client.handle_timeout(start, &mut hello).unwrap();
    let Some(Effect::Send(hello)) = hello.pop() else {
        panic!("the client begins")
    };
    let mut repeated = hello.clone();
    repeated[10] += 1;
    let (mut sent, mut effects) = (Vec::new(), Vec::new());
    for millis in (0..4_000).step_by(100) {
        let now = start + Duration::from_millis(millis);
        match millis {
            0 => server.receive(now, &hello, &mut effects).unwrap(),
            400 => server.receive(now, &repeated, &mut effects).unwrap(),
            _ => server.handle_timeout(now, &mut effects).unwrap(),
        }
        if effects.drain(..).count() > 0 {
            sent.push(millis);
        }
    }
    assert_eq!(sent, [0, 500, 1_500, 3_500], "a lost flight is repeated");
}
