//! The page's types, from ours: those that it shows.

use std::path::Path;

use ts_rs::{Config, TS};

use crate::audit::{AuditAction, AuditEntry, AuditLog, Bearer};
use crate::observation::{
    Direction, LeaveReason, Observation, PathProtocol, SwitchCause, Timeline, TimelineEntry, TimelineTrack,
    TrackSource, TransportState,
};
use crate::places::{EntryCount, PartState, PlacesOverview};
use crate::receivers::{
    Downlink, Layer, Limit, MediaKind, Receiver, Receivers, Settings, Subscription, SubscriptionState, Target, Usage,
};
use crate::rooms::{ParticipantPage, ParticipantSummary, PublishedTrack, RoomOrder, RoomPage, RoomSummary};

/// The types that the meeting shows as well.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/src/operator.ts");

/// The types of the operator's page only.
const ADMIN_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/src/admin/views.ts");

/// The types of the first file that those of the second one have.
const ADMIN_IMPORTS: &str = "\nimport type { MediaKind, TrackSource } from \"../operator\";\n";

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
    file_of(&declarations![
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
    ])
}

fn generate_admin() -> String {
    let types = declarations![
        RoomPage,
        RoomSummary,
        RoomOrder,
        ParticipantPage,
        ParticipantSummary,
        PublishedTrack,
        Bearer,
        AuditLog,
        AuditEntry,
        AuditAction,
        PlacesOverview,
        PartState,
        EntryCount,
    ];
    file_of(&format!("{ADMIN_IMPORTS}{types}"))
}

fn file_of(types: &str) -> String {
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
    for (file, types) in [(FILE, generate()), (ADMIN_FILE, generate_admin())] {
        if std::env::var("OPERATOR_TYPES").is_ok_and(|value| value == "write") {
            std::fs::write(file, &types).unwrap();
        }
        let committed = std::fs::read_to_string(Path::new(file)).unwrap_or_default();
        assert!(
            committed == types,
            "{file} is not what crates/operator generates: OPERATOR_TYPES=write cargo test -p operator"
        );
    }
}
