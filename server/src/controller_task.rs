//! The controller on its task: front ends and the media node feed it, it feeds them.

mod handle;
mod nodes;

use std::time::{Duration, Instant};

use access::{ApiKeys, RoomNames};
use controller::{Controller, Downlink, Event, Output, PinnedRooms, Quotas, Selection, WallClock};
use operator::{ParticipantPage, RoomOrder, RoomPage};
use timeline::{Recorder, Recording, Timestamp};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

pub(crate) use self::handle::Handle;
pub(crate) use self::nodes::Nodes;
use crate::cluster::coordinator::KeepsakeNews;
use crate::frontends::{CallContext, FrontEndRequest, FrontEnds, events};
use crate::metrics::Metrics;
use crate::metrics::recorder::RecorderCounts;
use crate::os::clock::Clocks;

/// How many questions and settings may wait.
const REQUESTS_MAX: usize = 256;

/// The most notices that are handled before a client has its turn, so that fast senders of data
/// cannot keep others from joining.
const NOTICES_IN_A_ROW: usize = 16;

enum ControllerRequest {
    Downlink(String, String, oneshot::Sender<Option<Downlink>>),
    Downlinks(Option<String>, RoomNames, usize, oneshot::Sender<Vec<Downlink>>),
    /// The cluster with at most this number of rooms; `None` without one.
    Cluster(usize, oneshot::Sender<Option<operator::Cluster>>),
    Recording(String, String, oneshot::Sender<Option<Recording>>),
    RecorderCounts(oneshot::Sender<RecorderCounts>),
    RoomPage(Selection, RoomOrder, oneshot::Sender<RoomPage>),
    ParticipantPage(Selection, oneshot::Sender<ParticipantPage>),
    Drain,
    Population(oneshot::Sender<(usize, usize)>),
    Ready(oneshot::Sender<bool>),
    ShutDown(oneshot::Sender<()>),
    SetKeys(ApiKeys),
    SetQuotas(Quotas),
    SetPinned(Vec<PinnedRooms>),
    Alive(oneshot::Sender<()>),
}

/// Starts the controller with its front ends. The task ends when all handles are dropped, or by a
/// panic.
pub(crate) fn start(
    mut controller: Controller,
    mut front_ends: FrontEnds,
    nodes: Nodes,
    recorder: Recorder,
    metrics: Metrics,
) -> (Handle, JoinHandle<()>) {
    let (requests, queued) = mpsc::channel(REQUESTS_MAX);
    // Front ends learn of rooms by them.
    controller.set_room_events(true);
    if nodes.are_shared() {
        controller.takeover().note_unsaved();
        front_ends.expect_successors();
    }
    let task = ControllerTask {
        controller,
        front_ends,
        nodes,
        recorder,
        metrics,
        wall: Clocks::read().wall,
    };
    let running = tokio::spawn(task.run(queued));
    (Handle::new(requests), running)
}

struct ControllerTask {
    controller: Controller,
    front_ends: FrontEnds,
    nodes: Nodes,
    recorder: Recorder,
    metrics: Metrics,
    wall: WallClock,
}

impl ControllerTask {
    async fn run(mut self, mut requests: mpsc::Receiver<ControllerRequest>) {
        let mut in_a_row = 0;
        loop {
            let timeouts = [
                self.controller.poll_timeout(),
                self.front_ends.poll_timeout(),
                self.nodes.poll_timeout(),
                self.recorder.poll_timeout(),
            ];
            let timeout = timeouts.into_iter().flatten().min();
            if in_a_row >= NOTICES_IN_A_ROW {
                in_a_row = 0;
                if let Ok(request) = requests.try_recv() {
                    self.request(request).await;
                }
                if let Some(request) = self.front_ends.waiting_request() {
                    self.front_request(request);
                    self.settle().await;
                }
                self.handle_timeout().await;
            }
            tokio::select! {
                // Notices first: the media node's state is older than the clients' next requests.
                biased;
                Some(event) = self.nodes.next() => {
                    in_a_row += 1;
                    let now = self.read_clocks();
                    let mut outputs = Vec::new();
                    if let Some(input) = self.nodes.take(now, event, &mut self.controller, &mut outputs) {
                        self.controller.handle(now, input, &mut outputs);
                    }
                    self.take_kept();
                    self.outputs(outputs).await;
                }
                request = requests.recv() => match request {
                    Some(request) => self.request(request).await,
                    None => return,
                },
                request = self.front_ends.next_request() => self.front_request(request),
                () = sleep_until(timeout) => self.handle_timeout().await,
            }
            self.settle().await;
        }
    }

