//! One direction of talk with the kernel: a ring with one producer and one consumer, of which we
//! are one.

use std::io;
use std::os::fd::RawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use super::memory::Mapping;

/// The offsets of the parts of a ring in its mapping, from the kernel.
pub(super) type Offsets = libc::xdp_ring_offset;

/// A ring of `size` (a power of two) descriptors of the kernel's form.
///
/// Indexes run over all of `u32` and wrap; how many entries lie between producer and consumer is
/// their wrapping difference.
struct Ring<T> {
    /// Keeps the pointers below valid.
    _mapping: Mapping,
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    flags: NonNull<AtomicU32>,
    entries: NonNull<T>,
    size: u32,
}

// SAFETY: the pointers are into the mapping it owns, and the ring is used by whoever has it.
unsafe impl<T: Send> Send for Ring<T> {}

impl<T: Copy> Ring<T> {
    fn map(fd: RawFd, page: u64, offsets: &Offsets, size: u32) -> io::Result<Self> {
        assert!(size.is_power_of_two(), "indexes are masked");
        let len = offsets.desc as usize + size as usize * size_of::<T>();
        let mapping = Mapping::of(fd, len, page as i64)?;
        // The last entry is inside, so all before it are.
        let _: NonNull<T> = mapping.at(len - size_of::<T>());
        Ok(Ring {
            producer: mapping.at(offsets.producer as usize),
            consumer: mapping.at(offsets.consumer as usize),
            flags: mapping.at(offsets.flags as usize),
            entries: mapping.at(offsets.desc as usize),
            size,
            _mapping: mapping,
        })
    }

    fn producer(&self) -> &AtomicU32 {
        // SAFETY: inside of the mapping, aligned by the kernel, and only ever accessed atomically.
        unsafe { self.producer.as_ref() }
    }

    fn consumer(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { self.consumer.as_ref() }
    }

    fn flags(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { self.flags.as_ref() }
    }

    /// The place of an index.
    fn entry(&self, index: u32) -> NonNull<T> {
        // SAFETY: masked to less than `size`, and all `size` entries are inside of the mapping.
        unsafe { self.entries.add((index & (self.size - 1)) as usize) }
    }
}

/// A ring we fill.
pub(super) struct Producer<T> {
    ring: Ring<T>,
    /// The index of the next entry; the kernel sees it after `publish`.
    next: u32,
    /// The last known index up to which the kernel has read.
    read: u32,
}

impl<T: Copy> Producer<T> {
    pub(super) fn map(fd: RawFd, page: u64, offsets: &Offsets, size: u32) -> io::Result<Self> {
        let ring = Ring::map(fd, page, offsets, size)?;
        let (next, read) = (
            ring.producer().load(Ordering::Relaxed),
            ring.consumer().load(Ordering::Acquire),
        );
        Ok(Producer { ring, next, read })
    }

    /// Whether there is room for an entry.
    pub(super) fn has_room(&mut self) -> bool {
        if self.next.wrapping_sub(self.read) == self.ring.size {
            self.read = self.ring.consumer().load(Ordering::Acquire);
        }
        self.next.wrapping_sub(self.read) != self.ring.size
    }

    /// Writes an entry.
    ///
    /// Panics when there is no [room](Self::has_room).
    pub(super) fn push(&mut self, entry: T) {
        assert!(self.has_room(), "a push needs room in the ring");
        // SAFETY: the kernel reads entries before our published index only, and has consumed the
        // one that was here.
        unsafe { self.ring.entry(self.next).write(entry) };
        self.next = self.next.wrapping_add(1);
    }

    /// Shows the kernel what was written.
    pub(super) fn publish(&mut self) {
        self.ring.producer().store(self.next, Ordering::Release);
    }

    /// How many published entries the kernel has not consumed.
    pub(super) fn pending(&mut self) -> u32 {
        self.read = self.ring.consumer().load(Ordering::Acquire);
        self.ring.producer().load(Ordering::Relaxed).wrapping_sub(self.read)
    }

    /// Whether the kernel needs a system call to notice new entries.
    pub(super) fn needs_wakeup(&self) -> bool {
        self.ring.flags().load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

/// A ring the kernel fills.
pub(super) struct Consumer<T> {
    ring: Ring<T>,
    /// The next entry to read; the kernel sees it with `release`.
    next: u32,
    /// The last known index up to which the kernel has written.
    written: u32,
}

impl<T: Copy> Consumer<T> {
    pub(super) fn map(fd: RawFd, page: u64, offsets: &Offsets, size: u32) -> io::Result<Self> {
        let ring = Ring::map(fd, page, offsets, size)?;
        let (next, written) = (
            ring.consumer().load(Ordering::Relaxed),
            ring.producer().load(Ordering::Acquire),
        );
        Ok(Consumer { ring, next, written })
    }

    /// The next entry, if there is one.
    pub(super) fn pop(&mut self) -> Option<T> {
        if self.next == self.written {
            self.written = self.ring.producer().load(Ordering::Acquire);
            if self.next == self.written {
                return None;
            }
        }
        // SAFETY: before the kernel's published index, which was read with acquire, and not
        // released yet.
        let entry = unsafe { self.ring.entry(self.next).read() };
        self.next = self.next.wrapping_add(1);
        Some(entry)
    }

    /// Gives the kernel room again for what was read.
    pub(super) fn release(&mut self) {
        self.ring.consumer().store(self.next, Ordering::Release);
    }
}
