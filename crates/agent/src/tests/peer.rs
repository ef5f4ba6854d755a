//! A peer with ICE, DTLS and SCTP of its own.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dataplane::Path;
use dimpl::{Dtls, Output};
use is::stun::{StunMessage, TransId};
use is::{DefaultSha1HmacProvider, Sha1HmacProvider};
use southbound::{DtlsRole, Fingerprint, HashFunction, IceCredentials, RemoteTransport, TransportId};
use wire::rtcp::RtcpPacket;
use wire::{ExtensionMap, Ssrc};

use super::packets::extensions;
use crate::channels::{self, Channels};

/// Changes a datagram on its way.
pub(super) type Tamper = Box<dyn FnMut(Vec<u8>) -> Vec<u8>>;

/// A peer with ICE, DTLS and SCTP of its own.
pub(super) struct Peer {
    pub(super) transport: TransportId,
    pub(super) path: Path,
    pub(super) ours: IceCredentials,
    pub(super) theirs: IceCredentials,
    certificate: dimpl::DtlsCertificate,
    dtls: Dtls,
    pub(super) keys: Option<(Vec<u8>, dimpl::SrtpProfile)>,
    pub(super) channels: Option<Channels>,
    pub(super) opened: Vec<Arc<str>>,
    pub(super) closed: Vec<Arc<str>>,
    pub(super) received: Vec<(Arc<str>, Arc<[u8]>)>,
    /// It does not read from its SCTP.
    pub(super) unreading: bool,
    /// Answers to its checks.
    pub(super) stun: Vec<Vec<u8>>,
    /// Checks of the node.
    pub(super) checks: Vec<Vec<u8>>,
    /// It does not answer checks while true.
    pub(super) absent: bool,
    pub(super) rtp: Vec<Vec<u8>>,
    /// Arrival time of each.
    pub(super) rtp_at: Vec<Instant>,
    pub(super) rtcp: Vec<(Instant, Vec<u8>)>,
    pub(super) goodbye: bool,
    pub(super) out: VecDeque<Vec<u8>>,
    pub(super) next: Option<Instant>,
    /// Header extensions negotiated for the media that it receives.
    pub(super) extensions_out: ExtensionMap,
    /// It gets no DTLS while true.
    pub(super) deaf: bool,
    /// Tampering with the DTLS that it sends.
    pub(super) tamper: Option<Tamper>,
}

pub(super) fn credentials(name: &str) -> IceCredentials {
    IceCredentials {
        ufrag: name.into(),
        password: format!("{name}-password-of-22-characters"),
    }
}

pub(super) fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 20] {
    DefaultSha1HmacProvider.sha1_hmac(key, parts)
}

impl Peer {
    pub(super) fn new(index: usize, role: DtlsRole, now: Instant) -> Self {
        let certificate = dimpl::certificate::generate_self_signed_certificate().unwrap();
        let mut dtls = Dtls::new_12(Arc::new(dimpl::Config::default()), certificate.clone(), now);
        dtls.set_active(role == DtlsRole::Server);
        Peer {
            transport: TransportId(index as u64 + 1),
            path: Path {
                local: "192.0.2.1:7882".parse().unwrap(),
                remote: ([198, 51, 100, 1], 1_000 + index as u16).into(),
            },
            ours: credentials(&format!("peer{index}")),
            theirs: credentials(&format!("node{index}")),
            certificate,
            dtls,
            keys: None,
            channels: None,
            opened: Vec::new(),
            closed: Vec::new(),
            received: Vec::new(),
            unreading: false,
            stun: Vec::new(),
            checks: Vec::new(),
            absent: false,
            rtp: Vec::new(),
            rtp_at: Vec::new(),
            rtcp: Vec::new(),
            goodbye: false,
            out: VecDeque::new(),
            next: None,
            extensions_out: ExtensionMap::default(),
            deaf: false,
            tamper: None,
        }
    }

    /// It begins another association with the same certificate; `role` is ours.
    pub(super) fn renew(&mut self, role: DtlsRole, now: Instant) {
        self.dtls = Dtls::new_12(Arc::new(dimpl::Config::default()), self.certificate.clone(), now);
        self.dtls.set_active(role == DtlsRole::Server);
        self.keys = None;
    }

    pub(super) fn description(&self, role: DtlsRole) -> RemoteTransport {
        RemoteTransport {
            credentials: self.ours.clone(),
            fingerprints: vec![Fingerprint {
                hash: HashFunction::Sha256,
                digest: self.certificate.fingerprint(),
            }],
            dtls: role,
            extensions_in: extensions(),
            extensions_out: self.extensions_out,
            sctp_port: Some(5000),
        }
    }

    pub(super) fn request(&self, nominate: bool) -> Vec<u8> {
        let username = format!("{}:{}", self.theirs.ufrag, self.ours.ufrag);
        let message = StunMessage::binding_request(&username, TransId::new(), true, 7, 100, nominate);
        let mut bytes = vec![0; 256];
        let len = message
            .to_bytes(Some(self.theirs.password.as_bytes()), &mut bytes, hmac)
            .unwrap();
        bytes.truncate(len);
        bytes
    }

