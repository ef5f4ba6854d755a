//! The simulator in this process.

#![allow(
    clippy::disallowed_methods,
    reason = "the switch of a test runs by the machine's clock"
)]

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use switch_sim::{Options, Output, Server};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

use crate::Switch;

/// A simulated switch that serves controllers on loopback.
pub struct Simulated {
    /// The switch.
    pub server: Server,
    address: SocketAddr,
    sent: Arc<Mutex<Vec<Output>>>,
    /// Serves until it is dropped.
    _runtime: Runtime,
}

impl Simulated {
    /// Starts a switch.
    pub fn start(options: Options) -> io::Result<Self> {
        let sent = Arc::new(Mutex::new(Vec::new()));
        let start = Instant::now();
        let sink = Arc::clone(&sent);
        let server = Server::new(
            options,
            Arc::new(move || start.elapsed()),
            Arc::new(move |outputs| sink.lock().unwrap_or_else(PoisonError::into_inner).extend(outputs)),
        );
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let address = listener.local_addr()?;
        let serving = server.clone();
        runtime.spawn(async move { serving.serve(listener, std::future::pending()).await });
        Ok(Self {
            server,
            address,
            sent,
            _runtime: runtime,
        })
    }
}

impl Switch for Simulated {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn packet(&mut self, port: u16, bytes: &[u8]) -> Vec<Output> {
        self.server.packet(port, bytes)
    }

    fn packet_for(&mut self, port: u16, bytes: &[u8], _: usize) -> Vec<Output> {
        self.packet(port, bytes)
    }

    fn send(&mut self, port: u16, bytes: &[u8]) {
        let outputs = self.server.packet(port, bytes);
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).extend(outputs);
    }

    fn sent(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.sent.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
