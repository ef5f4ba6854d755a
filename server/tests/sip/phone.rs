//! A phone: two sockets, RTP out and in, and keys where there are to be any.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use backend_udp::srtp::{Opener, Sealer};
use wire::rtcp::{ReportBlock, SenderInfo, write_receiver_report, write_sender_report};
use wire::srtp::{MasterKey, SrtpProfile};
use wire::{NtpTime, RtpTimestamp, Ssrc};

/// How long a packet may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Bytes of an RTP header without anything optional.
const HEADER: usize = 12;

/// The most bytes that SRTP adds.
const TAG: usize = 16;

pub(crate) struct Phone {
    rtp: UdpSocket,
    rtcp: UdpSocket,
    ssrc: u32,
    sequence: u16,
    to: u16,
    srtp: Option<(Sealer, Opener)>,
}

impl Phone {
    pub(crate) fn new(ssrc: u32) -> Self {
        let (rtp, rtcp) = pair();
        for socket in [&rtp, &rtcp] {
            socket.set_read_timeout(Some(PATIENCE)).expect("a time");
        }
        Phone {
            rtp,
            rtcp,
            ssrc,
            sequence: 0,
            to: 0,
            srtp: None,
        }
    }

    pub(crate) fn two() -> [Phone; 2] {
        [Phone::new(1), Phone::new(2)]
    }

    /// One that protects what it sends with `ours`, and expects `theirs`.
    pub(crate) fn protect(&mut self, ours: &MasterKey, theirs: &MasterKey) {
        self.srtp = Some((Sealer::new(ours), Opener::new(theirs)));
    }

    pub(crate) fn port(&self) -> u16 {
        self.rtp.local_addr().expect("bound").port()
    }

    pub(crate) fn send_to(&mut self, port: u16) {
        self.to = port;
    }

    pub(crate) fn description(&self) -> String {
        self.description_as("RTP/AVP", "")
    }

    pub(crate) fn description_as(&self, protocol: &str, more: &str) -> String {
        format!(
            "v=0\r\no=- {} 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio {} {protocol} 0\r\na=rtpmap:0 PCMU/8000\r\n{more}",
            self.ssrc,
            self.port()
        )
    }

    /// Sends twenty milliseconds of sound; what was said.
    pub(crate) fn speak(&mut self) -> Vec<u8> {
        self.sequence += 1;
        let mut packet = vec![0x80, 0];
        packet.extend(self.sequence.to_be_bytes());
        packet.extend((u32::from(self.sequence) * 160).to_be_bytes());
        packet.extend(self.ssrc.to_be_bytes());
        packet.extend([self.sequence as u8; 160]);
        let mut bytes = packet.clone();
        if let Some((sealer, _)) = &mut self.srtp {
            bytes.resize(packet.len() + TAG, 0);
            let len = sealer.seal_rtp(&mut bytes, packet.len(), HEADER, u64::from(self.sequence));
            bytes.truncate(len);
        }
        self.rtp.send_to(&bytes, self.relay(self.to)).expect("sent");
        packet
    }

    /// The next packet, decrypted, if one arrives.
    pub(crate) fn hear(&mut self) -> Option<Vec<u8>> {
        let mut buffer = [0; 2048];
        let len = self.rtp.recv(&mut buffer).ok()?;
        let mut packet = buffer[..len].to_vec();
        if let Some((_, opener)) = &mut self.srtp {
            let opened = opener.open_rtp(&mut packet, HEADER).expect("the right keys");
            packet.truncate(opened.len);
        }
        Some(packet)
    }

    /// Whether no packet arrives for half a second.
    pub(crate) fn hears_nothing(&self) -> bool {
        let wait = |time| self.rtp.set_read_timeout(Some(time)).expect("a time");
        wait(Duration::from_millis(500));
        let result = self.rtp.recv(&mut [0; 2048]);
        wait(PATIENCE);
        result.is_err()
    }

