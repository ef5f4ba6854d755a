//! One AF_XDP socket: frames from and to one queue of one interface.

use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use libc::{c_int, c_void, xdp_desc};

use super::check;
use super::memory::{FRAME_SIZE, Frame, Frames};
use super::ring::{Consumer, Producer};

/// Frames for each direction, as many as its rings have entries: once the kernel has shown all that
/// it took, there is room for every frame.
const FRAMES: u32 = 2048;
/// The most frames that one `sendto` moves, where the kernel lets us set it (from 6.17 on; earlier
/// kernels move 32).
const BUDGET: u32 = 256;
/// `XDP_MAX_TX_SKB_BUDGET`.
const XDP_MAX_TX_BUDGET: c_int = 9;
/// The most times in a row that the kernel is asked to send the rest of the ring without progress.
const KICKS_MAX: u32 = 3;
/// The most bytes of socket buffers in the stack in copy mode.
const SEND_BUFFER: c_int = 16 << 20;

/// The bytes of metadata in front of a packet for the kernel, `struct xsk_tx_metadata`, and the
/// offset of the packet after them.
const METADATA: usize = 24;
const START: usize = 64;
/// Offsets in the metadata.
const FLAGS: usize = START - METADATA;
const CHECKSUM_START: usize = FLAGS + 8;
const CHECKSUM_OFFSET: usize = FLAGS + 10;
/// The offset of the checksum in a UDP header.
const OF_UDP: u16 = 6;

/// Room for one packet on its way out.
pub(crate) type Room = [u8; FRAME_SIZE - START];

/// The party that fills in UDP checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checksum {
    /// We do: what is queued is complete.
    Ours,
    /// The interface or the kernel fills it in, or a receiver on the same machine does without. The
    /// field then holds the sum of the pseudo header.
    Kernels,
}

/// Whether the kernel copies packets between its memory and ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It does.
    Copy,
    /// The driver reads and writes our frames.
    ZeroCopy,
}

/// A bound socket with its frames.
///
/// Every frame is in exactly one place: in the fill ring, being received, waiting to return to the
/// fill ring, free, or being sent. Received frames return to the fill ring within
/// [`receive`](Self::receive), or within the next call if the kernel has not shown yet that it took
/// them.
pub(crate) struct Xsk {
    fd: Arc<OwnedFd>,
    frames: Frames,
    fill: Producer<u64>,
    received: Consumer<xdp_desc>,
    transmit: Producer<xdp_desc>,
    completed: Consumer<u64>,
    free: Vec<Frame>,
    /// Received frames for which the fill ring had no room.
    returning: Vec<Frame>,
    /// Frames written since the last kick.
    unsent: u32,
    mode: Mode,
    checksum: Checksum,
}

/// Reads what a socket dropped, from any thread.
#[derive(Clone)]
pub(crate) struct XskCounts(Arc<OwnedFd>);

