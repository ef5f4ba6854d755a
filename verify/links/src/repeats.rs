//! Probes of a data plane that neither paces nor pads, such as one in a kernel: sent packets are
//! sent several times.

use std::time::Duration;

use bandwidth::{Probe, ProbeId};

/// Time by which a packet may be repeated ahead: the next one may be that late.
const AHEAD: Duration = Duration::from_millis(20);
/// Time after which a probe ends, for any number of packets.
const PATIENCE: Duration = Duration::from_secs(1);
/// Of one packet.
const COPIES_MAX: u64 = 64;

/// The probe that is under way, if any: a new one takes the place of the last.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    current: Option<Repeating>,
}

#[derive(Debug)]
struct Repeating {
    probe: Probe,
    began: Option<Duration>,
    bytes: u64,
    packets: u64,
}

impl Repeats {
    pub(crate) fn probe(&mut self, probe: Probe) {
        self.current = Some(Repeating {
            probe,
            began: None,
            bytes: 0,
            packets: 0,
        });
    }

    /// The burst of a packet sent now, and the number of its repetitions.
    pub(crate) fn leaves(&mut self, now: Duration, size: u16) -> (Option<ProbeId>, u64) {
        let Some(current) = &mut self.current else {
            return (None, 0);
        };
        let id = current.probe.id;
        let passed = now - *current.began.get_or_insert(now);
        if passed > PATIENCE {
            self.current = None;
            return (Some(id), 0);
        }
        let size = u64::from(size);
        current.left(1, size);
        let may = current.probe.rate as f64 / 8.0 * (passed + AHEAD).as_secs_f64();
        let may = (may as u64).saturating_sub(current.bytes).div_ceil(size);
        let again = current.wants(size).min(may).min(COPIES_MAX);
        current.left(again, again * size);
        if current.wants(size) == 0 {
            self.current = None;
        }
        (Some(id), again)
    }
}

impl Repeating {
    fn left(&mut self, packets: u64, bytes: u64) {
        self.packets += packets;
        self.bytes += bytes;
    }

    /// How many packets of this size are still to be sent.
    fn wants(&self, size: u64) -> u64 {
        let bytes = u64::from(self.probe.bytes).saturating_sub(self.bytes);
        let packets = u64::from(self.probe.packets).saturating_sub(self.packets);
        packets.max(bytes.div_ceil(size))
    }
}