    /// Says when it has sent what.
    pub(crate) fn report(&self, ntp: u64) {
        let info = SenderInfo {
            ntp: NtpTime(ntp << 16),
            rtp: RtpTimestamp(0),
            packets: u32::from(self.sequence),
            octets: 0,
        };
        let mut bytes = Vec::new();
        write_sender_report(&mut bytes, Ssrc(self.ssrc), &info, &[]);
        self.send_rtcp(&bytes);
    }

    /// Says how it gets the other one, whose newest report it names.
    pub(crate) fn judge(&self, ssrc: u32, last_sender_report: u32, fraction_lost: u8) {
        let block = ReportBlock {
            ssrc: Ssrc(ssrc),
            fraction_lost,
            cumulative_lost: 0,
            highest_sequence: 1,
            jitter: 40,
            last_sender_report,
            delay_since_last_sender_report: 0,
        };
        let mut bytes = Vec::new();
        write_receiver_report(&mut bytes, Ssrc(self.ssrc), &[block]);
        self.send_rtcp(&bytes);
    }

    /// RTCP that comes, if some does.
    pub(crate) fn hear_rtcp(&self) -> Option<Vec<u8>> {
        let mut buffer = [0; 2048];
        let len = self.rtcp.recv(&mut buffer).ok()?;
        Some(buffer[..len].to_vec())
    }

    fn send_rtcp(&self, bytes: &[u8]) {
        self.rtcp.send_to(bytes, self.relay(self.to + 1)).expect("sent");
    }

    fn relay(&self, port: u16) -> SocketAddr {
        ([127, 0, 0, 1], port).into()
    }
}

/// Both hear everything the other says.
pub(crate) fn converse(phones: &mut [Phone; 2], packets: usize) {
    for _ in 0..packets {
        for speaker in [0, 1] {
            let said = phones[speaker].speak();
            assert_eq!(phones[1 - speaker].hear(), Some(said), "from {speaker}");
        }
    }
}

/// An even port and the next.
fn pair() -> (UdpSocket, UdpSocket) {
    loop {
        let rtp = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let port = rtp.local_addr().expect("bound").port();
        if port.is_multiple_of(2)
            && let Ok(rtcp) = UdpSocket::bind(("127.0.0.1", port + 1))
        {
            return (rtp, rtcp);
        }
    }
}

/// A key for AES-CM with HMAC-SHA1, and how descriptions write it.
pub(crate) fn key(seed: u8) -> (MasterKey, String) {
    use base64::Engine;
    let bytes: Vec<u8> = (0..30).map(|n| n ^ seed).collect();
    let (key, salt) = bytes.split_at(16);
    let text = base64::engine::general_purpose::STANDARD.encode(&bytes);
    let key = MasterKey::new(SrtpProfile::AesCm128HmacSha1_80, key, salt).expect("its lengths are right");
    (key, format!("a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:{text}\r\n"))
}

/// The line of that suite in a description.
fn line_in(sdp: &str) -> &str {
    let mut lines = sdp.lines();
    lines
        .find_map(|line| {
            line.strip_prefix("a=crypto:")
                .filter(|line| line.contains("AES_CM_128_HMAC_SHA1_80"))
        })
        .expect("a key")
}

/// The number of that suite in a description.
pub(crate) fn tag_in(sdp: &str) -> &str {
    line_in(sdp).split(' ').next().expect("a number")
}

/// The key of that suite that a description names.
pub(crate) fn key_in(sdp: &str) -> MasterKey {
    use base64::Engine;
    let line = line_in(sdp);
    let text = line
        .split("inline:")
        .nth(1)
        .and_then(|text| text.split('|').next())
        .expect("a key");
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(text.trim())
        .expect("base64");
    let (key, salt) = bytes.split_at(16);
    MasterKey::new(SrtpProfile::AesCm128HmacSha1_80, key, salt).expect("its lengths are right")
}
