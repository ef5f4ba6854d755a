//! What no server could undercut: copy, seal and send, with nothing to decide, to the same kind of sinks.
//!
//! A child process plays the ideal server, so that its processor time is counted as a server's is. It makes the frames itself
//! (nothing is received, matched or rewritten), copies each packet once for each receiver, seals it with that receiver's key and
//! hands the kernel one run of segments per receiver and packet size. This process plays the clients: it receives, decrypts and
//! counts with the code of a real run.

mod sender;
mod sinks;

use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use backend_udp::srtp::{Opener, Sealer};
use dataplane::{MasterKey, SrtpProfile};
use serde::{Deserialize, Serialize};

use crate::measure::{Machine, SocketDrops, process};
use crate::media::VideoPlan;
use crate::report::{Cost, Latency, Report};
use crate::run::RunError;
use crate::scenario::{Behaviour, Scenario};
use sinks::Sinks;

pub use sender::send;

/// What the ideal server is to send, as its parent tells it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Orders {
    /// The ports of the sinks on loopback.
    ports: Vec<u16>,
    /// For each sink, the sources it hears.
    hears: Vec<Vec<u32>>,
    /// For each source that sends, its number and when in a frame interval its frames are due, in microseconds.
    sources: Vec<(u32, u64)>,
    /// Video bits a second, frames a second, seconds between key frames; none for audio only.
    video: Option<(u64, u32, u64)>,
    /// How long to send.
    milliseconds: u64,
}

/// What the ideal server says at its end.
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
    /// Resident memory at the end.
    resident_bytes: u64,
}

/// What clients of this generator agree on with most servers; a benchmark of one against the other has to use the same.
const PROFILE: SrtpProfile = SrtpProfile::AeadAes256Gcm;
/// What is under way when the sender ends arrives within this.
const DRAIN: Duration = Duration::from_millis(300);

/// Measures the floor of a scenario.
pub fn measure(scenario: Scenario, behaviour: &Behaviour, window: Duration) -> Result<Report, RunError> {
    let (plans, publish) = (scenario.plans("floor", behaviour), behaviour.publish);
    let receivers: Vec<_> = plans.iter().filter(|plan| !plan.hears.is_empty()).collect();
    let mut sinks = Sinks::open(receivers.iter().map(|plan| plan.hears.as_slice())).map_err(RunError::Machine)?;
    let video = |plan: VideoPlan| (plan.bitrate, plan.frame_rate, plan.key_interval.as_secs());
    let publishing = plans.iter().filter(|plan| plan.publish.is_some());
    let orders = Orders {
        ports: sinks.ports(),
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
        video: publish.video.map(video),
        milliseconds: window.as_millis() as u64,
    };
    let (machine, generator, drops) = (Machine::sample(), process(std::process::id()), SocketDrops::sample());
    let account = run_sender(&orders, &mut sinks, window).map_err(RunError::Machine)?;
    let idle_share = Machine::sample().idle_share_since(&machine);
    let generator_after = process(std::process::id());

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
        idle_share,
        ..Report::default()
    };
    for (source, tally) in sinks.meters().flat_map(|meter| meter.sources()) {
        report.count(
            source,
            tally,
            0..account.packets.get(source as usize).copied().unwrap_or(0),
        );
    }
    // Nothing of the floor is held back.
    report.given_up = report.lost;
    let ports = sinks.ports();
    let at_sinks = |drops: &SocketDrops| drops.at(|port| ports.contains(&port));
    report.dropped_at_clients = at_sinks(&SocketDrops::sample()).saturating_sub(at_sinks(&drops));
    let replicas = report.replicas_received;
    report.server = Some(Cost::of(Duration::from_nanos(account.cpu_ns), seconds, replicas));
    if let (Some(before), Some(after)) = (generator, generator_after) {
        report.generator = Cost::of(after.cpu.saturating_sub(before.cpu), seconds, replicas);
    }
    report.attribute_rest(Machine::processors());
    Ok(report)
}

/// Starts the child, reads the sinks until it ends, and takes its account.
fn run_sender(orders: &Orders, sinks: &mut Sinks, window: Duration) -> io::Result<Account> {
    let orders = serde_json::to_string(orders)?;
    let child = Command::new(std::env::current_exe()?)
        .args(["floor-sender", &orders])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut child = KilledOnDrop(child);
    sinks.read_for(window + sender::LEAD, || matches!(child.0.try_wait(), Ok(None)))?;
    sinks.read_for(DRAIN, || true)?;
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

/// The key by which packets to a sink are sealed: both ends know it without a handshake.
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
