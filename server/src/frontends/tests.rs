//! Front ends on the controller's task, beside a node that is played here.

use std::time::Duration;

use access::ApiKeys;
use controller::{Controller, RoomChange, RoomEvent};
use southbound::Notice;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::*;
use crate::controller_task;
use crate::media::command_queue::command_queue;
use crate::media::node_link::NodeLink;
use crate::media::waker::Waker;
use crate::os::clock::Clocks;

fn settings() -> Settings {
    Settings {
        pings: ::livekit::Pings::default(),
        sessions: slots::Limits::shared(8, Duration::ZERO),
        keys: ApiKeys::default().with("devkey", "secret"),
        wall: Clocks::read().wall,
        seed: 7,
        room_events: mpsc::channel(1).0,
    }
}

/// A front end of the least: it writes down which rooms start.
struct Observer {
    started: Vec<String>,
}

/// Asks which rooms have started.
struct Started(oneshot::Sender<Vec<String>>);

impl FrontEnd for Observer {
    fn room_event(&mut self, event: &RoomEvent, _: &mut Context<'_>) {
        if let RoomChange::Started(_) = event.change {
            self.started.push(event.room.name.clone());
        }
    }
}

impl RequestHandler for Observer {
    type Request = Started;

    fn request(&mut self, Started(answer): Started, _: &mut Context<'_>) {
        let _ = answer.send(self.started.clone());
    }
}

#[tokio::test]
async fn a_front_end_is_added_beside_all_others() {
    let metrics = Metrics::default();
    let (mut front_ends, handles) = all(settings(), metrics.clone());
    let observer = front_ends.add(Observer { started: Vec::new() });
    let (commands, _taken) = command_queue(8, Waker::default());
    let (_notices, noticed) = mpsc::channel::<Notice>(8);
    let of_controller = controller::Config::new(ApiKeys::default().with("devkey", "secret"));
    let controller = Controller::new(of_controller, Clocks::read().wall, [7; 32]);
    let node = NodeLink::new(southbound::NodeId(1), commands, noticed);
    let nodes = controller_task::Nodes::Own(node);
    let recorder = timeline::Recorder::new(timeline::Config::default());
    let (_handle, _task) = controller_task::start(controller, front_ends, nodes, recorder, metrics);
    let request = controller::AdminRequest::CreateRoom(controller::CreateRoom {
        api_key: "devkey".to_owned(),
        name: "lobby".to_owned(),
        ..controller::CreateRoom::default()
    });
    let created = timeout(Duration::from_secs(10), handles.administration.administer(request)).await;
    assert!(matches!(created, Ok(Some(Ok(_)))), "{created:?}");
    let (answer, answered) = oneshot::channel();
    observer.send(Started(answer)).await.unwrap();
    assert_eq!(answered.await.unwrap(), ["lobby"]);
}
