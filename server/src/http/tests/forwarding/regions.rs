//! The regions of clients, as the controllers of their rooms learn them.

use axum::extract::Extension;
use axum::routing::any;

use super::super::*;
use super::world::{self, Controller, Machines};
use crate::cli::Role;
use crate::cluster::location::Location;
use crate::config::Network;
use crate::http::elsewhere;
use crate::http::forwarded::{self, Forwarded};
use crate::http::listen::Front;
use crate::metrics::forwarded::ForwardCounts;
use crate::os::tcp;

/// Says the region that another controller has named.
async fn say_region(forwarded: Option<Extension<Forwarded>>) -> String {
    let Some(Extension(forwarded)) = forwarded else {
        return "not forwarded".to_owned();
    };
    forwarded.region.as_deref().unwrap_or("none").to_owned()
}

/// A controller that passes requests for the lobby on to one that answers with their regions.
async fn passing_on() -> (Controller, tokio::task::JoinHandle<()>) {
    let machines = Machines::new();
    let controller = Controller::start(machines.tls("one", Role::Controller)).await;
    let listener = tcp::bind(([127, 0, 0, 1], 0).into()).unwrap();
    let address = listener.local_addr().unwrap();
    let front = Front {
        router: Router::new().fallback(any(say_region)),
        slots: ConnectionSlots::new(LIMITS),
        settings: controller.server.settings.clone(),
        metrics: Metrics::default(),
        request_timeout: TIMEOUT,
        turn: None,
    };
    let tls = machines.tls("two", Role::Controller);
    let serving = tokio::spawn(forwarded::serve(listener, tls, ForwardCounts::default(), front));
    controller.directory.set("lobby", vec![world::elsewhere(address)]);
    (controller, serving)
}

/// The region that a request of a client at an address is passed on with.
async fn region_of(controller: &Controller, address: &str) -> String {
    let path = format!("/rtc/validate?access_token={}", access_token(&[]));
    let forged = HeaderName::from_static("weir-region");
    let answer = controller.server.get(address, &path, map(&[(forged, "forged")])).await;
    text(answer).await
}

#[tokio::test]
async fn a_request_is_passed_on_with_the_region_of_its_client() {
    let (controller, serving) = passing_on().await;
    assert_eq!(region_of(&controller, STRANGER).await, "none", "a client cannot say it");
    let network: Network = "203.0.113.0/24".parse().unwrap();
    controller.server.settings.replace(Settings {
        regions: Regions::new(Some("north".to_owned()), vec![(network, "lab".to_owned())]),
        ..settings("{}")
    });
    assert_eq!(
        region_of(&controller, STRANGER).await,
        "north",
        "that of its controller"
    );
    assert_eq!(
        region_of(&controller, "203.0.113.9").await,
        "lab",
        "that of its network"
    );
    controller.directory.set("lobby", vec![Location::Here]);
    serving.abort();
}

#[tokio::test]
async fn only_controllers_name_the_region_of_a_client() {
    let regions = Regions::new(
        Some("north".to_owned()),
        vec![("203.0.113.0/24".parse().unwrap(), "lab".to_owned())],
    );
    let region = |address: &str, reached: Option<Option<&str>>| {
        let forwarded = reached.map(|region| Forwarded {
            region: region.map(Arc::from),
        });
        elsewhere::region_of(&regions, Some(address.parse().unwrap()), forwarded.as_ref())
    };
    assert_eq!(region(STRANGER, None), Some("north".to_owned()));
    assert_eq!(region(STRANGER, Some(Some("south"))), Some("south".to_owned()));
    assert_eq!(region(STRANGER, Some(None)), None, "the other controller has none");
    for reached in [None, Some(None), Some(Some("south"))] {
        assert_eq!(region("203.0.113.9", reached), Some("lab".to_owned()));
    }
}
