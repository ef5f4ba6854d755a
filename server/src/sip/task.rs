//! The task that has all calls.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sip::{CallController, Counter, Input, Output, PassOutcome, PeerEvent, PeerMessage, Request, RequestId};
use southbound::Command;
use southbound::relay::{Refusal, RelayNotice};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tracing::{info, warn};

use super::access::Access;
use super::dependencies::Dependencies;
use super::machine;
use super::notify::Notifier;
use super::others::{Others, PassedBack};
use super::requests::{ControlMessage, Handle, Protocol, ProxyRequest, ReplyTo};
use super::saver::Saver;
use crate::cluster::relays::RelayEvent;
use crate::config;
use crate::media::node_link::NodeLink;
use crate::metrics::Metrics;
use crate::metrics::sip_stats::Stats;
use crate::os::clock;

/// How many requests may wait. Beyond it sockets wait, and what does not fit their buffers is asked
/// again.
const REQUESTS_MAX: usize = 4_096;

/// How often counters are published.
const PUBLISH_INTERVAL: Duration = Duration::from_millis(500);

/// How often changed calls are written down; what has changed since is not known to the next
/// process.
const SAVE_INTERVAL: Duration = Duration::from_millis(100);

/// How often the addresses of this machine are read.
const MACHINE_INTERVAL: Duration = Duration::from_secs(10);

/// How often ports that could not be opened are logged, at most.
const COMPLAINT_INTERVAL: Duration = Duration::from_secs(10);

/// The next thing to do.
enum Work {
    Notices(Vec<RelayNotice>),
    Relay(RelayEvent),
    /// Nothing, when nobody can ask any more.
    Proxy(Option<ProxyRequest>),
    Publish,
    ReadMachine,
    Save,
    Timeout,
}

/// Starts the task, with the calls that an earlier process kept, if any. The task ends when all
/// handles are dropped, or by a panic.
pub(crate) fn start(
    relay: CallController,
    needs: Dependencies,
    config: config::Sip,
    access: Arc<Access>,
    kept: Option<(Saver, Vec<String>)>,
) -> (Handle, JoinHandle<()>) {
    let (requests, asked) = mpsc::channel(REQUESTS_MAX);
    let (saver, records) = kept.unzip();
    let task = Task {
        relay,
        node: needs.node,
        metrics: needs.metrics,
        notifier: Notifier::new(access),
        replies: HashMap::new(),
        requests: 0,
        out: Vec::new(),
        complained: None,
        saver,
        config,
        node_ips: needs.node_ips,
        others: Others::new(needs.cluster.map(|(_, relays)| relays)),
    };
    let running = tokio::spawn(task.run(asked, records.unwrap_or_default()));
    (Handle(requests), running)
}

struct Task {
    relay: CallController,
    node: NodeLink<Vec<RelayNotice>>,
    metrics: Metrics,
    notifier: Notifier,
    /// The destinations of answers to requests that wait for the media node.
    replies: HashMap<RequestId, ReplyTo>,
    requests: u64,
    out: Vec<Output>,
    complained: Option<Instant>,
    /// Writes down what calls are like, where that is wanted.
    saver: Option<Saver>,
    config: config::Sip,
    node_ips: Vec<IpAddr>,
    /// The other machines of the cluster.
    others: Others,
}

impl Task {
    /// Begins with the calls of these records.
    async fn run(mut self, mut asked: mpsc::Receiver<ProxyRequest>, records: Vec<String>) {
        self.resume(&records).await;
        let mut publish = tokio::time::interval(PUBLISH_INTERVAL);
        let mut save = tokio::time::interval(SAVE_INTERVAL);
        let mut machine = tokio::time::interval(MACHINE_INTERVAL);
        loop {
            let timeout = self.relay.poll_timeout();
            let saves = self.saver.is_some();
            let others = &mut self.others;
            // None of these comes before the others, or a flood of one would stop the rest.
            let any = async {
                tokio::select! {
                    event = others.next() => Work::Relay(event),
                    request = asked.recv() => Work::Proxy(request),
                    _ = publish.tick() => Work::Publish,
                    _ = machine.tick() => Work::ReadMachine,
                    _ = save.tick(), if saves => Work::Save,
                    () = sleep_until(timeout) => Work::Timeout,
                }
            };
            let work = tokio::select! {
                // Notices are handled before requests.
                biased;
                Some(notices) = self.node.next() => Work::Notices(notices),
                work = any => work,
            };
            match work {
                Work::Notices(notices) => self.on_notices(notices).await,
                Work::Relay(event) => self.on_relay(event).await,
                Work::Proxy(Some(request)) => self.on_proxy(request).await,
                Work::Proxy(None) => return,
                Work::Publish => self.publish(),
                Work::ReadMachine => self.relay.set_machine(machine::read(&self.config, &self.node_ips)),
                Work::Save => self.save(),
                Work::Timeout => self.handle_timeout().await,
            }
            if !asked.is_empty() {
                // Sockets are read between two requests: those of a flood are dropped there, and
                // otherwise the system drops those of others as well.
                tokio::task::yield_now().await;
            }
        }
    }

    async fn on_proxy(&mut self, request: ProxyRequest) {
        match request {
            ProxyRequest::Request(request) => self.ask(request).await,
            // A caller that has stopped waiting needs no answer.
            ProxyRequest::Alive(answer) => drop(answer.send(())),
            ProxyRequest::Drain => self.relay.drain(),
            ProxyRequest::EndingCalls(answer) => drop(answer.send(self.relay.ending_calls())),
        }
    }

