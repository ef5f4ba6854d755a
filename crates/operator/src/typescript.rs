//! The page's types, from ours: those that it shows.

use std::path::Path;

use ts_rs::{Config, TS};

use crate::observation::{
    Direction, LeaveReason, Observation, PathProtocol, SwitchCause, Timeline, TimelineEntry, TimelineTrack,
    TrackSource, TransportState,
};
use crate::receivers::{
    Downlink, Layer, Limit, MediaKind, Receiver, Receivers, Settings, Subscription, SubscriptionState, Target, Usage,
};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/src/operator.ts");

const HEAD: &str = "\
// Generated from crates/operator; do not edit. To generate it again:
// OPERATOR_TYPES=write cargo test -p operator
";

macro_rules! declarations {
    ($($name:ty),* $(,)?) => {
        [$(declaration::<$name>()),*].concat()
    };
}

fn declaration<T: TS>() -> String {
    // Numbers of JSON are doubles in the page: exact up to 2^53.
    let config = Config::new().with_large_int("number");
    let docs = T::docs().unwrap_or_default();
    format!("\n{docs}export {}\n", T::decl(&config))
}

fn generate() -> String {
    let types = declarations![
        Receivers,
        Receiver,
        Downlink,
        Limit,
        Usage,
        Subscription,
        MediaKind,
        SubscriptionState,
        Settings,
        Target,
        Layer,
        Timeline,
        TimelineEntry,
        TimelineTrack,
        TrackSource,
        Observation,
        LeaveReason,
        SwitchCause,
        Direction,
        PathProtocol,
        TransportState,
    ];
    // The library leaves a space before each comment of a field, and has three lines for one.
    let types = types.replace(" \n", "\n");
    format!(
        "{HEAD}{}",
        types
            .replace("/**\n * ", "/** ")
            .replace("\n */", " */")
            .replace("\n * ", "\n    ")
    )
}

#[test]
fn the_pages_types_are_these() {
    let types = generate();
    if std::env::var("OPERATOR_TYPES").is_ok_and(|value| value == "write") {
        std::fs::write(FILE, &types).unwrap();
    }
    let committed = std::fs::read_to_string(Path::new(FILE)).unwrap_or_default();
    assert!(
        committed == types,
        "web/src/operator.ts is not what crates/operator generates: OPERATOR_TYPES=write cargo test -p operator"
    );
}
