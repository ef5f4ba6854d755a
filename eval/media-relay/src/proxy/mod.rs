//! The SIP proxy: it sends requests to the relay over `ng` in datagrams, and repeats unanswered
//! ones.

mod message;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{SocketAddr, SocketAddrV4, UdpSocket};
use std::time::{Duration, Instant};

use harness::{Histogram, clock};
use nix::sys::socket::{setsockopt, sockopt};

use message::Answer;
pub use message::Command;

/// After this long a question is asked again, under the same cookie.
const PATIENCE: Duration = Duration::from_millis(500);
/// So often a question is asked.
const TRIES_MAX: u32 = 6;

/// One proxy.
pub struct Proxy {
    socket: UdpSocket,
    run: u32,
    next_cookie: u64,
    open: HashMap<u64, Question>,
    /// When to look after which question; in this order, since all get the same patience.
    alarms: VecDeque<(Instant, u64)>,
    latency: HashMap<&'static str, Histogram>,
    repeats: u64,
}

/// A request that is not answered yet.
struct Question {
    command: Command,
    call: u32,
    bytes: Vec<u8>,
    first_asked: Instant,
    tries: u32,
}

/// The result of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The request.
    pub command: Command,
    /// About which call.
    pub call: u32,
    /// The relay's answer, or its error.
    pub said: Result<Said, String>,
}

/// The parts of an answer that matter.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Said {
    /// The address to send audio to.
    pub audio: Option<SocketAddrV4>,
    /// Packets relayed.
    pub packets: Option<u64>,
}

impl Proxy {
    /// A proxy that asks the relay at `relay`.
    pub fn open(local: std::net::IpAddr, relay: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind((local, 0))?;
        socket.connect(relay)?;
        socket.set_nonblocking(true)?;
        setsockopt(&socket, sockopt::RcvBufForce, &(16 << 20))?;
        Ok(Self {
            socket,
            run: std::process::id(),
            next_cookie: 0,
            open: HashMap::new(),
            alarms: VecDeque::new(),
            latency: HashMap::new(),
            repeats: 0,
        })
    }

    /// Whether the relay answers.
    pub fn is_answered(&self, within: Duration) -> bool {
        let mut bytes = b"0 ".to_vec();
        message::write(message::ping(), &mut bytes);
        let mut buffer = [0; 256];
        // The relay may not listen yet, which this is to find out.
        let _ = self.socket.send(&bytes);
        std::thread::sleep(within);
        self.socket
            .recv(&mut buffer)
            .is_ok_and(|len| Answer::read(&buffer[..len]).is_some())
    }

    /// The socket on which answers arrive, to wait for them.
    pub fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    /// Asks about a call, on behalf of a phone.
    pub fn ask(&mut self, now: Instant, command: Command, call: u32, phone: SocketAddrV4) -> io::Result<()> {
        self.next_cookie += 1;
        let cookie = self.next_cookie;
        let mut bytes = format!("{cookie} ").into_bytes();
        message::write(
            message::request(command, &format!("{}-{call}", self.run), phone),
            &mut bytes,
        );
        send(&self.socket, &bytes)?;
        let question = Question {
            command,
            call,
            bytes,
            first_asked: now,
            tries: 1,
        };
        self.open.insert(cookie, question);
        self.alarms.push_back((now + PATIENCE, cookie));
        Ok(())
    }

    /// Questions without an answer yet.
    pub fn open_questions(&self) -> usize {
        self.open.len()
    }

    /// Questions that had to be asked again.
    pub fn repeats(&self) -> u64 {
        self.repeats
    }

    /// How long the relay took to answer such questions, from the first asking.
    pub fn latency(&self, command: Command) -> Histogram {
        self.latency.get(name(command)).cloned().unwrap_or_default()
    }

    /// Reads replies, and repeats overdue requests.
    pub fn step(&mut self, replies: &mut Vec<Reply>) -> io::Result<()> {
        let mut buffer = [0; 65_536];
        loop {
            match self.socket.recv(&mut buffer) {
                Ok(len) => replies.extend(self.take(&buffer[..len])),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // The answer to an earlier datagram, sent before the relay was there.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(error),
            }
        }
        self.repeat_due(clock::now(), replies)
    }

