//! Data blobs: stored with a participant and read by others.

use std::time::Duration;

use controller::Counter;
use controller::PeerMode::Single;
use livekit_protocol::data_blob_key::Key;
use livekit_protocol::data_track_schema_encoding::Value;
use livekit_protocol::request_response::Reason;
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::signal_response::Message;
use livekit_protocol::{
    DataBlob, DataBlobKey, DataTrackSchemaEncoding, DataTrackSchemaId, GetDataBlobRequest, LeaveRequest,
    StoreDataBlobRequest,
};

use crate::world::{Client, World, claims};

fn generic(name: &str) -> DataBlobKey {
    DataBlobKey {
        key: Some(Key::Generic(name.to_owned())),
    }
}

fn schema(name: &str, encoding: Option<Value>) -> DataBlobKey {
    let encoding = encoding.map(|value| DataTrackSchemaEncoding { value: Some(value) });
    DataBlobKey {
        key: Some(Key::SchemaId(DataTrackSchemaId {
            name: name.to_owned(),
            encoding,
        })),
    }
}

/// The answer to the last request.
#[derive(Debug, PartialEq)]
enum Answer {
    Stored(Option<DataBlobKey>),
    Found(Option<DataBlob>),
    Refused(Reason),
}

/// The only answer, which bears the number of the request.
fn answer(world: &mut World, client: &Client, number: u32) -> Answer {
    let heard = world.take(client.connection, |message| {
        matches!(
            message,
            Message::StoreDataBlobResponse(_) | Message::GetDataBlobResponse(_) | Message::RequestResponse(_)
        )
    });
    let [message] = &heard[..] else {
        panic!("not one answer: {heard:?}");
    };
    let (id, answer) = match message.clone() {
        Message::StoreDataBlobResponse(response) => (response.request_id, Answer::Stored(response.key)),
        Message::GetDataBlobResponse(response) => (response.request_id, Answer::Found(response.blob)),
        Message::RequestResponse(response) => {
            assert_eq!(response.request, None, "LiveKit does not repeat the request");
            (response.request_id, Answer::Refused(response.reason()))
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(id, number);
    answer
}

fn store(world: &mut World, client: &Client, key: Option<DataBlobKey>, contents: Vec<u8>) -> Answer {
    let request = StoreDataBlobRequest {
        request_id: 7,
        blob: Some(DataBlob { key, contents }),
    };
    world.say(client.connection, Said::StoreDataBlobRequest(request));
    answer(world, client, 7)
}

fn get(world: &mut World, client: &Client, identity: &str, key: Option<DataBlobKey>) -> Answer {
    let request = GetDataBlobRequest {
        request_id: 8,
        participant_identity: identity.to_owned(),
        key,
    };
    world.say(client.connection, Said::GetDataBlobRequest(request));
    answer(world, client, 8)
}

fn found(key: DataBlobKey, contents: &[u8]) -> Answer {
    Answer::Found(Some(DataBlob {
        key: Some(key),
        contents: contents.to_vec(),
    }))
}

#[test]
fn a_blob_is_read_by_its_key_until_its_owner_leaves() {
    let mut world = World::new();
    let (mut ada, bob) = (world.join("ada", Single), world.join("bob", Single));
    let json = Some(Value::WellKnown(7));
    let keys = [
        generic("place"),
        schema("place", None),
        schema("place", json),
        schema("place", Some(Value::Custom("yaml".to_owned()))),
    ];
    for (number, key) in (1..).zip(&keys) {
        let stored = store(&mut world, &ada, Some(key.clone()), vec![number; 10]);
        assert_eq!(stored, Answer::Stored(Some(key.clone())));
    }
    for (number, key) in (1..).zip(&keys) {
        for reader in [&ada, &bob] {
            let read = get(&mut world, reader, "ada", Some(key.clone()));
            assert_eq!(read, found(key.clone(), &[number; 10]));
        }
    }
    store(&mut world, &ada, Some(generic("place")), vec![9]);
    let read = get(&mut world, &bob, "ada", Some(generic("place")));
    assert_eq!(read, found(generic("place"), &[9]));
    ada.connection = world.resume(&ada);
    let read = get(&mut world, &bob, "ada", Some(generic("place")));
    assert_eq!(read, found(generic("place"), &[9]), "it is there after a resume");
    world.say(ada.connection, Said::Leave(LeaveRequest::default()));
    let read = get(&mut world, &bob, "ada", Some(generic("place")));
    assert_eq!(read, Answer::Refused(Reason::NotFound));
}

#[test]
fn a_blob_that_is_not_there_is_not_found() {
    let mut world = World::new();
    let ada = world.join("ada", Single);
    let mut ghost = claims("ghost");
    ghost.video.hidden = true;
    let ghost = world.join_as(&ghost, Single);
    store(&mut world, &ghost, Some(generic("place")), vec![1]);
    let own = get(&mut world, &ghost, "ghost", Some(generic("place")));
    assert_eq!(own, found(generic("place"), &[1]));
    for identity in ["ada", "nobody", "ghost"] {
        let read = get(&mut world, &ada, identity, Some(generic("place")));
        assert_eq!(read, Answer::Refused(Reason::NotFound), "{identity}");
    }
    assert_eq!(world.count(Counter::NotFound), 3);
}

#[test]
fn a_blob_that_makes_no_sense_is_refused() {
    let mut world = World::new();
    let ada = world.join("ada", Single);
    let nameless = schema("place", Some(Value::Custom(String::new())));
    for (key, contents) in [
        (None, vec![1]),
        (Some(DataBlobKey::default()), vec![1]),
        (Some(nameless), vec![1]),
        (Some(generic("place")), vec![]),
    ] {
        let stored = store(&mut world, &ada, key.clone(), contents);
        assert_eq!(stored, Answer::Refused(Reason::InvalidRequest), "{key:?}");
    }
    let read = get(&mut world, &ada, "ada", None);
    assert_eq!(read, Answer::Refused(Reason::InvalidRequest));
    assert_eq!(world.count(Counter::NotAllowed), 5);
    let long = [
        generic(&"k".repeat(257)),
        schema("place", Some(Value::Custom("c".repeat(33)))),
    ];
    for key in long {
        let stored = store(&mut world, &ada, Some(key), vec![1]);
        assert_eq!(stored, Answer::Refused(Reason::InvalidRequest));
    }
    assert_eq!(world.count(Counter::LimitExceeded), 2);
}

#[test]
fn the_blobs_of_a_participant_are_few_and_small() {
    let mut world = World::new();
    let ada = world.join("ada", Single);
    let longest = generic(&"k".repeat(256));
    let stored = store(&mut world, &ada, Some(longest.clone()), vec![1; 64_000 - 256]);
    assert_eq!(stored, Answer::Stored(Some(longest.clone())));
    let replaced = store(&mut world, &ada, Some(longest.clone()), vec![2; 64_000 - 256]);
    assert_eq!(replaced, Answer::Stored(Some(longest.clone())));
    for (key, contents) in [
        (longest.clone(), vec![3; 64_000 - 255]),
        (generic("k"), vec![3]),
        (generic("k"), vec![3; 64_001]),
    ] {
        let stored = store(&mut world, &ada, Some(key), contents);
        assert_eq!(stored, Answer::Refused(Reason::LimitExceeded));
    }
    assert_eq!(world.count(Counter::LimitExceeded), 3);
    let kept = get(&mut world, &ada, "ada", Some(longest.clone()));
    assert_eq!(kept, found(longest.clone(), &[2; 64_000 - 256]));
    store(&mut world, &ada, Some(longest), vec![4]);
    for number in 1..1000 {
        let stored = store(&mut world, &ada, Some(generic(&number.to_string())), vec![5]);
        assert!(matches!(stored, Answer::Stored(_)), "{number}: {stored:?}");
        if number % 100 == 0 {
            world.advance(Duration::from_secs(1));
        }
    }
    let stored = store(&mut world, &ada, Some(generic("one more")), vec![5]);
    assert_eq!(stored, Answer::Refused(Reason::LimitExceeded));
}