impl Xsk {
    /// Binds to a queue; `must_copy` where the program runs in generic mode, which supports only
    /// copies.
    pub(crate) fn bind(interface: u32, queue: u32, must_copy: bool) -> io::Result<Self> {
        // SAFETY: takes numbers only.
        let fd = check(unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) })?;
        // SAFETY: the descriptor is new, and nobody else's.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let raw = fd.as_raw_fd();
        let (frames, mut rights) = Frames::new(2 * FRAMES)?;
        let takes_metadata = register(raw, &frames)?;
        let rings = [
            libc::XDP_UMEM_FILL_RING,
            libc::XDP_UMEM_COMPLETION_RING,
            libc::XDP_RX_RING,
            libc::XDP_TX_RING,
        ];
        for ring in rings {
            set(raw, libc::SOL_XDP, ring, FRAMES)?;
        }
        // Kernels that know neither work without.
        let _ = set(raw, libc::SOL_XDP, XDP_MAX_TX_BUDGET, BUDGET);
        let _ = set(raw, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, SEND_BUFFER);
        let offsets: libc::xdp_mmap_offsets = get(raw, libc::XDP_MMAP_OFFSETS)?;
        let mut fill = Producer::map(raw, libc::XDP_UMEM_PGOFF_FILL_RING, &offsets.fr, FRAMES)?;
        for frame in rights.by_ref().take(FRAMES as usize) {
            fill.push(frames.hand_over(frame));
        }
        fill.publish();
        let mut xsk = Xsk {
            fill,
            received: Consumer::map(raw, libc::XDP_PGOFF_RX_RING as u64, &offsets.rx, FRAMES)?,
            transmit: Producer::map(raw, libc::XDP_PGOFF_TX_RING as u64, &offsets.tx, FRAMES)?,
            completed: Consumer::map(raw, libc::XDP_UMEM_PGOFF_COMPLETION_RING, &offsets.cr, FRAMES)?,
            free: rights.collect(),
            returning: Vec::new(),
            unsent: 0,
            mode: Mode::Copy,
            checksum: Checksum::Ours,
            frames,
            fd: Arc::new(fd),
        };
        xsk.bind_to(interface, queue, must_copy)?;
        // In copy mode the kernel fills in checksums for every interface. A driver in zero-copy
        // mode may not support it.
        if takes_metadata && xsk.mode == Mode::Copy {
            xsk.checksum = Checksum::Kernels;
        }
        Ok(xsk)
    }

    fn bind_to(&mut self, interface: u32, queue: u32, must_copy: bool) -> io::Result<()> {
        let copy = if must_copy { libc::XDP_COPY } else { 0 };
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: libc::XDP_USE_NEED_WAKEUP | copy,
            sxdp_ifindex: interface,
            sxdp_queue_id: queue,
            sxdp_shared_umem_fd: 0,
        };
        let len = mem::size_of_val(&address) as libc::socklen_t;
        // SAFETY: the address is of this length and lives as long as the call.
        check(unsafe { libc::bind(self.descriptor(), (&raw const address).cast(), len) })?;
        let options: libc::xdp_options = get(self.descriptor(), libc::XDP_OPTIONS)?;
        if options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0 {
            self.mode = Mode::ZeroCopy;
        }
        Ok(())
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    pub(crate) fn checksum(&self) -> Checksum {
        self.checksum
    }

    pub(crate) fn counts(&self) -> XskCounts {
        XskCounts(self.fd.clone())
    }

    /// Hands at most `max` received frames to `take`, including the Ethernet header; returns their
    /// number.
    pub(crate) fn receive(&mut self, max: usize, mut take: impl FnMut(&[u8])) -> usize {
        let mut taken = 0;
        while taken < max
            && let Some(descriptor) = self.received.pop()
        {
            let (frame, start) = self.frames.given_back(descriptor.addr);
            take(&self.frames.bytes(&frame)[start..][..descriptor.len as usize]);
            self.returning.push(frame);
            taken += 1;
        }
        if !self.returning.is_empty() {
            self.received.release();
            self.give_back();
            if self.fill.needs_wakeup() {
                self.wake_for_receiving();
            }
        }
        taken
    }

    /// Gives frames back to be filled. The kernel shows packets before it shows that it took their
    /// frames, so that there may be no room for a moment.
    fn give_back(&mut self) {
        while self.fill.has_room()
            && let Some(frame) = self.returning.pop()
        {
            self.fill.push(self.frames.hand_over(frame));
        }
        self.fill.publish();
    }

    /// Queues one packet, which `write` writes and returns the length of, with its checksum as
    /// [`checksum`](Self::checksum) requires and its UDP header at `udp_at`; false when all frames
    /// are in use. It is sent with the next [`kick`](Self::kick).
    #[must_use]
    pub(crate) fn send(&mut self, udp_at: u16, write: impl FnOnce(&mut Room) -> usize) -> bool {
        if self.free.is_empty() {
            self.reclaim();
        }
        if !self.transmit.has_room() {
            return false;
        }
        let Some(mut frame) = self.free.pop() else {
            return false;
        };
        let (front, room) = self.frames.bytes_mut(&mut frame).split_at_mut(START);
        let len = write(room.try_into().expect("the rest of a frame"));
        assert!(len <= FRAME_SIZE - START, "the packet fits into the frame");
        let mut options = 0;
        if self.checksum == Checksum::Kernels {
            let flags = u64::from(libc::XDP_TXMD_FLAGS_CHECKSUM);
            front[FLAGS..][..8].copy_from_slice(&flags.to_ne_bytes());
            front[CHECKSUM_START..][..2].copy_from_slice(&udp_at.to_ne_bytes());
            front[CHECKSUM_OFFSET..][..2].copy_from_slice(&OF_UDP.to_ne_bytes());
            options = libc::XDP_TX_METADATA;
        }
        let descriptor = xdp_desc {
            addr: self.frames.hand_over(frame) + START as u64,
            len: len as u32,
            options,
        };
        self.transmit.push(descriptor);
        self.unsent += 1;
        true
    }

    /// Submits the queued packets, and has the interface send as many as it takes now. Returns
    /// whether none are left.
    pub(crate) fn kick(&mut self) -> bool {
        if mem::take(&mut self.unsent) > 0 {
            self.transmit.publish();
        }
        let mut left = self.transmit.pending();
        let mut idle = 0;
        while left > 0 && self.transmit.needs_wakeup() && idle < KICKS_MAX {
            self.wake_for_sending();
            let still = self.transmit.pending();
            idle = if still == left { idle + 1 } else { 0 };
            left = still;
        }
        self.reclaim();
        // A driver that needs no wake-up sends the rest by itself.
        left == 0 || !self.transmit.needs_wakeup()
    }

    /// How many frames are free to be sent.
    #[cfg(test)]
    pub(crate) fn free(&mut self) -> usize {
        self.reclaim();
        self.free.len()
    }

    fn reclaim(&mut self) {
        let mut any = false;
        while let Some(address) = self.completed.pop() {
            let (frame, _) = self.frames.given_back(address);
            self.free.push(frame);
            any = true;
        }
        if any {
            self.completed.release();
        }
        debug_assert!(self.free.len() <= FRAMES as usize, "no frame comes back twice");
    }

    fn wake_for_sending(&self) {
        // Errors (busy, no room, interface down) show in the ring: the frames are still there.
        // SAFETY: no buffer is given.
        let _ = unsafe {
            libc::sendto(
                self.descriptor(),
                std::ptr::null::<c_void>(),
                0,
                libc::MSG_DONTWAIT,
                std::ptr::null(),
                0,
            )
        };
    }

    fn wake_for_receiving(&self) {
        // SAFETY: no buffer is given.
        let _ = unsafe {
            libc::recvfrom(
                self.descriptor(),
                std::ptr::null_mut::<c_void>(),
                0,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        };
    }
}