    fn take(&mut self, datagram: &[u8]) -> Option<Reply> {
        let (cookie, answer) = Answer::read(datagram)?;
        let question = self.open.remove(&cookie)?;
        let taken = clock::now().saturating_duration_since(question.first_asked);
        let histogram = self.latency.entry(name(question.command)).or_default();
        histogram.record(taken.as_nanos() as u64);
        Some(Reply {
            command: question.command,
            call: question.call,
            said: answer.accepted().map(|()| Said {
                audio: answer.audio(),
                packets: answer.packets(),
            }),
        })
    }

    fn repeat_due(&mut self, now: Instant, replies: &mut Vec<Reply>) -> io::Result<()> {
        while let Some(&(_, cookie)) = self.alarms.front().filter(|(at, _)| *at <= now) {
            self.alarms.pop_front();
            let Some(question) = self.open.get_mut(&cookie) else {
                continue;
            };
            if question.tries == TRIES_MAX {
                let (command, call) = (question.command, question.call);
                self.open.remove(&cookie);
                let said = Err("no answer".to_owned());
                replies.push(Reply { command, call, said });
                continue;
            }
            question.tries += 1;
            self.repeats += 1;
            send(&self.socket, &question.bytes)?;
            self.alarms.push_back((now + PATIENCE, cookie));
        }
        Ok(())
    }
}

/// A datagram that the kernel does not take is repeated like one that was lost on the way.
fn send(socket: &UdpSocket, bytes: &[u8]) -> io::Result<()> {
    match socket.send(bytes) {
        Err(error)
            if !matches!(
                error.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionRefused
            ) =>
        {
            Err(error)
        }
        _ => Ok(()),
    }
}

fn name(command: Command) -> &'static str {
    match command {
        Command::Offer => "offer",
        Command::Answer => "answer",
        Command::Query => "query",
        Command::Delete => "delete",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unanswered_question_is_asked_again_with_the_same_bytes_until_somebody_answers() {
        let relay = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let mut proxy = Proxy::open([127, 0, 0, 1].into(), relay.local_addr().expect("bound")).expect("a socket");
        let phone = "127.0.0.1:10000".parse().expect("an address");
        proxy.ask(clock::now(), Command::Delete, 5, phone).expect("sent");
        let mut buffer = [0; 2_000];
        let (len, _) = relay.recv_from(&mut buffer).expect("asked");
        let first = buffer[..len].to_vec();

        let mut replies = Vec::new();
        proxy.repeat_due(clock::now() + PATIENCE, &mut replies).expect("sent");
        let (len, from) = relay.recv_from(&mut buffer).expect("asked again");
        assert_eq!((&buffer[..len], proxy.repeats()), (first.as_slice(), 1));

        relay.send_to(b"1 d6:result2:oke", from).expect("sent");
        while replies.is_empty() {
            proxy.step(&mut replies).expect("read");
        }
        let done = Reply {
            command: Command::Delete,
            call: 5,
            said: Ok(Said::default()),
        };
        assert_eq!((replies, proxy.open_questions()), (vec![done], 0));
        assert_eq!(proxy.latency(Command::Delete).count(), 1);
    }

    #[test]
    fn a_relay_that_never_answers_is_given_up() {
        let relay = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let mut proxy = Proxy::open([127, 0, 0, 1].into(), relay.local_addr().expect("bound")).expect("a socket");
        let phone = "127.0.0.1:10000".parse().expect("an address");
        let mut now = clock::now();
        proxy.ask(now, Command::Query, 1, phone).expect("sent");
        let mut replies = Vec::new();
        while replies.is_empty() {
            now += PATIENCE;
            proxy.repeat_due(now, &mut replies).expect("sent");
        }
        assert_eq!(replies[0].said, Err("no answer".into()));
        assert_eq!(proxy.repeats(), u64::from(TRIES_MAX) - 1);
    }
}