    async fn request(&mut self, request: ControllerRequest) {
        let now = self.read_clocks();
        let mut outputs = Vec::new();
        // An error of an answer means that nobody waits for it any more.
        match request {
            ControllerRequest::Downlink(room, identity, answer) => {
                let _ = answer.send(self.controller.downlink(&room, &identity));
            }
            ControllerRequest::Downlinks(room, rooms, max, answer) => {
                let downlinks = self.controller.downlinks(room.as_deref());
                let of_key = downlinks.filter(|downlink| rooms.admits(&downlink.room));
                let _ = answer.send(of_key.take(max).collect());
            }
            ControllerRequest::Cluster(rooms_max, answer) => {
                let _ = answer.send(self.nodes.overview(now, &self.controller, rooms_max));
            }
            ControllerRequest::Recording(room, identity, answer) => {
                let _ = answer.send(self.recorder.recording(&room, &identity));
            }
            ControllerRequest::RecorderCounts(answer) => {
                let _ = answer.send(RecorderCounts::from(&self.recorder));
            }
            ControllerRequest::RoomPage(selection, order, answer) => {
                let _ = answer.send(controller::room_page(&self.controller, &selection, order));
            }
            ControllerRequest::ParticipantPage(selection, answer) => {
                let _ = answer.send(controller::participant_page(&self.controller, &selection));
            }
            ControllerRequest::SetKeys(keys) => self.controller.set_keys(keys),
            ControllerRequest::SetQuotas(quotas) => self.controller.set_quotas(now, quotas, &mut outputs),
            ControllerRequest::SetPinned(pinned) => self.controller.placement().set_pinned(pinned),
            ControllerRequest::Alive(answer) => drop(answer.send(())),
            ControllerRequest::Drain => {
                self.controller.drain();
                self.nodes.drain();
            }
            ControllerRequest::Population(answer) => {
                let population = self.controller.population();
                let _ = answer.send((population.rooms, population.participants));
            }
            ControllerRequest::Ready(answer) => {
                let is_ready = self.controller.has_node() && self.nodes.are_ready(now);
                let _ = answer.send(is_ready);
            }
            ControllerRequest::ShutDown(answer) => {
                self.nodes.shut_down(now, &mut self.controller, &mut outputs).await;
                self.outputs(std::mem::take(&mut outputs)).await;
                self.settle().await;
                let _ = answer.send(());
            }
        }
        self.outputs(outputs).await;
    }

    fn front_request(&mut self, request: FrontEndRequest) {
        self.read_clocks();
        let at = moment(&self.controller, self.wall);
        self.front_ends.request(at, request);
    }

    async fn handle_timeout(&mut self) {
        let now = self.read_clocks();
        let mut outputs = Vec::new();
        self.controller.handle_timeout(now, &mut outputs);
        self.nodes.handle_timeout(now, &mut self.controller, &mut outputs);
        self.recorder.expire(now);
        self.take_kept();
        self.outputs(outputs).await;
        self.front_ends.handle_timeout(moment(&self.controller, self.wall));
        self.settle().await;
    }

    /// Passes inputs of the front ends to the controller until there are none.
    async fn settle(&mut self) {
        loop {
            while let Some(input) = self.front_ends.next_input() {
                let mut outputs = Vec::new();
                if self.nodes.admit(&input, &mut outputs) {
                    self.controller.handle(self.wall.now, input, &mut outputs);
                }
                self.outputs(outputs).await;
            }
            self.front_ends.handled(moment(&self.controller, self.wall));
            self.keep();
            self.take_kept();
            self.nodes.settled(self.wall.now, &mut self.controller);
            if !self.front_ends.has_inputs() {
                return;
            }
        }
    }

    /// Does what the controller says, in its order: the agent knows a transport before its client
    /// does.
    async fn outputs(&mut self, outputs: Vec<Output>) {
        for output in outputs {
            let at = moment(&self.controller, self.wall);
            match self.front_ends.output(at, output) {
                Some(Output::Command { node, room, command }) => self.nodes.command(node, room, command).await,
                Some(Output::Data {
                    node,
                    room,
                    to,
                    message,
                    data,
                }) => {
                    let command = livekit::data_command(to, message, data);
                    self.nodes.command(node, Some(room), command).await;
                }
                Some(Output::Count(counter)) => self.metrics.count(counter),
                Some(Output::Observation { room, observation }) => {
                    let at = self.timestamp();
                    self.recorder.record(at, &room, &observation);
                }
                Some(Output::Event(event)) => {
                    events::log(&event);
                    if let Event::RoomFinished { room } | Event::RoomReleased { room } = &event {
                        self.recorder.end_room(self.wall.now, room);
                    }
                    self.keep();
                    self.nodes.note(self.wall.now, &event);
                }
                _ => {}
            }
        }
        self.nodes.flush().await;
    }

    /// Has nodes keep what front ends say.
    fn keep(&mut self) {
        while let Some(keepsake) = self.front_ends.next_keepsake() {
            self.nodes.keep(self.wall.now, keepsake);
        }
    }

    /// Tells front ends what nodes have kept, before anything else of its rooms.
    fn take_kept(&mut self) {
        for kept in self.nodes.take_kept() {
            let at = moment(&self.controller, self.wall);
            match kept {
                KeepsakeNews::Restored(keepsake) => self.front_ends.restored(at, &keepsake),
                KeepsakeNews::Saved(room) => self.front_ends.saved(at, &room),
            }
        }
    }

    /// The time of what is recorded now.
    fn timestamp(&self) -> Timestamp {
        let now = self.wall.now;
        let unix_ms = u64::try_from(self.wall.unix(now).as_millis()).unwrap_or(u64::MAX);
        Timestamp { now, unix_ms }
    }

    /// Wall-clock time is read along with the monotonic time, since it may have been corrected.
    fn read_clocks(&mut self) -> Instant {
        self.wall = Clocks::read().wall;
        self.controller.set_clock(self.wall);
        self.wall.now
    }
}

fn moment(rooms: &Controller, wall: WallClock) -> CallContext<'_> {
    CallContext { wall, rooms }
}

async fn sleep_until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant.into()).await,
        None => tokio::time::sleep(Duration::from_secs(3600)).await,
    }
}