    async fn ask(&mut self, asked: ControlMessage) {
        if let ReplyTo::Datagram(_, source) = &asked.reply_to
            && self.relay.is_media(*source)
        {
            return;
        }
        self.requests += 1;
        let id = RequestId(self.requests);
        let (from, message) = (asked.from, &asked.message[..]);
        let request = match asked.protocol {
            Protocol::Ng => Request::Ng { from, message },
            Protocol::NgPlain => Request::NgPlain(message),
            Protocol::Rtpproxy => Request::Rtpproxy { from, message },
            Protocol::RtpproxyPlain => Request::RtpproxyPlain(message),
        };
        self.replies.insert(id, asked.reply_to);
        self.handle(Input::Request(id, request)).await;
        if self.replies.contains_key(&id) && !self.relay.is_waiting(id) {
            // It is not answered.
            self.replies.remove(&id);
        }
    }

    /// Something happened to another machine.
    async fn on_relay(&mut self, event: RelayEvent) {
        let Some((event, link)) = self.others.take(event) else {
            return;
        };
        match event {
            PeerEvent::Said(peer, PeerMessage::Pass { request, passed }) => {
                let Some(back) = PassedBack::new(link, request) else {
                    return;
                };
                self.requests += 1;
                let id = RequestId(self.requests);
                self.replies.insert(id, ReplyTo::Passed(back));
                self.handle(Input::Passed(id, peer, passed.request())).await;
            }
            event => self.handle(Input::Peer(event)).await,
        }
    }

    /// A request is over without an answer of this machine.
    fn give_up(&mut self, request: RequestId, outcome: PassOutcome) {
        if let Some(ReplyTo::Passed(back)) = self.replies.remove(&request) {
            back.tell(outcome);
        }
    }

    async fn on_notices(&mut self, notices: Vec<RelayNotice>) {
        for notice in notices {
            if let RelayNotice::Refused { at, why } = notice {
                self.complain(at, why);
            }
            self.relay.handle(clock::now(), Input::Notice(notice), &mut self.out);
        }
        self.carry_out().await;
    }

    async fn handle(&mut self, input: Input<'_>) {
        self.relay.handle(clock::now(), input, &mut self.out);
        self.carry_out().await;
    }

    async fn handle_timeout(&mut self) {
        self.relay.handle_timeout(clock::now(), &mut self.out);
        self.carry_out().await;
    }

    /// Goes on with calls of an earlier process.
    async fn resume(&mut self, records: &[String]) {
        if records.is_empty() {
            return;
        }
        self.relay
            .resume(clock::now(), records.iter().map(String::as_str), &mut self.out);
        let count = |counter| self.relay.counters()[counter];
        info!(
            calls = count(Counter::CallsResumed),
            lost = count(Counter::CallsNotResumed),
            "calls of SIP proxies go on"
        );
        self.carry_out().await;
    }

    async fn carry_out(&mut self) {
        let mut commands = Vec::new();
        let mut out = std::mem::take(&mut self.out);
        for output in out.drain(..) {
            match output {
                Output::Command(command) => commands.push(Command::Relay(command)),
                Output::Notify { socket, tag } => self.notifier.tell(socket, tag),
                Output::Undone { call, what } => {
                    warn!(call = %call.escape_ascii(), flag = what, "a proxy asks for what is not done here; it is ignored");
                }
                Output::Reply { to, bytes } => match self.replies.remove(&to) {
                    // A reply that is lost is asked for again.
                    Some(ReplyTo::Datagram(socket, to)) => drop(socket.try_send_to(&bytes, to)),
                    Some(ReplyTo::Waiting(answer)) => drop(answer.send(bytes)),
                    Some(ReplyTo::Passed(back)) => back.tell(PassOutcome::Reply(bytes)),
                    None => {}
                },
                Output::Unanswered(request) => self.give_up(request, PassOutcome::Unanswered),
                Output::Elsewhere(request) => self.give_up(request, PassOutcome::Elsewhere),
                Output::Peer(peer, message) => self.others.send(peer, message),
            }
        }
        self.out = out;
        self.node.send(commands).await;
    }

    /// Says that a port could not be had, not once for each.
    fn complain(&mut self, at: SocketAddr, why: Refusal) {
        let now = clock::now();
        if self.complained.is_some_and(|last| now < last + COMPLAINT_INTERVAL) {
            return;
        }
        self.complained = Some(now);
        match why {
            Refusal::Taken => {
                warn!(%at, "a port of media cannot be opened, another one is taken: is it another program's?")
            }
            Refusal::Full => warn!(%at, "the media node cannot have more ports"),
            Refusal::NoSrtp => warn!(%at, "the data plane has no SRTP: a call that needs it has no media"),
        }
    }

    /// Writes changes, unless the disk is slow.
    fn save(&mut self) {
        if let Some(saver) = &mut self.saver {
            saver.save(clock::now(), &mut self.relay);
        }
    }

    fn publish(&mut self) {
        // Requests that were given up are not answered.
        self.replies.retain(|id, _| self.relay.is_waiting(*id));
        let is_read = self.metrics.publish_sip(Stats {
            counters: self.relay.counters().clone(),
            scores: *self.relay.scores(),
            calls: self.relay.calls(),
            ports: self.relay.port_pairs() * 2,
            snapshot: self.relay.snapshot(clock::now()),
        });
        if is_read {
            self.relay.watch_rates(clock::now());
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        let calls = self.relay.calls();
        match &self.saver {
            Some(saver) => {
                saver.save_all(&mut self.relay);
                info!(calls, "calls of SIP proxies are kept for the next process");
            }
            None => info!(calls, "calls of SIP proxies end"),
        }
    }
}

async fn sleep_until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant.into()).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
