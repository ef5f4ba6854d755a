//! A media node with one transport, whose peer has proved its path.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use agent::{Agent, Certificate, Config};
use dataplane::{Clock, DataPlane, Egress, Ingress, Path};
use is::stun::{StunMessage, TransId};
use is::{DefaultSha1HmacProvider, Sha1HmacProvider};
use southbound::{
    Command, DtlsRole, Fingerprint, HashFunction, IceCredentials, Notice, OpenTransport, RemoteTransport, TransportId,
};
use virtual_device::Plane;
use wire::{ExtensionMap, NtpTime, PacketKind};

/// The address of the peer's only candidate.
pub(super) const ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1)), 1_000);
const PATH: Path = Path {
    local: SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 7_882),
    remote: ADDRESS,
};
const TRANSPORT: TransportId = TransportId(1);
/// Longer than a handshake may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The time at which everything arrives.
pub(super) fn start() -> Instant {
    static START: OnceLock<Instant> = OnceLock::new();
    #[allow(clippy::disallowed_methods, reason = "some instant to begin at")]
    *START.get_or_init(Instant::now)
}

pub(super) struct Node {
    agent: Agent,
    plane: Plane,
    now: Instant,
    notices: Vec<Notice>,
    /// Datagrams of DTLS for the peer.
    outgoing: Vec<Vec<u8>>,
    /// The number of them so far.
    pub(super) sent: usize,
}

impl Node {
    /// The peer has promised this certificate.
    pub(super) fn new(certificate: &[u8]) -> Self {
        static OURS: OnceLock<Certificate> = OnceLock::new();
        let ours = OURS.get_or_init(|| Certificate::generate().expect("there is randomness"));
        let clock = Clock {
            origin: start(),
            ntp: NtpTime(3_900_000_000 << 32),
        };
        let mut node = Self {
            agent: Agent::new(Config::new(vec![PATH.local], ours.clone()), clock, 1),
            plane: Plane::new(clock),
            now: start(),
            notices: Vec::new(),
            outgoing: Vec::new(),
            sent: 0,
        };
        node.command(Command::Open(OpenTransport {
            transport: TRANSPORT,
            local: credentials("node"),
            channels: Vec::new(),
        }));
        node.command(Command::Connect {
            transport: TRANSPORT,
            remote: remote(certificate),
        });
        node.receive(&check());
        node
    }

    fn command(&mut self, command: Command) {
        self.agent
            .command(self.now, command, &mut self.plane, &mut self.notices);
        self.settle();
    }

    /// A datagram of the peer arrives.
    pub(super) fn receive(&mut self, datagram: &[u8]) {
        self.hand_in(datagram);
        self.settle();
    }

    fn hand_in(&mut self, bytes: &[u8]) {
        let ingress = Ingress { path: PATH, bytes };
        self.plane.packet(self.now, ingress, &mut Vec::new());
    }

    /// Everything that the node has sent, but for its checks.
    pub(super) fn take_sent(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.outgoing)
    }

    /// The peer sends nothing more but answers to checks.
    pub(super) fn wait(&mut self) {
        let end = self.now + PATIENCE;
        while let Some(next) = self.agent.poll_timeout().filter(|next| *next <= end) {
            self.now = self.now.max(next);
            self.agent.handle_timeout(self.now, &mut self.plane, &mut self.notices);
            self.settle();
        }
        self.now = end;
    }

    /// Whether the peer has ever been connected.
    pub(super) fn is_connected(&self) -> bool {
        let is_connected = |notice: &Notice| matches!(notice, Notice::Connected { .. });
        self.notices.iter().any(is_connected)
    }

    /// Whether the node has given the peer up.
    pub(super) fn is_closed(&self) -> bool {
        let is_closed = |notice: &Notice| matches!(notice, Notice::Closed { .. });
        self.notices.iter().any(is_closed)
    }

    /// The transport is closed.
    ///
    /// Panics: when something of it is left.
    pub(super) fn close(mut self) {
        self.command(Command::Close { transport: TRANSPORT });
        assert!(self.plane.is_empty(), "entries are left");
        assert!(self.agent.is_idle(), "the agent still has state");
    }

    fn settle(&mut self) {
        loop {
            let mut is_idle = true;
            while let Some(event) = self.plane.poll() {
                is_idle = false;
                self.agent.event(self.now, event, &mut self.plane, &mut self.notices);
            }
            is_idle &= !self
                .agent
                .compute_handshakes(self.now, &mut self.plane, &mut self.notices);
            for Egress { bytes, .. } in self.plane.take_injected() {
                is_idle = false;
                match wire::classify(&bytes) {
                    PacketKind::Dtls => {
                        self.sent += 1;
                        self.outgoing.push(bytes);
                    }
                    _ => {
                        let answer = virtual_device::answer(&bytes, PATH.local, &credentials("peer").password);
                        answer.iter().for_each(|answer| self.hand_in(answer));
                    }
                }
            }
            if is_idle {
                return;
            }
        }
    }
}

fn credentials(side: &str) -> IceCredentials {
    IceCredentials {
        ufrag: side.to_owned(),
        password: format!("{side}-password-of-22-characters"),
    }
}

fn remote(certificate: &[u8]) -> RemoteTransport {
    RemoteTransport {
        credentials: credentials("peer"),
        fingerprints: vec![Fingerprint {
            hash: HashFunction::Sha256,
            digest: ring::digest::digest(&ring::digest::SHA256, certificate)
                .as_ref()
                .to_vec(),
        }],
        dtls: DtlsRole::Server,
        extensions_in: ExtensionMap::default(),
        extensions_out: ExtensionMap::default(),
        sctp_port: Some(5_000),
    }
}

/// A connectivity check that nominates the path.
fn check() -> Vec<u8> {
    let message = StunMessage::binding_request("node:peer", TransId::new(), true, 7, 100, true);
    let mut bytes = vec![0; 256];
    let hmac = |key: &[u8], parts: &[&[u8]]| DefaultSha1HmacProvider.sha1_hmac(key, parts);
    let len = message
        .to_bytes(Some(credentials("node").password.as_bytes()), &mut bytes, hmac)
        .expect("a check fits");
    bytes.truncate(len);
    bytes
}
