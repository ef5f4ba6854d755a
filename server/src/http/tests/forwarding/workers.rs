//! A worker of agents that is connected to one of two controllers.

use super::super::*;
use super::world::{Client, two};
use super::{CLOSE, TEXT};

/// The next message of a kind, whatever comes before it.
async fn next(worker: &mut Client, kind: &str) -> Value {
    loop {
        let (opcode, payload) = worker.next().await;
        if opcode == TEXT {
            let message: Value = serde_json::from_slice(&payload).unwrap();
            if let Some(found) = message.get(kind) {
                return found.clone();
            }
        }
    }
}

async fn say(worker: &mut Client, message: Value) {
    worker.frame(TEXT, message.to_string().as_bytes()).await;
}

#[tokio::test]
async fn a_worker_gets_the_jobs_of_another_controllers_rooms() {
    let [one, two] = two().await;
    two.directory.set_controllers(&[one.forward]);
    let mut claims = dev::claims("devkey", "", "worker", Duration::from_secs(60));
    (claims.video.room_join, claims.video.agent) = (false, true);
    let token = sign(&claims, &keys()).unwrap();
    let mut worker = Client::ask(two.public, &format!("/agent?access_token={token}"), "").await;
    assert_eq!(worker.status(), "101", "{}", worker.head);
    say(&mut worker, json!({"register": {"type": "JT_ROOM", "version": "1"}})).await;
    next(&mut worker, "register").await;

    join(&one.server, &access_token(&[])).await;
    let offer = next(&mut worker, "availability").await;
    assert_eq!(offer["job"]["room"]["name"], "lobby");
    let id = offer["job"]["id"].as_str().unwrap().to_owned();
    let answer = json!({"jobId": id, "available": true, "participantIdentity": "agent"});
    say(&mut worker, json!({ "availability": answer })).await;
    let assignment = next(&mut worker, "assignment").await;
    assert_eq!(assignment["job"]["id"], id.as_str());
    assert!(!assignment["token"].as_str().unwrap().is_empty());
    assert_eq!(two.metric("weir_forwarded_requests_total{kind=\"worker\"}"), "1");

    // Its own controller offers jobs of its own rooms meanwhile.
    let mut claims = dev::claims("devkey", "attic", "ben", Duration::from_secs(60));
    claims.video.room_join = true;
    join(&two.server, &sign(&claims, &keys()).unwrap()).await;
    let own = next(&mut worker, "availability").await;
    assert_eq!(own["job"]["room"]["name"], "attic");
    worker.frame(CLOSE, &1000u16.to_be_bytes()).await;
    assert!(worker.is_ended_within(Duration::from_secs(10)).await);
}
