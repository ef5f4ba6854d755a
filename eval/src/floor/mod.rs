//! The floor, a lower bound for the cost of any server: copy, seal and send to the same kind of
//! sinks, with nothing to decide.
//!
//! A child process is the ideal server, so that its processor time is counted like a server's. It
//! makes the frames itself: nothing is received, matched or rewritten. It copies each packet once
//! for each receiver, seals the copy with that receiver's key and hands the kernel one run of
//! segments per receiver and packet size. This process is the clients: it receives, decrypts and
//! counts with the code of a real run.
//!
//! Between two network namespaces ([`Cable`]) it is the generator-only run as well. Publishers then
//! send the packets that they would send to a server, and receivers send their reports, to a socket
//! that nobody reads. The machine's time beside the ideal server is then the cost of the generator.

mod publishing;
mod sender;
mod sinks;
mod source;

use std::ffi::OsString;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use backend_udp::srtp::{Opener, Sealer};
use dataplane::{MasterKey, SrtpProfile};
use serde::{Deserialize, Serialize};

use crate::client::Plan;
use crate::clock;
use crate::measure::{Busiest, Machine, SocketDrops};
use crate::media::{Camera, PublishPlan};
use crate::report::{Cost, Latency, Report};
use crate::run::RunError;
use crate::scenario::{Behaviour, Scenario};
use publishing::Publishing;
use sinks::Sinks;

pub use sender::send;

/// The ideal server's orders from its parent process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Orders {
    /// The address to send from.
    local: IpAddr,
    /// The sinks.
    sinks: Vec<SocketAddr>,
    /// Whether clients send to this side, to be discarded.
    clients_send: bool,
    /// For each sink, the sources it hears.
    hears: Vec<Vec<u32>>,
    /// For each source that sends, its number and when in a frame interval its frames are due, in
    /// microseconds.
    sources: Vec<(u32, u64)>,
    /// The media of each publisher.
    publish: PublishPlan,
    /// How long to send.
    milliseconds: u64,
}

impl Orders {
    /// The camera of a source whose first frame is due at `start`, unless it is a microphone.
    fn camera(&self, source: u32, start: Instant) -> Option<Camera> {
        let video = self.publish.video.filter(|_| !Plan::is_audio(source))?;
        Some(Camera::new(video, &self.publish, start))
    }
}

/// The ideal server's report at its end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Account {
    /// Packets of each source, by its number.
    packets: Vec<u64>,
    /// Payload bytes, before replication.
    octets: u64,
    /// Frames that left late.
    late: u64,
    /// Processor time spent, in nanoseconds.
    cpu_ns: u64,
    /// Processor time that the generator spent meanwhile, in nanoseconds.
    generator_cpu_ns: u64,
    /// The share of all processors that was idle.
    idle_share: f64,
    /// The share that the host gave to other machines.
    stolen_share: f64,
    /// The busiest process beside the two.
    busiest_other: Option<Busiest>,
}

/// The placement of the ideal server and the sinks.
#[derive(Clone, Debug)]
pub struct Cable {
    /// The words in front of the ideal server's command, which put it where it has to run.
    pub place: Vec<String>,
    /// Its address there.
    pub server: IpAddr,
    /// The sinks' address.
    pub clients: IpAddr,
    /// Whether clients send too: publishers their media, receivers their reports.
    pub clients_send: bool,
}

impl Default for Cable {
    /// Loopback, and clients that only receive: the floor alone.
    fn default() -> Self {
        let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
        Self {
            place: Vec::new(),
            server: loopback,
            clients: loopback,
            clients_send: false,
        }
    }
}

/// Port of the discard service (RFC 863), which drops the clients' packets.
const DISCARD_PORT: u16 = 9;

/// The SRTP profile that clients of this generator negotiate with most servers. A comparison of a
/// server with the floor needs the same one.
const PROFILE: SrtpProfile = SrtpProfile::AeadAes256Gcm;
/// Time in which packets under way at the end of the sender arrive.
const DRAIN: Duration = Duration::from_millis(300);

