//! A store in etcd, by its v3 interface.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::mpsc;
use tonic::Status;

use crate::config::{EtcdConfig, OpenError};
use crate::entry::Entry;
use crate::etcd::calls::{all_under, compare, deletion, one, put, range, range_end, swapped};
use crate::etcd::connection::{Connection, Members};
use crate::etcd::protocol::etcdserverpb as pb;
use crate::etcd::protocol::etcdserverpb::compare::{CompareTarget, TargetUnion};
use crate::store::{Claim, Lease, Listing, Store, StoreError, Swap};
use crate::store::{check_entry, check_key, check_prefix, check_ttl};
use crate::watch::{CHANGES_MAX, Watch};

mod calls;
mod connection;
mod watching;

/// The output of the build script.
#[allow(
    missing_docs,
    unreachable_pub,
    dead_code,
    clippy::allow_attributes_without_reason,
    clippy::enum_variant_names,
    clippy::large_enum_variant,
    reason = "generated: the file under `proto` documents it and determines its form"
)]
mod protocol {
    include!(concat!(env!("OUT_DIR"), "/protocol.rs"));
}

/// Entries that are asked for at once. With the longest values a page has 16 MiB.
const PAGE: i64 = 256;

/// A store in etcd.
pub(crate) struct Etcd {
    members: Arc<Members>,
}

impl Etcd {
    pub(crate) fn new(config: &EtcdConfig) -> Result<Self, OpenError> {
        Ok(Self {
            members: Arc::new(Members::new(config)?),
        })
    }

    async fn transact(
        &self,
        compare: pb::Compare,
        then: pb::RequestOp,
        key: &str,
    ) -> Result<(u64, Option<Option<Entry>>), StoreError> {
        let request = pb::TxnRequest {
            compare: vec![compare],
            success: vec![then],
            failure: vec![one(key)],
        };
        let call = |connection: Connection| {
            let request = request.clone();
            async move { connection.kv().txn(request).await }
        };
        let answer = self.members.write(call).await?;
        let revision = answer.header.map_or(0, |header| header.revision.cast_unsigned());
        if answer.succeeded {
            return Ok((revision, None));
        }
        let response = answer.responses.into_iter().next().and_then(|it| it.response);
        let Some(pb::response_op::Response::ResponseRange(range)) = response else {
            return Err(StoreError::Malformed(
                "etcd's answer to a transaction has no entry".into(),
            ));
        };
        let entry = range.kvs.into_iter().next().map(|kv| calls::entry(kv).1);
        Ok((revision, Some(entry)))
    }
}

/// All entries under a prefix at one revision.
async fn list(members: &Members, prefix: &str) -> Result<(Vec<(String, Entry)>, i64), StoreError> {
    let mut listing = Listing::default();
    let (mut key, mut revision) = (all_under(prefix), 0);
    loop {
        let request = range(key, range_end(prefix), PAGE, revision);
        let call = |connection: Connection| {
            let request = request.clone();
            async move { connection.kv().range(request).await }
        };
        let page = members.read(call).await?;
        if revision == 0 {
            revision = page.header.map_or(0, |header| header.revision);
        }
        let last = page.kvs.last().map(|kv| kv.key.to_vec());
        for kv in page.kvs {
            let (key, entry) = calls::entry(kv);
            // A key of another program that is no text is none of this store's.
            if let Ok(key) = String::from_utf8(key.to_vec()) {
                listing.push(key, entry)?;
            }
        }
        match last {
            Some(mut last) if page.more => {
                last.push(0);
                key = last;
            }
            _ => return Ok((listing.entries, revision)),
        }
    }
}

#[async_trait]
impl Store for Etcd {
    async fn grant(&self, ttl: Duration) -> Result<Lease, StoreError> {
        check_ttl(ttl)?;
        let seconds = ttl.as_millis().div_ceil(1000) as i64;
        let request = pb::LeaseGrantRequest { ttl: seconds };
        let call = |connection: Connection| async move { connection.lease().lease_grant(request).await };
        let granted = self.members.write(call).await?;
        if !granted.error.is_empty() {
            return Err(StoreError::Malformed(granted.error));
        }
        Ok(Lease {
            id: granted.id,
            ttl: Duration::from_secs(granted.ttl.max(0).cast_unsigned()),
        })
    }

    async fn keep_alive(&self, lease: Lease) -> Result<(), StoreError> {
        let call = |connection: Connection| async move {
            let once = tokio_stream::once(pb::LeaseKeepAliveRequest { id: lease.id });
            let mut answers = connection.lease().lease_keep_alive(once).await?;
            let answer = answers.get_mut().message().await?;
            let missing = || Status::unavailable("etcd ended the call without an answer");
            Ok(tonic::Response::new(answer.ok_or_else(missing)?))
        };
        let answer = self.members.write(call).await?;
        if answer.ttl > 0 {
            Ok(())
        } else {
            Err(StoreError::LeaseLost)
        }
    }

    async fn revoke(&self, lease: Lease) -> Result<(), StoreError> {
        let request = pb::LeaseRevokeRequest { id: lease.id };
        let call = |connection: Connection| async move { connection.lease().lease_revoke(request).await };
        match self.members.write(call).await {
            Ok(_) | Err(StoreError::LeaseLost) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn get(&self, key: &str) -> Result<Option<Entry>, StoreError> {
        check_key(key)?;
        let request = range(key.into(), Vec::new(), 1, 0);
        let call = |connection: Connection| {
            let request = request.clone();
            async move { connection.kv().range(request).await }
        };
        let answer = self.members.read(call).await?;
        Ok(answer.kvs.into_iter().next().map(|kv| calls::entry(kv).1))
    }

    async fn list(&self, prefix: &str) -> Result<Vec<(String, Entry)>, StoreError> {
        check_prefix(prefix)?;
        Ok(self.members.timed(list(&self.members, prefix)).await?.0)
    }

    async fn claim(&self, key: &str, value: Bytes, lease: Option<Lease>) -> Result<Claim, StoreError> {
        check_entry(key, &value)?;
        let absent = compare(key, CompareTarget::Create, TargetUnion::CreateRevision(0));
        match self.transact(absent, put(key, value, lease), key).await? {
            (revision, None) => Ok(Claim::Won { revision }),
            (_, Some(Some(entry))) => Ok(Claim::Taken(entry)),
            (_, Some(None)) => Err(StoreError::Malformed("etcd says a key is there and absent".into())),
        }
    }

    async fn swap(&self, key: &str, expected: u64, value: Bytes, lease: Option<Lease>) -> Result<Swap, StoreError> {
        check_entry(key, &value)?;
        let same = calls::unchanged(key, expected)?;
        self.transact(same, put(key, value, lease), key).await.map(swapped)
    }

    async fn delete(&self, key: &str, expected: u64) -> Result<Swap, StoreError> {
        check_key(key)?;
        let same = calls::unchanged(key, expected)?;
        self.transact(same, deletion(key), key).await.map(swapped)
    }

    async fn watch(&self, prefix: &str) -> Result<Watch, StoreError> {
        check_prefix(prefix)?;
        let (to, changes) = mpsc::channel(CHANGES_MAX);
        tokio::spawn(watching::run(self.members.clone(), prefix.to_owned(), to));
        Ok(Watch::new(changes))
    }
}
