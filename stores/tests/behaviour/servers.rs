//! Servers that a test starts and ends.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs, io, process};

use stores::{Config, EtcdConfig, RedisConfig, Store, open};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Etcd,
    Redis,
}

/// A server with its data in a folder that goes with it.
pub(crate) struct Server {
    kind: Kind,
    pub(crate) port: u16,
    arguments: Vec<String>,
    peer_port: u16,
    folder: PathBuf,
    process: Child,
    store: Arc<dyn Store>,
}

impl Server {
    /// None, and a line that says so, where the package is not installed.
    pub(crate) async fn start(kind: Kind) -> Option<Self> {
        Self::start_with(kind, &[]).await
    }

    /// The same, with more arguments.
    pub(crate) async fn start_with(kind: Kind, arguments: &[&str]) -> Option<Self> {
        let arguments: Vec<String> = arguments.iter().copied().map(String::from).collect();
        let [port, peer_port] = ports::free_ports();
        let folder = env::temp_dir().join(format!("weir-store-{}-{port}", process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let process = match spawn(kind, port, peer_port, &folder, &arguments) {
            Ok(process) => process,
            Err(error) => {
                skip::skipped(&format!("the store in {kind:?}"), error);
                let _ = fs::remove_dir_all(&folder);
                return None;
            }
        };
        let config = match kind {
            Kind::Etcd => Config::Etcd(EtcdConfig {
                endpoints: vec![format!("http://127.0.0.1:{port}")],
                ..EtcdConfig::default()
            }),
            Kind::Redis => Config::Redis(RedisConfig {
                address: format!("127.0.0.1:{port}"),
                ..RedisConfig::default()
            }),
        };
        let store = open(&config).expect("a store");
        let server = Self {
            kind,
            port,
            arguments,
            peer_port,
            folder,
            process,
            store,
        };
        server.ready().await;
        Some(server)
    }

    pub(crate) fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    /// Waits until the store answers.
    pub(crate) async fn ready(&self) {
        for _ in 0..100 {
            if self.store.get("ready").await.is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("{:?} does not answer: {:?}", self.kind, self.store.get("ready").await);
    }

    /// Sends a signal to the server.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args([name, &self.process.id().to_string()])
            .status();
        assert!(sent.is_ok_and(|status| status.success()), "{name} is sent");
    }

    /// Kills the server, which is not started again.
    pub(crate) fn stop(&mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it ended");
    }

    /// Kills the server and starts it again, without its data if `forget`.
    pub(crate) fn restart(&mut self, forget: bool) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it ended");
        if forget {
            fs::remove_dir_all(&self.folder).expect("it is there");
            fs::create_dir_all(&self.folder).expect("a folder");
        }
        self.process = spawn(self.kind, self.port, self.peer_port, &self.folder, &self.arguments).expect("it starts");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn spawn(kind: Kind, port: u16, peer_port: u16, folder: &Path, arguments: &[String]) -> io::Result<Child> {
    let mut command = match kind {
        Kind::Etcd => {
            let (client, peer) = (
                format!("http://127.0.0.1:{port}"),
                format!("http://127.0.0.1:{peer_port}"),
            );
            let mut command = Command::new("etcd");
            command.arg("--data-dir").arg(folder.join("data"));
            command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
            command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
            command.arg("--initial-cluster").arg(format!("default={peer}"));
            command.args([
                "--heartbeat-interval",
                "20",
                "--election-timeout",
                "200",
                "--unsafe-no-fsync",
            ]);
            command
        }
        Kind::Redis => {
            let mut command = Command::new("redis-server");
            command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
            command
                .args([
                    "--repl-diskless-sync-delay",
                    "0",
                    "--appendonly",
                    "yes",
                    "--appendfsync",
                    "always",
                    "--dir",
                ])
                .arg(folder);
            command
        }
    };
    command.args(arguments);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

/// Runs the client of etcd. False, and a line that says so, where it is not installed.
pub(crate) fn etcdctl(port: u16, arguments: &[&str]) -> bool {
    let mut command = Command::new("etcdctl");
    command.env("ETCDCTL_API", "3");
    command
        .arg(format!("--endpoints=http://127.0.0.1:{port}"))
        .args(arguments);
    match command.output() {
        Ok(output) => {
            assert!(output.status.success(), "{arguments:?}: {output:?}");
            true
        }
        Err(error) => {
            skip::skipped("a part of the store in etcd", error);
            false
        }
    }
}

/// The output of the client of Redis.
pub(crate) fn redis(port: u16, arguments: &[&str]) -> String {
    let output = Command::new("redis-cli")
        .args(["-p", &port.to_string()])
        .args(arguments)
        .output();
    String::from_utf8_lossy(&output.expect("it comes with the server").stdout).into_owned()
}

/// A Sentinel of a master that it calls `calls`. None, and a line that says so, where the package
/// is not installed.
pub(crate) async fn sentinel(master: u16) -> Option<Sentinel> {
    let port = ports::free_port();
    let file = env::temp_dir().join(format!("weir-sentinel-{}-{port}.conf", process::id()));
    let text = format!(
        "port {port}\nbind 127.0.0.1\nsentinel monitor calls 127.0.0.1 {master} 1\n\
         sentinel down-after-milliseconds calls 1000\nsentinel failover-timeout calls 3000\n"
    );
    fs::write(&file, text).expect("a file");
    let mut command = Command::new("redis-sentinel");
    command
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    match command.spawn() {
        Ok(process) => {
            tokio::time::sleep(Duration::from_millis(500)).await;
            Some(Sentinel { port, file, process })
        }
        Err(error) => {
            skip::skipped("Sentinels of Redis", error);
            let _ = fs::remove_file(&file);
            None
        }
    }
}

pub(crate) struct Sentinel {
    pub(crate) port: u16,
    file: PathBuf,
    process: Child,
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_file(&self.file);
    }
}
