//! Does what the driver's state asks for, over one connection.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use p4runtime::v1;
use p4runtime::v1::stream_message_request::Update as Request;
use p4runtime::v1::stream_message_response::Update as Response;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tonic::{Code, Status};

use super::install;
use super::session::{End, Session, is_lost, is_primary, lost, request};
use super::status::{Failure, failure};
use crate::cells::Cell;
use crate::context::ANSWER_MAX;
use crate::core::Core;
use crate::link::{Away, LEASE};

/// The interval of leases and of what is due otherwise.
const TICK: Duration = Duration::from_millis(100);

/// The interval at which counters are read.
const READ_EVERY: Duration = Duration::from_secs(1);

/// How many counters are asked for in one request.
const CELLS_MAX: usize = 1_000;

/// A request on its way.
type Pending<T> = Option<Pin<Box<dyn Future<Output = Result<T, Status>> + Send>>>;

/// A request that is pending, or nothing for ever.
async fn answer<T>(pending: &mut Pending<T>) -> Result<T, Status> {
    let Some(request) = pending else {
        return std::future::pending().await;
    };
    let done = request.await;
    *pending = None;
    done
}

/// A request that is answered in time, or not at all.
fn in_time<T>(request: impl Future<Output = Result<T, Status>> + Send + 'static) -> Pending<T> {
    Some(Box::pin(async move {
        let done = timeout(ANSWER_MAX, request).await;
        done.unwrap_or_else(|_| Err(Status::deadline_exceeded("no answer")))
    }))
}

impl Session<'_> {
    /// Does what the state asks for, until the connection ends.
    pub(super) async fn run(&mut self) -> End {
        loop {
            if let Err(end) = self.become_primary().await {
                return end;
            }
            match timeout(4 * ANSWER_MAX, self.reconcile()).await {
                Ok(Ok(())) => {}
                Ok(Err(status)) if status.code() == Code::PermissionDenied => {
                    self.shared.handle(|core| core.down(Away::NotPrimary));
                    continue;
                }
                Ok(Err(status)) => return lost(&status),
                Err(_) => return End::Lost("no answer".to_owned()),
            }
            self.shared.handle(Core::up);
            match self.work().await {
                // This controller stays in line.
                End::NotPrimary => self.shared.handle(|core| core.down(Away::NotPrimary)),
                end => return end,
            }
        }
    }

    /// Waits until this controller may write.
    async fn become_primary(&mut self) -> Result<(), End> {
        let mut ticks = interval(TICK);
        let mut is_told = false;
        let mut waited = Duration::ZERO;
        loop {
            tokio::select! {
                message = self.incoming.message() => {
                    let message = message.map_err(|status| lost(&status))?;
                    let message = message.ok_or_else(|| End::Lost("the switch ended the stream".to_owned()))?;
                    if let Some(Response::Arbitration(update)) = message.update {
                        if is_primary(&update) {
                            return Ok(());
                        }
                        is_told = true;
                        self.shared.handle(|core| core.down(Away::NotPrimary));
                    }
                }
                _ = ticks.tick() => {
                    self.shared.handle(Core::tick);
                    waited += TICK;
                    if self.shared.is_over() || !is_told && waited > ANSWER_MAX {
                        return Err(End::Lost("no answer".to_owned()));
                    }
                }
            }
        }
    }

    async fn work(&mut self) -> End {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut reads = interval(READ_EVERY);
        reads.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut writing: Pending<()> = None;
        let mut updates = 0;
        let mut reading: Pending<Vec<v1::Entity>> = None;
        let mut asking: Pending<Option<u64>> = None;
        loop {
            if writing.is_none() {
                let batch = self.shared.handle(Core::next_batch);
                updates = batch.len();
                if updates > 0 {
                    let batch = batch.iter().map(|write| self.shared.schema.update(write));
                    let request = self.write_request(batch.collect());
                    let mut client = self.client.clone();
                    writing = in_time(async move { client.write(request).await.map(drop) });
                }
            }
            self.send_packets();
            tokio::select! {
                message = self.incoming.message() => match message {
                    Ok(Some(message)) => if let Some(end) = self.receive(message) { return end },
                    Ok(None) => return End::Lost("the switch ended the stream".to_owned()),
                    Err(status) => return lost(&status),
                },
                done = answer(&mut writing) => {
                    let outcomes = match done {
                        Ok(()) => vec![Ok(()); updates],
                        Err(status) => match failure(status, updates) {
                            Failure::Updates(outcomes) => outcomes,
                            Failure::NotPrimary => return End::NotPrimary,
                            Failure::Lost(status) => return lost(&status),
                        },
                    };
                    self.shared.handle(|core| core.answered(&outcomes));
                }
                done = answer(&mut reading) => match done {
                    Ok(entities) => self.counted(&entities),
                    Err(status) if is_lost(&status) => return lost(&status),
                    Err(_) => {}
                },
                done = answer(&mut asking) => match done {
                    Ok(cookie) if cookie == Some(self.program.cookie) => self.shared.handle(|core| core.link_answered()),
                    Ok(_) => return End::Changed,
                    Err(status) => return lost(&status),
                },
                _ = ticks.tick() => {
                    if self.shared.is_over() {
                        return End::Lost("it is over".to_owned());
                    }
                    let renews = self.shared.handle(|core| {
                        core.tick();
                        core.renews()
                    });
                    if renews {
                        let lease = self.shared.schema.lease(LEASE.as_micros() as u32);
                        let _ = self.out.try_send(request(Request::Packet(lease)));
                    }
                    if asking.is_none() {
                        asking = in_time(install::cookie(self.client.clone(), self.device));
                    }
                }
                _ = reads.tick() => if reading.is_none() {
                    reading = in_time(self.counters());
                },
                () = self.shared.work.notified() => {}
            }
        }
    }

    /// A message of the switch; a reason to end.
    fn receive(&self, message: v1::StreamMessageResponse) -> Option<End> {
        match message.update {
            Some(Response::Packet(packet)) => {
                let packet = self.shared.schema.packet_in(packet);
                self.shared.handle(|core| core.packet_in(packet));
                None
            }
            Some(Response::Arbitration(update)) if !is_primary(&update) => Some(End::NotPrimary),
            _ => None,
        }
    }

    fn send_packets(&self) {
        while self.out.capacity() > 0 {
            let Some(packet) = self.shared.handle(Core::next_packet_out) else {
                return;
            };
            let packet = self.shared.schema.send(packet.port, packet.frame);
            let _ = self.out.try_send(request(Request::Packet(packet)));
        }
    }

    /// Reads all counters that are wanted.
    fn counters(&self) -> impl Future<Output = Result<Vec<v1::Entity>, Status>> + Send + use<> {
        let cells: Vec<Cell> = self.shared.handle(Core::cells);
        let entities: Vec<v1::Entity> = cells.iter().map(|cell| self.shared.schema.counter(*cell)).collect();
        let (client, device) = (self.client.clone(), self.device);
        async move {
            let mut found = Vec::with_capacity(entities.len());
            for part in entities.chunks(CELLS_MAX) {
                found.extend(install::read(client.clone(), device, part.to_vec()).await?);
            }
            Ok(found)
        }
    }

    fn counted(&self, entities: &[v1::Entity]) {
        let cells = entities
            .iter()
            .filter_map(|entity| self.shared.schema.counted(entity))
            .collect();
        self.shared.handle(|core| core.read(cells));
    }
}
