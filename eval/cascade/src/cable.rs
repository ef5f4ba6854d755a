//! The way between two nodes: counts what passes, delays it, and loses a share of the media.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use harness::clock;
use harness::net::{self, Inbox};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use southbound::DirectKeys;
use wire::rtcp::RtcpPacket;
use wire::{PacketKind, RtpPacket};

use crate::epoll::Sockets;
use crate::orders;
use crate::srtp::Protection;
use crate::variant::Link;

/// The longest sleep of the thread.
const SLEEP_MAX: Duration = Duration::from_millis(20);

/// Counts of the datagrams that a cable was given.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Crossed {
    /// Packets of media down the tree, and their bytes.
    pub(crate) media: u64,
    pub(crate) media_bytes: u64,
    /// The same of retransmissions and padding.
    pub(crate) repairs: u64,
    pub(crate) repair_bytes: u64,
    /// Bytes of RTCP down the tree, and up.
    pub(crate) down_rtcp_bytes: u64,
    pub(crate) up_rtcp_bytes: u64,
    /// Packets of media that were lost, and retransmissions.
    pub(crate) lost: u64,
    pub(crate) lost_repairs: u64,
    /// Packets that the lower node asked for, each time.
    pub(crate) asked: u64,
}

/// A cable that passes datagrams on until it is ended.
pub(crate) struct Cable {
    shared: Arc<Shared>,
    thread: JoinHandle<io::Result<()>>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    loses: AtomicBool,
    crossed: Mutex<Crossed>,
}

impl Cable {
    /// Starts a cable on sockets that are connected to the upper node and to the lower one. `keys`
    /// are those of the upper one.
    pub(crate) fn start(ends: [UdpSocket; 2], keys: &DirectKeys, link: Link) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let sockets = Sockets::new(&ends)?;
        let mut way = Way {
            ends,
            sockets,
            buffers: Inbox::default(),
            // Only what the lower node sends is opened.
            protection: Protection::new(keys),
            link,
            dice: SplitMix64::seed_from_u64(7),
            travelling: Default::default(),
            shared: shared.clone(),
        };
        let thread = thread::Builder::new().name("cable".into()).spawn(move || {
            while !way.shared.stop.load(Ordering::Relaxed) {
                way.turn()?;
            }
            Ok(())
        })?;
        Ok(Cable { shared, thread })
    }

    /// Whether media is lost from now on.
    pub(crate) fn lose(&self, loses: bool) {
        self.shared.loses.store(loses, Ordering::Relaxed);
    }

    pub(crate) fn crossed(&self) -> Crossed {
        *self.shared.lock()
    }

    pub(crate) fn end(self) -> io::Result<()> {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.thread
            .join()
            .map_err(|_| io::Error::other("the cable has panicked"))?
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Crossed> {
        self.crossed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Way {
    /// Towards the upper node, and towards the lower one.
    ends: [UdpSocket; 2],
    sockets: Sockets,
    buffers: Inbox,
    protection: Protection,
    link: Link,
    dice: SplitMix64,
    /// Datagrams from each end.
    travelling: [VecDeque<(Instant, Vec<u8>)>; 2],
    shared: Arc<Shared>,
}

impl Way {
    fn turn(&mut self) -> io::Result<()> {
        let now = clock::now();
        let next = self.travelling.iter().filter_map(|queue| Some(queue.front()?.0)).min();
        let wait = next.map_or(SLEEP_MAX, |at| at.saturating_duration_since(now));
        let ready = self.sockets.wait(wait.min(SLEEP_MAX))?;
        let now = clock::now();
        for end in ready {
            self.take(now, end)?;
        }
        for from in 0..2 {
            self.deliver(now, from)?;
        }
        Ok(())
    }

    /// Takes what a node has sent.
    fn take(&mut self, now: Instant, from: usize) -> io::Result<()> {
        let loses = self.shared.loses.load(Ordering::Relaxed);
        let threshold = (self.link.loss * (1u64 << 32) as f64) as u64;
        let mut crossed = self.shared.lock();
        let (protection, dice, queue) = (&mut self.protection, &mut self.dice, &mut self.travelling[from]);
        let at = now + self.link.delay;
        while self.buffers.read(&self.ends[from], |datagram| {
            let is_unlucky = loses && dice.next_u64() >> 32 < threshold;
            let is_lost = match from {
                0 => crossed.goes_down(datagram.bytes, is_unlucky),
                _ => {
                    crossed.goes_up(&mut datagram.bytes.to_vec(), protection);
                    false
                }
            };
            if !is_lost {
                queue.push_back((at, datagram.bytes.to_vec()));
            }
        })? {}
        Ok(())
    }

    /// Delivers what has arrived.
    fn deliver(&mut self, now: Instant, from: usize) -> io::Result<()> {
        while let Some((_, bytes)) = self.travelling[from].pop_front_if(|(at, _)| *at <= now) {
            net::send_each(&self.ends[1 - from], &[[IoSlice::new(&bytes)]])?;
        }
        Ok(())
    }
}

impl Crossed {
    /// Counts a datagram of the upper node; says whether it is lost.
    fn goes_down(&mut self, bytes: &[u8], is_unlucky: bool) -> bool {
        let len = bytes.len() as u64;
        if wire::classify(bytes) == PacketKind::Rtcp {
            self.down_rtcp_bytes += len;
            return false;
        }
        let Ok(packet) = RtpPacket::parse_protected(bytes) else {
            return false;
        };
        match orders::is_media(packet.ssrc()) {
            Some(true) => {
                self.media += 1;
                self.media_bytes += len;
                self.lost += u64::from(is_unlucky);
            }
            Some(false) => {
                self.repairs += 1;
                self.repair_bytes += len;
                self.lost_repairs += u64::from(is_unlucky);
            }
            None => return false,
        }
        is_unlucky
    }

    /// Counts a datagram of the lower node, and what it asks for.
    fn goes_up(&mut self, bytes: &mut [u8], protection: &mut Protection) {
        self.up_rtcp_bytes += bytes.len() as u64;
        for packet in protection.open_rtcp(bytes).into_iter().flat_map(RtcpPacket::compound) {
            if let Ok(RtcpPacket::Nack(nack)) = packet {
                self.asked += nack.sequences().count() as u64;
            }
        }
    }

    /// The counts since `earlier`.
    pub(crate) fn since(&self, earlier: &Crossed) -> Crossed {
        Crossed {
            media: self.media - earlier.media,
            media_bytes: self.media_bytes - earlier.media_bytes,
            repairs: self.repairs - earlier.repairs,
            repair_bytes: self.repair_bytes - earlier.repair_bytes,
            down_rtcp_bytes: self.down_rtcp_bytes - earlier.down_rtcp_bytes,
            up_rtcp_bytes: self.up_rtcp_bytes - earlier.up_rtcp_bytes,
            lost: self.lost - earlier.lost,
            lost_repairs: self.lost_repairs - earlier.lost_repairs,
            asked: self.asked - earlier.asked,
        }
    }
}