/// Measures the floor of a scenario.
pub fn measure(scenario: Scenario, behaviour: &Behaviour, window: Duration, cable: &Cable) -> Result<Report, RunError> {
    let (plans, publish) = (scenario.plans("floor", behaviour), behaviour.publish);
    let receivers: Vec<_> = plans.iter().filter(|plan| !plan.hears.is_empty()).collect();
    let mut sinks =
        Sinks::open(cable.clients, receivers.iter().map(|plan| plan.hears.as_slice())).map_err(RunError::Machine)?;
    let publishing = plans.iter().filter(|plan| plan.publish.is_some());
    let orders = Orders {
        local: cable.server,
        sinks: sinks.addresses(),
        clients_send: cable.clients_send,
        hears: receivers.iter().map(|plan| plan.hears.clone()).collect(),
        sources: publishing
            .flat_map(|plan| {
                let phase = plan.phase.as_micros() as u64;
                let camera = publish.video.map(|_| (plan.video_source(), phase));
                camera
                    .into_iter()
                    .chain(publish.audio.then_some((plan.audio_source(), phase)))
            })
            .collect(),
        publish,
        milliseconds: window.as_millis() as u64,
    };
    let drops = SocketDrops::sample();
    let account = run_sender(&orders, &mut sinks, window, cable).map_err(RunError::Machine)?;

    let seconds = window.as_secs_f64();
    let mut report = Report {
        target: "floor".into(),
        scenario: scenario.to_string(),
        negotiated: format!("{}, GSO runs", PROFILE.name()),
        participants: scenario.participants(),
        seconds,
        packets_sent: account.packets.iter().sum(),
        offered_bits_per_second: account.octets as f64 * 8.0 / seconds,
        late_frames: account.late,
        latency: Latency::of(&sinks.totals().latency),
        foreign: sinks.totals().foreign,
        damaged: sinks.totals().damaged,
        to_last: Latency::of(&sinks.totals().to_last()),
        idle_share: account.idle_share,
        stolen_share: account.stolen_share,
        busiest_other: account.busiest_other,
        ..Report::default()
    };
    for (source, tally) in sinks.meters().flat_map(|meter| meter.sources()) {
        report.count(
            source,
            tally,
            0..account.packets.get(source as usize).copied().unwrap_or(0),
        );
    }
    // The floor leaves no packet out.
    report.given_up = report.lost;
    let ports: Vec<u16> = orders.sinks.iter().map(SocketAddr::port).collect();
    let at_sinks = |drops: &SocketDrops| drops.at(|port| ports.contains(&port));
    report.dropped_at_clients = at_sinks(&SocketDrops::sample()).saturating_sub(at_sinks(&drops));
    let replicas = report.replicas_received;
    report.server = Some(Cost::of(Duration::from_nanos(account.cpu_ns), seconds, replicas));
    report.generator = Cost::of(Duration::from_nanos(account.generator_cpu_ns), seconds, replicas);
    report.attribute_rest(Machine::processors());
    Ok(report)
}

/// Starts the child, reads the sinks until it ends, and takes its account.
fn run_sender(orders: &Orders, sinks: &mut Sinks, window: Duration, cable: &Cable) -> io::Result<Account> {
    let text = serde_json::to_string(orders)?;
    let mut words = cable.place.iter().map(OsString::from).collect::<Vec<_>>();
    words.extend([std::env::current_exe()?.into(), "floor-sender".into(), text.into()]);
    let child = Command::new(&words[0])
        .args(&words[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut child = KilledOnDrop(child);
    let server = SocketAddr::from((cable.server, DISCARD_PORT));
    if cable.clients_send {
        sinks.report_to(server);
    }
    let mut publishing = cable
        .clients_send
        .then(|| Publishing::new(orders, (cable.clients, server), clock::now() + sender::LEAD))
        .transpose()?;
    let more = Duration::from_secs(1);
    sinks.read_for(window + sender::LEAD + more, publishing.as_mut(), || {
        matches!(child.0.try_wait(), Ok(None))
    })?;
    sinks.read_for(DRAIN, None, || true)?;
    let mut text = String::new();
    if let Some(mut out) = child.0.stdout.take() {
        out.read_to_string(&mut text)?;
    }
    serde_json::from_str(&text).map_err(|_| io::Error::other("the floor's sender failed"))
}

/// A child that does not outlive its parent's interest.
struct KilledOnDrop(Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        // It has ended by itself in all but failed runs.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The key for packets to a sink: both ends know it without a handshake.
fn key(sink: usize) -> MasterKey {
    let mut key = [0x5a; 32];
    key[..8].copy_from_slice(&(sink as u64).to_be_bytes());
    MasterKey::new(PROFILE, &key[..PROFILE.key_len()], &[0xa5; 14][..PROFILE.salt_len()])
        .expect("lengths are the profile's")
}

fn sealer(sink: usize) -> Sealer {
    Sealer::new(&key(sink))
}

fn opener(sink: usize) -> Opener {
    Opener::new(&key(sink))
}
