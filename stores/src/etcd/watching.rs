//! A watch in etcd: a list, then the changes since its revision, and again after any failure.

use std::sync::Arc;

use tokio::sync::mpsc::Sender;
use tokio::time;

use crate::etcd::calls::{all_under, entry, range_end};
use crate::etcd::connection::Members;
use crate::etcd::list;
use crate::etcd::protocol::etcdserverpb as pb;
use crate::etcd::protocol::etcdserverpb::event::EventType;
use crate::etcd::protocol::etcdserverpb::watch_request::RequestUnion;
use crate::watch::{AGAIN, Change, Stop, hand};

/// Feeds a watcher until it goes.
pub(super) async fn run(members: Arc<Members>, prefix: String, to: Sender<Change>) {
    loop {
        // A watcher that is too slow has to make room first, and no list waits for it in memory.
        let Ok(place) = to.reserve().await else { return };
        if let Ok((entries, revision)) = members.timed(list(&members, &prefix)).await {
            place.send(Change::Reset(entries));
            let stop = tokio::select! {
                stop = follow(&members, &prefix, revision, &to) => stop,
                () = to.closed() => return,
            };
            if matches!(stop, Stop::Gone) {
                return;
            }
        }
        time::sleep(AGAIN).await;
    }
}

/// Hands the changes after a revision on. Some are missed if etcd has compacted them, if the
/// connection broke, or if the watcher is too slow.
async fn follow(members: &Members, prefix: &str, revision: i64, to: &Sender<Change>) -> Stop {
    let create = pb::WatchCreateRequest {
        key: all_under(prefix).into(),
        range_end: range_end(prefix).into(),
        start_revision: revision + 1,
    };
    let request = pb::WatchRequest {
        request_union: Some(RequestUnion::CreateRequest(create)),
    };
    let Ok(connection) = members.timed(members.connection()).await else {
        return Stop::Missed;
    };
    // The stream of requests stays open as long as its sender lives.
    let (requests, stream) = tokio::sync::mpsc::channel(1);
    if requests.send(request).await.is_err() {
        return Stop::Missed;
    }
    let stream = tokio_stream::wrappers::ReceiverStream::new(stream);
    let mut client = connection.watch();
    let opening = async {
        client
            .watch(stream)
            .await
            .map_err(|_| crate::store::StoreError::TimedOut)
    };
    let Ok(answers) = members.timed(opening).await else {
        return Stop::Missed;
    };
    let mut answers = answers.into_inner();
    while let Ok(Some(answer)) = answers.message().await {
        if answer.canceled || answer.compact_revision != 0 {
            return Stop::Missed;
        }
        for event in answer.events {
            if let Err(stop) = change(event).map_or(Ok(()), |change| hand(to, change)) {
                return stop;
            }
        }
    }
    Stop::Missed
}

/// None for a key of another program that is no text.
fn change(event: pb::Event) -> Option<Change> {
    let deleted = event.r#type() == EventType::Delete;
    let (key, entry) = entry(event.kv?);
    let key = String::from_utf8(key.to_vec()).ok()?;
    Some(if deleted {
        Change::Deleted(key)
    } else {
        Change::Put(key, entry)
    })
}
