//! Servers of stores that a test starts and ends.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::{env, fs, io, process};

use stores::{Config, EtcdConfig, RedisConfig, Store, open};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Etcd,
    Redis,
}

/// A server with its data in a folder that goes with it.
pub(crate) struct StoreServer {
    kind: Kind,
    port: u16,
    peer_port: u16,
    folder: PathBuf,
    child: Child,
    store: Arc<dyn Store>,
}

impl StoreServer {
    /// None, and a line that says so, where the package is not installed.
    pub(crate) async fn start(kind: Kind) -> Option<Self> {
        let [port, peer_port] = ports::free_ports();
        let folder = env::temp_dir().join(format!("weir-media-store-{}-{port}", process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let child = match spawn(kind, port, peer_port, &folder) {
            Ok(child) => child,
            Err(error) => {
                skip::skipped(&format!("a media node with {kind:?}"), error);
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
        let server = Self {
            kind,
            port,
            peer_port,
            folder,
            child,
            store: open(&config).expect("a store"),
        };
        server.answers().await;
        Some(server)
    }

    pub(crate) fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    /// The setting by which a node finds it.
    pub(crate) fn setting(&self) -> String {
        let port = self.port;
        match self.kind {
            Kind::Etcd => format!("{{etcd: {{endpoints: ['http://127.0.0.1:{port}']}}}}"),
            Kind::Redis => format!("{{redis: {{address: '127.0.0.1:{port}'}}}}"),
        }
    }

    async fn answers(&self) {
        crate::until("the store answers", async || self.store.get("ready").await.is_ok()).await;
    }

    pub(crate) fn stop(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ended");
    }

    /// Starts it after [`stop`](Self::stop), without its data if it `forgets`, and waits until it
    /// answers.
    pub(crate) async fn start_again(&mut self, forgets: bool) {
        if forgets {
            fs::remove_dir_all(&self.folder).expect("it is there");
            fs::create_dir_all(&self.folder).expect("a folder");
        }
        self.child = spawn(self.kind, self.port, self.peer_port, &self.folder).expect("it starts");
        self.answers().await;
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([name, &pid]).status();
        assert!(sent.is_ok_and(|status| status.success()), "{name} is sent");
    }
}

impl Drop for StoreServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn spawn(kind: Kind, port: u16, peer_port: u16, folder: &std::path::Path) -> io::Result<Child> {
    let mut command = match kind {
        Kind::Etcd => {
            let [client, peer] = [port, peer_port].map(|port| format!("http://127.0.0.1:{port}"));
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
            command.args(["--appendonly", "yes", "--appendfsync", "always", "--dir"]);
            command.arg(folder);
            command
        }
    };
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn()
}
