//! The fixed form of an observation in a ring.
//!
//! Shape: 32 bytes, little endian. 0..6 time in milliseconds since the Unix epoch, 6 kind, 7 index
//! of the name of its track, 8 generation of that name, 9..32 fields of the observation.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use operator::Observation;
use operator::receivers::Target;

use crate::code::Code;
use crate::limits::RECORD_LEN;
use crate::names::NameId;

/// The bytes before the fields of the observation.
const HEAD_LEN: usize = 9;

/// The greatest time. Shape: milliseconds since the Unix epoch.
const TIME_MAX: u64 = (1 << 48) - 1;

/// The index of a name, of a record without one.
const NO_NAME: u8 = u8::MAX;

/// The layer number that stands for no limit.
const NO_LIMIT: u8 = u8::MAX;

/// The round-trip time that stands for an unknown one.
const UNKNOWN: u16 = u16::MAX;

/// One observation with its time and the name of its track.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) at_ms: u64,
    pub(crate) name: Option<NameId>,
    pub(crate) observation: Observation,
}

impl Record {
    /// Writes the record to its place.
    pub(crate) fn encode(&self, to: &mut [u8; RECORD_LEN]) {
        to.fill(0);
        to[..6].copy_from_slice(&self.at_ms.min(TIME_MAX).to_le_bytes()[..6]);
        (to[7], to[8]) = self.name.map_or((NO_NAME, 0), |name| (name.index, name.generation));
        let (head, fields) = to.split_at_mut(HEAD_LEN);
        head[6] = encode_fields(&self.observation, &mut Writer(fields));
    }

    /// Reads a record; `None` for bytes that [`encode`](Self::encode) does not write.
    pub(crate) fn decode(from: &[u8; RECORD_LEN]) -> Option<Self> {
        let mut time = [0; 8];
        time[..6].copy_from_slice(&from[..6]);
        let name = NameId {
            index: from[7],
            generation: from[8],
        };
        Some(Record {
            at_ms: u64::from_le_bytes(time),
            name: (name.index != NO_NAME).then_some(name),
            observation: decode_fields(from[6], &mut Reader(&from[HEAD_LEN..]))?,
        })
    }
}

/// Writes fields one after the other. The fields of each observation fit; a test writes all kinds.
struct Writer<'a>(&'a mut [u8]);

impl Writer<'_> {
    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        let (field, rest) = std::mem::take(&mut self.0).split_at_mut(bytes.len());
        field.copy_from_slice(bytes);
        self.0 = rest;
        self
    }

    fn code(&mut self, value: impl Code) -> &mut Self {
        self.bytes(&[value.code()])
    }

    fn flag(&mut self, value: bool) -> &mut Self {
        self.bytes(&[u8::from(value)])
    }

    fn u16(&mut self, value: u16) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    fn target(&mut self, target: Option<Target>) -> &mut Self {
        let layer = |layer: Option<u8>| layer.unwrap_or(NO_LIMIT);
        let fields = target.map(|target| [1, target.encoding, layer(target.spatial), layer(target.temporal)]);
        self.bytes(&fields.unwrap_or_default())
    }
}

/// Reads fields one after the other. Bytes beyond the end are zero.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.0.split_first_chunk::<N>().unwrap_or((&[0; N], &[]));
        self.0 = rest;
        *field
    }

    fn code<T: Code>(&mut self) -> Option<T> {
        let [code] = self.bytes();
        T::from_code(code)
    }

    fn flag(&mut self) -> bool {
        self.bytes() != [0]
    }

    fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.bytes())
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes())
    }

    fn target(&mut self) -> Option<Target> {
        let [is_there, encoding, spatial, temporal] = self.bytes();
        let layer = |layer: u8| (layer != NO_LIMIT).then_some(layer);
        (is_there != 0).then(|| Target {
            encoding,
            spatial: layer(spatial),
            temporal: layer(temporal),
        })
    }
}

