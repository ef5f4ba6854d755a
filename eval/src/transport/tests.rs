use super::*;
use crate::clock;
use crate::net::Inbox;

fn pump(now: Instant, transport: &mut Transport, inbox: &mut Inbox, rtp: &mut Vec<Vec<u8>>) {
    transport.handle_timeout(now).expect("no failure");
    let socket = transport.socket().clone();
    let read = |datagram: Datagram<'_>| {
        if let Incoming::Rtp(packet) = transport.handle(now, datagram).expect("no failure") {
            rtp.push(packet.to_vec());
        }
    };
    inbox.read(&socket, read).expect("readable");
}

#[test]
fn two_ends_connect_and_carry_media() {
    let identity = Arc::new(Identity::new().expect("a certificate"));
    let local = IpAddr::from([127, 0, 0, 1]);
    let now = clock::now();
    let mut offerer = Transport::new(identity.clone(), local, true, now).expect("a socket");
    let mut answerer = Transport::new(identity, local, false, now).expect("a socket");
    let offer = offerer.describe(Setup::ActPass, Vec::new());
    let answer = answerer.describe(Setup::Active, Vec::new());
    offerer.start(now, &answer, false, &[]).expect("no route to open");
    answerer.start(now, &offer, true, &[]).expect("no route to open");

    let (mut inbox, mut received, mut unexpected) = (Inbox::default(), Vec::new(), Vec::new());
    let mut packet = [0u8; 60];
    packet[..12].copy_from_slice(&[0x80, 96, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9]);
    let plain = packet[..40].to_vec();
    let mut sent = false;
    while received.is_empty() {
        assert!(now.elapsed() < Duration::from_secs(10), "no media within ten seconds");
        pump(clock::now(), &mut offerer, &mut inbox, &mut unexpected);
        pump(clock::now(), &mut answerer, &mut inbox, &mut received);
        if !sent && offerer.profile().is_some() && answerer.profile().is_some() {
            let len = offerer.seal_rtp(&mut packet, 40, 12, 1).expect("keys");
            offerer.socket().send(&packet[..len]).expect("sent");
            sent = true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!((received, unexpected), (vec![plain], vec![]));
    assert_eq!(offerer.profile(), Some(SrtpProfile::AeadAes256Gcm));
}

#[test]
fn another_certificate_than_the_announced_is_refused() {
    let local = IpAddr::from([127, 0, 0, 1]);
    let now = clock::now();
    let [one, other] = [(); 2].map(|()| Arc::new(Identity::new().expect("a certificate")));
    let mut client = Transport::new(one, local, true, now).expect("a socket");
    let mut server = Transport::new(other, local, false, now).expect("a socket");
    let mut announced = server.describe(Setup::Passive, Vec::new());
    announced.fingerprint = client.identity.fingerprint.clone();
    client.start(now, &announced, true, &[]).expect("no route to open");
    server
        .start(now, &client.describe(Setup::Active, Vec::new()), false, &[])
        .expect("no route to open");
    let (mut inbox, mut rtp) = (Inbox::default(), Vec::new());
    let mut failed = false;
    while !failed {
        assert!(now.elapsed() < Duration::from_secs(10), "no refusal within ten seconds");
        pump(clock::now(), &mut server, &mut inbox, &mut rtp);
        let at = clock::now();
        let socket = client.socket().clone();
        failed = client.handle_timeout(at).is_err();
        inbox
            .read(&socket, |datagram| failed |= client.handle(at, datagram).is_err())
            .expect("readable");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(client.profile(), None);
}