    pub(super) fn receive(&mut self, now: Instant, bytes: Vec<u8>) {
        match wire::classify(&bytes) {
            wire::PacketKind::Stun if wire::stun::is_binding_request(&bytes) => {
                let answer = virtual_device::answer(&bytes, self.path.local, &self.ours.password);
                self.out.extend(answer.filter(|_| !self.absent));
                self.checks.push(bytes);
            }
            wire::PacketKind::Stun => self.stun.push(bytes),
            wire::PacketKind::Rtp => {
                self.rtp.push(bytes);
                self.rtp_at.push(now);
            }
            wire::PacketKind::Rtcp => self.rtcp.push((now, bytes)),
            wire::PacketKind::Dtls if !self.deaf => {
                self.dtls.handle_timeout(now).unwrap();
                if self.dtls.handle_packet(&bytes).is_ok() {
                    self.drain(now);
                }
            }
            _ => {}
        }
    }

    pub(super) fn tick(&mut self, now: Instant) {
        let _ = self.dtls.handle_timeout(now);
        if let Some(channels) = &mut self.channels {
            let mut effects = Vec::new();
            channels.handle_timeout(now, &mut effects);
            self.run_channels(effects);
        }
        self.drain(now);
    }

    fn drain(&mut self, now: Instant) {
        let mut buffer = vec![0; 4_096];
        loop {
            match self.dtls.poll_output(&mut buffer) {
                Output::Timeout(at) => {
                    let sctp = self.channels.as_ref().and_then(Channels::poll_timeout);
                    // The far future of an idle association is of no interest.
                    self.next = [Some(at), sctp]
                        .into_iter()
                        .flatten()
                        .min()
                        .map(|next| next.max(now + Duration::from_millis(1)));
                    return;
                }
                Output::Packet(packet) => {
                    let packet = packet.to_vec();
                    self.out.push_back(match &mut self.tamper {
                        Some(tamper) => tamper(packet),
                        None => packet,
                    });
                }
                Output::KeyingMaterial(material, profile) => self.keys = Some((material.to_vec(), profile)),
                Output::CloseNotify => self.goodbye = true,
                Output::ApplicationData(data) => {
                    let data = data.to_vec();
                    let Some(channels) = &mut self.channels else { continue };
                    let mut effects = Vec::new();
                    channels.receive(now, data, &mut effects);
                    self.run_channels(effects);
                }
                _ => {}
            }
        }
    }

    pub(super) fn run_channels(&mut self, effects: Vec<channels::Effect>) {
        for effect in effects {
            match effect {
                channels::Effect::Send(packet) => drop(self.dtls.send_application_data(&packet)),
                channels::Effect::Opened(label) => self.opened.push(label),
                channels::Effect::Received(label, payload) => self.received.push((label, payload)),
                channels::Effect::Closed(label, _) => self.closed.push(label),
                channels::Effect::Count(_) | channels::Effect::Taken(_) => {}
            }
        }
        self.take_messages();
    }

    /// Reads arrived messages, unless the peer does not read.
    pub(super) fn take_messages(&mut self) {
        let Some(channels) = self.channels.as_mut().filter(|_| !self.unreading) else {
            return;
        };
        self.received.extend(std::iter::from_fn(|| channels.take()));
    }

    /// The peer reads arrived messages.
    pub(super) fn read(&mut self, now: Instant) {
        self.unreading = false;
        self.take_messages();
        self.with_channels(now, |channels, effects| channels.resume(now, effects));
    }

    /// The peer sends a message.
    pub(super) fn say(&mut self, now: Instant, label: &str, payload: &[u8]) {
        let letter = channels::Letter {
            label: &label.into(),
            payload: payload.into(),
            reliable: true,
            message: None,
            unpaced_max: None,
        };
        self.with_channels(now, |channels, effects| channels.send(now, letter, effects));
    }

    /// Does something with the peer's channels.
    pub(super) fn with_channels(
        &mut self,
        now: Instant,
        action: impl FnOnce(&mut Channels, &mut Vec<channels::Effect>),
    ) {
        let mut effects = Vec::new();
        action(self.channels.as_mut().expect("the peer has channels"), &mut effects);
        self.run_channels(effects);
        self.drain(now);
    }

    /// The peer closes its DTLS.
    pub(super) fn hang_up(&mut self, now: Instant) {
        self.dtls.close().unwrap();
        self.drain(now);
    }

    /// Does something to each packet of RTCP the peer has received.
    pub(super) fn each_rtcp(&self, mut action: impl FnMut(Instant, RtcpPacket<'_>)) {
        for (at, compound) in &self.rtcp {
            for packet in RtcpPacket::compound(compound) {
                action(*at, packet.expect("we write correct RTCP"));
            }
        }
    }

    /// Arrival time of each PLI for `ssrc` since `start`, in milliseconds.
    pub(super) fn plis(&self, ssrc: u32, start: Instant) -> Vec<u128> {
        let mut plis = Vec::new();
        self.each_rtcp(|at, packet| {
            if at >= start && matches!(packet, RtcpPacket::Pli(pli) if pli.media == Ssrc(ssrc)) {
                plis.push((at - start).as_millis());
            }
        });
        plis
    }
}
