//! BMv2 with our program, on the near end of the cable.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use harness::RunningServer;
use p4runtime::config::P4Info;
use p4runtime::v1;
use p4runtime::v1::p4_runtime_client::P4RuntimeClient;
use p4runtime::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime::v1::stream_message_request::Update as Request;
use tokio::sync::mpsc as channel;
use tokio::sync::oneshot;
use tonic::codegen::tokio_stream::wrappers::ReceiverStream;
use veth::Side;

use crate::entries::{self, Replication};

type Failure = Box<dyn Error + Send + Sync>;

/// The switch's program, and where to look for it instead.
pub(crate) const PROGRAM: &str = "simple_switch_grpc";
pub(crate) const VARIABLE: &str = "SIMPLE_SWITCH_GRPC";

/// In a namespace of its own, no other switch has it.
const ADDRESS: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 9_559);
const DEVICE: u64 = 1;
const ELECTION: v1::Uint128 = v1::Uint128 { high: 0, low: 1 };
/// Longer than any measurement with one switch: a full run of 19 viewers takes three minutes.
const LEASE_US: u32 = u32::MAX;
/// Within so long the switch has its program and entries.
const WRITE_MAX: Duration = Duration::from_secs(20);

/// A running switch, and its controller; both end when it is dropped.
pub(crate) struct Switch {
    over: Option<oneshot::Sender<()>>,
    controller: Option<JoinHandle<()>>,
    _server: RunningServer,
}

/// The program as it was compiled, for BMv2, and its description.
fn compiled(replication: Replication) -> (&'static [u8], &'static str) {
    macro_rules! compiled {
        ($name:literal) => {
            (
                include_bytes!(concat!("../../../backends/p4/program/compiled/", $name, ".json")),
                include_str!(concat!(
                    "../../../backends/p4/program/compiled/",
                    $name,
                    ".p4info.txtpb"
                )),
            )
        };
    }
    match replication {
        Replication::Multicast => compiled!("multicast"),
        Replication::Recirculation => compiled!("recirculation"),
        Replication::Tree => compiled!("tree"),
    }
}

impl Switch {
    /// Starts the switch and writes the entries of a stream. Its output goes to `log`.
    ///
    /// Errors: the switch does not start, or refuses program or entries.
    pub(crate) fn start(side: &Side, program: &Path, copied: &entries::Copied, log: PathBuf) -> Result<Self, Failure> {
        let (config, text) = compiled(copied.replication);
        let info = p4runtime::p4info(text)?;
        let entries = entries::entries(&info, copied)?;
        let address = SocketAddr::from(ADDRESS);
        let interface = format!("1@{}", side.interface);
        let command = [
            &program.to_string_lossy(),
            "--no-p4",
            "--device-id",
            &DEVICE.to_string(),
            "-i",
            &interface,
            "--",
            "--cpu-port",
            "510",
            "--grpc-server-addr",
            &address.to_string(),
        ]
        .map(String::from);
        let server = side.run(|| RunningServer::start(&command, address, log))?;
        let (over, until) = oneshot::channel();
        let (written, is_written) = mpsc::sync_channel(1);
        let controller = side.run(|| {
            thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                match runtime {
                    Ok(runtime) => runtime.block_on(control(config, info, entries, &written, until)),
                    Err(error) => drop(written.send(Err(error.into()))),
                }
            })
        });
        let switch = Switch {
            over: Some(over),
            controller: Some(controller),
            _server: server,
        };
        is_written.recv_timeout(WRITE_MAX)??;
        Ok(switch)
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        drop(self.over.take());
        if let Some(controller) = self.controller.take() {
            let _ = controller.join();
        }
    }
}

/// Writes everything, says so, and reads the switch's reports until the end.
async fn control(
    config: &[u8],
    info: P4Info,
    entries: Vec<v1::Entity>,
    written: &mpsc::SyncSender<Result<(), Failure>>,
    until: oneshot::Receiver<()>,
) {
    match connect(config, info, entries).await {
        Ok((mut incoming, _outgoing)) => {
            let _ = written.send(Ok(()));
            let read = async { while let Ok(Some(_)) = incoming.message().await {} };
            // An error is the other end's drop: the end as well.
            tokio::select! { _ = until => (), () = read => () }
        }
        Err(error) => drop(written.send(Err(error))),
    }
}

type Stream = tonic::Streaming<v1::StreamMessageResponse>;

async fn connect(
    config: &[u8],
    info: P4Info,
    entries: Vec<v1::Entity>,
) -> Result<(Stream, channel::Sender<v1::StreamMessageRequest>), Failure> {
    let mut client = P4RuntimeClient::connect(format!("http://{}", SocketAddr::from(ADDRESS))).await?;
    let (out, requests) = channel::channel(4);
    let arbitration = v1::MasterArbitrationUpdate {
        device_id: DEVICE,
        election_id: Some(ELECTION),
        ..Default::default()
    };
    out.send(request(Request::Arbitration(arbitration))).await?;
    let mut incoming = client.stream_channel(ReceiverStream::new(requests)).await?.into_inner();
    // The switch answers the arbitration before it takes writes.
    incoming.message().await?;
    let pipeline = v1::SetForwardingPipelineConfigRequest {
        device_id: DEVICE,
        election_id: Some(ELECTION),
        action: Action::VerifyAndCommit.into(),
        config: Some(v1::ForwardingPipelineConfig {
            p4info: Some(info),
            p4_device_config: config.to_vec(),
            cookie: None,
        }),
        ..Default::default()
    };
    client.set_forwarding_pipeline_config(pipeline).await?;
    let insert = |entity| v1::Update {
        r#type: v1::update::Type::Insert.into(),
        entity: Some(entity),
    };
    let write = v1::WriteRequest {
        device_id: DEVICE,
        election_id: Some(ELECTION),
        updates: entries.into_iter().map(insert).collect(),
        ..Default::default()
    };
    client.write(write).await?;
    out.send(request(Request::Packet(entries::lease(LEASE_US)))).await?;
    Ok((incoming, out))
}

fn request(update: Request) -> v1::StreamMessageRequest {
    v1::StreamMessageRequest { update: Some(update) }
}