impl XskCounts {
    /// How many packets the kernel had for this socket and dropped, for want of frames or of room
    /// in the ring.
    pub(crate) fn dropped(&self) -> u64 {
        let statistics: io::Result<libc::xdp_statistics> = get(self.0.as_raw_fd(), libc::XDP_STATISTICS);
        statistics.map_or(0, |statistics| statistics.rx_dropped + statistics.rx_ring_full)
    }
}

/// Registers the frames; whether with metadata in front of packets, which kernels before 6.12 do
/// not know.
fn register(fd: RawFd, frames: &Frames) -> io::Result<bool> {
    let (addr, len) = frames.extent();
    let with = |flags, tx_metadata_len: usize| libc::xdp_umem_reg {
        addr,
        len,
        chunk_size: FRAME_SIZE as u32,
        headroom: 0,
        flags,
        tx_metadata_len: tx_metadata_len as u32,
    };
    let option = libc::XDP_UMEM_REG;
    match set(
        fd,
        libc::SOL_XDP,
        option,
        with(libc::XDP_UMEM_TX_METADATA_LEN, METADATA),
    ) {
        Ok(()) => Ok(true),
        Err(_) => set(fd, libc::SOL_XDP, option, with(0, 0)).map(|()| false),
    }
}

fn set<T: Copy>(fd: RawFd, level: c_int, option: c_int, value: T) -> io::Result<()> {
    let len = size_of::<T>() as libc::socklen_t;
    // SAFETY: the value is `len` bytes and lives as long as the call; of frames registered so, the
    // kernel only uses those it is handed.
    check(unsafe { libc::setsockopt(fd, level, option, (&raw const value).cast(), len) }).map(drop)
}

/// An option that is one of the kernel's structures of numbers.
fn get<T>(fd: RawFd, option: c_int) -> io::Result<T> {
    let mut value = MaybeUninit::<T>::zeroed();
    let mut len = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` has room for `len` bytes, and both live as long as the call.
    check(unsafe { libc::getsockopt(fd, libc::SOL_XDP, option, value.as_mut_ptr().cast(), &mut len) })?;
    // SAFETY: numbers only, all of them zero or written by the kernel.
    Ok(unsafe { value.assume_init() })
}
