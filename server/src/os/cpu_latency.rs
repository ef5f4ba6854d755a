//! How deep the machine's processors may sleep while media flows.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tracing::warn;

/// While this device is open, processors enter only sleep states from which they wake up within the
/// latency written to it: microseconds, a signed word of 32 bits in the machine's order (Linux,
/// Documentation/power/pm_qos_interface.rst).
const DEVICE: &str = "/dev/cpu_dma_latency";

/// Asks for quick wake-ups from when packets are forwarded until none has been for a while: a
/// server without calls sleeps as it likes.
#[derive(Debug)]
pub(crate) struct CpuLatency {
    device: PathBuf,
    /// Shape: microseconds.
    at_most: u32,
    held: Option<File>,
    /// How many packets had been forwarded when it was looked last.
    forwarded: u64,
}

impl CpuLatency {
    /// A request for processors that wake up within this many microseconds. `None` if the device
    /// cannot be opened; the log says why.
    pub(crate) fn permitted(at_most: u32) -> Option<Self> {
        let latency = Self::new(Path::new(DEVICE), at_most);
        // Opening it asks for nothing yet.
        match latency.open() {
            Ok(_) => Some(latency),
            Err(reason) => {
                warn!(%reason, "processors may sleep deeply: rtc.cpu_latency_us needs {DEVICE}");
                None
            }
        }
    }

    fn new(device: &Path, at_most: u32) -> Self {
        CpuLatency {
            device: device.to_owned(),
            at_most,
            held: None,
            forwarded: 0,
        }
    }

    fn open(&self) -> io::Result<File> {
        OpenOptions::new().write(true).open(&self.device)
    }

    /// Looks whether media flows, by how many packets have been forwarded by now.
    pub(crate) fn look(&mut self, forwarded: u64) {
        let flows = forwarded > self.forwarded;
        self.forwarded = forwarded;
        match (flows, &self.held) {
            (true, None) => self.held = self.hold().ok(),
            (false, Some(_)) => self.held = None,
            _ => {}
        }
    }

    fn hold(&self) -> io::Result<File> {
        let mut file = self.open()?;
        let at_most = i32::try_from(self.at_most).unwrap_or(i32::MAX);
        file.write_all(&at_most.to_ne_bytes())?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_latency_is_requested_while_packets_are_forwarded() {
        let device = std::env::temp_dir().join(format!("weir-cpu-latency-{}", std::process::id()));
        fs::write(&device, []).unwrap();
        let mut latency = CpuLatency::new(&device, 20);

        latency.look(0);
        assert!(latency.held.is_none(), "nothing has been forwarded");
        latency.look(7);
        assert!(latency.held.is_some());
        assert_eq!(fs::read(&device).unwrap(), 20_i32.to_ne_bytes());
        latency.look(8);
        assert!(latency.held.is_some(), "more has been");
        latency.look(8);
        assert!(latency.held.is_none(), "nothing more has been");
        latency.look(9);
        assert!(latency.held.is_some(), "and again");
        fs::remove_file(&device).unwrap();
    }

    #[test]
    fn media_works_without_the_latency_device() {
        let mut latency = CpuLatency::new(Path::new("/nowhere/at/all"), 0);
        latency.look(1);
        assert!(latency.held.is_none());
    }
}