/// Writes the fields of an observation, and returns its kind.
fn encode_fields(observation: &Observation, to: &mut Writer<'_>) -> u8 {
    use Observation as O;
    match *observation {
        O::Join => 1,
        O::Leave { reason } => {
            to.code(reason);
            2
        }
        O::Reconnect => 3,
        O::Detach => 4,
        O::Permission {
            publish,
            subscribe,
            data,
        } => {
            to.flag(publish).flag(subscribe).flag(data);
            5
        }
        O::Publish => 6,
        O::Unpublish => 7,
        O::Mute { muted } => {
            to.flag(muted);
            8
        }
        O::Arrival { encodings } => {
            to.bytes(&[encodings]);
            9
        }
        O::Subscribe => 10,
        O::Unsubscribe => 11,
        O::Pause { paused } => {
            to.flag(paused);
            12
        }
        O::LayerSwitch { from, to: layer, cause } => {
            to.target(from).target(Some(layer)).code(cause);
            13
        }
        O::Estimate {
            target_bps,
            allocated_bps,
            wanted_bps,
            limit,
            usage,
            loss_permille,
            round_trip_ms,
            queue_ms,
        } => {
            to.u32(target_bps).u32(allocated_bps).u32(wanted_bps);
            to.code(limit).code(usage).u16(loss_permille);
            to.u16(round_trip_ms.unwrap_or(UNKNOWN)).u16(queue_ms);
            14
        }
        O::Probe { rate_bps, bytes } => {
            to.u32(rate_bps).u32(bytes);
            15
        }
        O::Loss {
            direction,
            expected,
            lost,
        } => {
            to.code(direction).u32(expected).u32(lost);
            16
        }
        O::KeyFrameRequest => 17,
        O::KeyFrameQuery { attempt } => {
            to.u16(attempt);
            18
        }
        O::Transport { direction, state } => {
            to.code(direction).code(state);
            19
        }
        O::Path { remote, protocol } => {
            let ip = match remote.ip() {
                IpAddr::V4(ip) => ip.to_ipv6_mapped(),
                IpAddr::V6(ip) => ip,
            };
            to.flag(remote.is_ipv4())
                .code(protocol)
                .u16(remote.port())
                .bytes(&ip.octets());
            20
        }
        O::Restart => 21,
        O::Move => 22,
        O::Refusal => 23,
    }
}

fn decode_fields(kind: u8, from: &mut Reader<'_>) -> Option<Observation> {
    use Observation as O;
    Some(match kind {
        1 => O::Join,
        2 => O::Leave { reason: from.code()? },
        3 => O::Reconnect,
        4 => O::Detach,
        5 => O::Permission {
            publish: from.flag(),
            subscribe: from.flag(),
            data: from.flag(),
        },
        6 => O::Publish,
        7 => O::Unpublish,
        8 => O::Mute { muted: from.flag() },
        9 => O::Arrival {
            encodings: from.bytes::<1>()[0],
        },
        10 => O::Subscribe,
        11 => O::Unsubscribe,
        12 => O::Pause { paused: from.flag() },
        13 => O::LayerSwitch {
            from: from.target(),
            to: from.target()?,
            cause: from.code()?,
        },
        14 => O::Estimate {
            target_bps: from.u32(),
            allocated_bps: from.u32(),
            wanted_bps: from.u32(),
            limit: from.code()?,
            usage: from.code()?,
            loss_permille: from.u16(),
            round_trip_ms: Some(from.u16()).filter(|time| *time != UNKNOWN),
            queue_ms: from.u16(),
        },
        15 => O::Probe {
            rate_bps: from.u32(),
            bytes: from.u32(),
        },
        16 => O::Loss {
            direction: from.code()?,
            expected: from.u32(),
            lost: from.u32(),
        },
        17 => O::KeyFrameRequest,
        18 => O::KeyFrameQuery { attempt: from.u16() },
        19 => O::Transport {
            direction: from.code()?,
            state: from.code()?,
        },
        20 => {
            let (is_ipv4, protocol, port) = (from.flag(), from.code()?, from.u16());
            let ip = Ipv6Addr::from(from.bytes::<16>());
            let ip = ip
                .to_ipv4_mapped()
                .filter(|_| is_ipv4)
                .map_or(IpAddr::V6(ip), IpAddr::V4);
            O::Path {
                remote: SocketAddr::new(ip, port),
                protocol,
            }
        }
        21 => O::Restart,
        22 => O::Move,
        23 => O::Refusal,
        _ => return None,
    })
}
