//! Memory shared with the kernel: mappings, and the frames packets lie in.

use std::io;
use std::os::fd::RawFd;
use std::ptr::{self, NonNull};

/// Bytes of one frame: room for the headroom XDP wants (256), all headers and the largest datagram.
pub(crate) const FRAME_SIZE: usize = 2048;

/// Some pages, unmapped when dropped.
pub(super) struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: a mapping belongs to whoever has this value, on whichever thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Zeroed pages of our own, all present.
    pub(super) fn anonymous(len: usize) -> io::Result<Self> {
        Self::map(len, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE, -1, 0)
    }

    /// Maps memory that a descriptor offers at an offset.
    pub(super) fn of(fd: RawFd, len: usize, offset: i64) -> io::Result<Self> {
        Self::map(len, libc::MAP_SHARED | libc::MAP_POPULATE, fd, offset)
    }

    fn map(len: usize, flags: i32, fd: RawFd, offset: i64) -> io::Result<Self> {
        // SAFETY: the kernel chooses the place, so nothing that is mapped already is touched.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                fd,
                offset,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapping { start, len })
    }

    /// The address of `T` at an offset.
    ///
    /// Panics when it is not inside.
    pub(super) fn at<T>(&self, offset: usize) -> NonNull<T> {
        let end = offset.checked_add(size_of::<T>());
        assert!(end.is_some_and(|end| end <= self.len), "inside the mapping");
        // SAFETY: just found to be inside.
        unsafe { self.start.add(offset) }.cast()
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `map` with this length, and nobody has a pointer into it any more: all
        // are kept beside the mapping.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// The ownership of one frame. While it exists, neither the kernel nor anything else owns the
/// frame: it is made only from frames that the kernel gives back, and consumed when a frame is
/// handed to the kernel. So frames can neither be used twice nor be lost.
#[derive(Debug)]
pub(super) struct Frame(u32);

/// Frames, side by side.
pub(super) struct Frames {
    memory: Mapping,
}

impl Frames {
    /// So many of them, and the right to each.
    pub(super) fn new(count: u32) -> io::Result<(Self, impl Iterator<Item = Frame>)> {
        let memory = Mapping::anonymous(count as usize * FRAME_SIZE)?;
        Ok((Frames { memory }, (0..count).map(Frame)))
    }

    /// The address and the length in bytes of all frames, for the kernel.
    pub(super) fn extent(&self) -> (u64, u64) {
        (self.memory.start.as_ptr() as u64, self.memory.len() as u64)
    }

    /// The frame that the kernel gave back under this address, and where in it the address points.
    ///
    /// Panics for an address outside of all frames, which the kernel has no reason to give.
    pub(super) fn given_back(&self, address: u64) -> (Frame, usize) {
        assert!(
            address < self.memory.len() as u64,
            "the kernel gives back what it was given"
        );
        let frame = Frame((address / FRAME_SIZE as u64) as u32);
        (frame, (address % FRAME_SIZE as u64) as usize)
    }

    /// The address of a frame that is handed to the kernel.
    pub(super) fn hand_over(&self, frame: Frame) -> u64 {
        u64::from(frame.0) * FRAME_SIZE as u64
    }

    pub(super) fn bytes(&self, frame: &Frame) -> &[u8; FRAME_SIZE] {
        let place = self.memory.at::<[u8; FRAME_SIZE]>(frame.0 as usize * FRAME_SIZE);
        // SAFETY: inside of the mapping, which is readable and lives as long as `self`; the right
        // to the frame says that nobody writes to it.
        unsafe { place.as_ref() }
    }

    pub(super) fn bytes_mut<'a>(&'a self, frame: &'a mut Frame) -> &'a mut [u8; FRAME_SIZE] {
        let mut place = self.memory.at::<[u8; FRAME_SIZE]>(frame.0 as usize * FRAME_SIZE);
        // SAFETY: as above; the right to the frame is borrowed uniquely, so nobody reads or writes
        // it meanwhile, and other frames do not overlap.
        unsafe { place.as_mut() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_keeps_its_identity_through_the_kernel() {
        let (frames, rights) = Frames::new(4).unwrap();
        for (index, mut frame) in rights.enumerate() {
            frames.bytes_mut(&mut frame)[0] = index as u8;
            let address = frames.hand_over(frame);
            let (frame, offset) = frames.given_back(address + 256);
            assert_eq!((frames.bytes(&frame)[0], offset), (index as u8, 256));
        }
    }

    #[test]
    #[should_panic(expected = "gives back what it was given")]
    fn an_address_outside_of_all_frames_panics() {
        let (frames, _) = Frames::new(4).unwrap();
        frames.given_back(4 * FRAME_SIZE as u64);
    }
}
