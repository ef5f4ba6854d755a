//! The parts of etcd's requests and answers.

use bytes::Bytes;

use crate::entry::Entry;
use crate::etcd::protocol::etcdserverpb as pb;
use crate::etcd::protocol::etcdserverpb::compare::{CompareResult, CompareTarget, TargetUnion};
use crate::etcd::protocol::etcdserverpb::request_op::Request;
use crate::store::{Lease, StoreError, Swap};

/// The first key under a prefix. etcd refuses an empty one.
pub(super) fn all_under(prefix: &str) -> Vec<u8> {
    if prefix.is_empty() { vec![0] } else { prefix.into() }
}

/// The first key after all that begin with `prefix`; one zero byte means no end. A text has no byte
/// 0xff.
pub(super) fn range_end(prefix: &str) -> Vec<u8> {
    let mut end = Vec::from(prefix);
    match end.last_mut() {
        Some(last) => *last += 1,
        None => end.push(0),
    }
    end
}

pub(super) fn range(key: Vec<u8>, range_end: Vec<u8>, limit: i64, revision: i64) -> pb::RangeRequest {
    pb::RangeRequest {
        key: key.into(),
        range_end: range_end.into(),
        limit,
        revision,
    }
}

pub(super) fn one(key: &str) -> pb::RequestOp {
    let request = Request::RequestRange(range(key.into(), Vec::new(), 1, 0));
    pb::RequestOp { request: Some(request) }
}

pub(super) fn put(key: &str, value: Bytes, lease: Option<Lease>) -> pb::RequestOp {
    let (key, lease) = (bytes(key), lease.map_or(0, |lease| lease.id));
    pb::RequestOp {
        request: Some(Request::RequestPut(pb::PutRequest { key, value, lease })),
    }
}

pub(super) fn deletion(key: &str) -> pb::RequestOp {
    let request = Request::RequestDeleteRange(pb::DeleteRangeRequest { key: bytes(key) });
    pb::RequestOp { request: Some(request) }
}

pub(super) fn compare(key: &str, target: CompareTarget, to: TargetUnion) -> pb::Compare {
    pb::Compare {
        result: CompareResult::Equal.into(),
        target: target.into(),
        key: bytes(key),
        target_union: Some(to),
    }
}

/// That a key has the expected revision. To etcd an absent key has revision 0.
pub(super) fn unchanged(key: &str, expected: u64) -> Result<pb::Compare, StoreError> {
    let revision = i64::try_from(expected).ok().filter(|revision| *revision > 0);
    let malformed = || StoreError::Malformed(format!("revision {expected}"));
    let union = TargetUnion::ModRevision(revision.ok_or_else(malformed)?);
    Ok(compare(key, CompareTarget::Mod, union))
}

pub(super) fn entry(kv: pb::KeyValue) -> (Bytes, Entry) {
    (
        kv.key,
        Entry {
            value: kv.value,
            revision: kv.mod_revision.cast_unsigned(),
        },
    )
}

pub(super) fn swapped((revision, other): (u64, Option<Option<Entry>>)) -> Swap {
    match other {
        None => Swap::Won { revision },
        Some(Some(entry)) => Swap::Taken(entry),
        Some(None) => Swap::Gone,
    }
}

fn bytes(key: &str) -> Bytes {
    Bytes::copy_from_slice(key.as_bytes())
}
