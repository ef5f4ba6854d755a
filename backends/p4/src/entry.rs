//! The entries of the switch: table entries, groups and clone sessions, by name.
//!
//! The tables here are those of `program/`, with the names of their key fields, actions and
//! parameters. Ids and widths are in the program's p4info ([`schema`](crate::schema)).

use std::collections::BTreeSet;

/// Defines an enum whose values have a name in the program and a list of named fields.
macro_rules! named {
    ($(#[$outer:meta])* $kind:ident { $($(#[$doc:meta])* $name:ident = $text:literal [$($field:literal),*],)* }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) enum $kind { $($(#[$doc])* $name,)* }

        impl $kind {
            /// All of them.
            pub(crate) const ALL: &[$kind] = &[$($kind::$name,)*];

            /// Its name in the program.
            pub(crate) const fn name(self) -> &'static str {
                match self { $($kind::$name => $text,)* }
            }

            /// The names of its fields, in the order of their values here.
            pub(crate) const fn fields(self) -> &'static [&'static str] {
                match self { $($kind::$name => &[$($field,)*],)* }
            }
        }
    };
}

named! {
    /// A table, with the fields of its key.
    Table {
        /// The addresses and ports that the switch looks at.
        Service = "service" ["dst_addr", "dst_port"],
        /// Relays of calls.
        Relay = "relay" ["src_addr", "src_port", "dst_addr", "dst_port"],
        /// Streams of rooms, by where they come from.
        Sender = "sender" ["src_addr", "src_port", "dst_addr", "dst_port", "ssrc"],
        /// Payload types of a stream.
        Format = "format" ["stream", "payload_type"],
        /// The layer of each frame template of a stream.
        TemplateLayer = "template_layer" ["stream", "template_id"],
        /// The tree of an upper layer of a stream, where it has one of its own.
        LayerGroup = "layer_group" ["stream", "temporal"],
        /// Members of a group, where the replication engine is not the switch's.
        Participant = "participant" ["group", "position"],
        /// Routes: the second value is the length of the prefix.
        Nexthop = "nexthop" ["dst_addr"],
        /// Legs that receive, by their replica id and port.
        Receiver = "receiver" ["rid", "port"],
        /// Streams that a leg gets, by its replica id and port.
        Replica = "replica" ["rid", "stream", "port"],
        /// Legs whose estimates go on to another.
        Feedback = "feedback" ["src_addr", "src_port", "dst_addr", "dst_port"],
        /// Payload types of a replica.
        PayloadType = "payload_type" ["index", "payload_type"],
    }
}

named! {
    /// An action, with its parameters.
    Action {
        /// Look at packets of this address.
        Serve = "serve" ["src_mac", "dst_mac"],
        /// Forward to the other party.
        Forward = "forward" ["index", "src_addr", "src_port", "dst_addr", "dst_port", "set_tos", "tos"],
        /// Copy the packets of a stream.
        Media = "media" ["stream", "group", "branches", "exclude", "described", "dd_id"],
        /// A payload type of the stream.
        Known = "known" [],
        /// The layer of a template.
        Layer = "layer" ["spatial", "temporal", "top", "up", "enters", "above", "key_frame", "back", "chain"],
        /// Replicate by this tree.
        UseGroup = "use_group" ["group", "branches", "exclude"],
        /// A member of a group.
        Member = "member" ["rid", "port"],
        /// The next hop.
        Route = "route" ["port", "src_mac", "dst_mac"],
        /// The addresses of a leg.
        To = "to" ["src_mac", "dst_mac", "src_addr", "src_port", "dst_addr", "dst_port"],
        /// The state of a replica at its start, and its header.
        Send = "send" [
            "index", "epoch", "ssrc", "start", "newest", "next", "timestamp_offset", "frame_offset", "method",
            "spatial", "temporal", "mid_id", "mid_len", "mid", "time_id", "ids"
        ],
        /// Sent on unchanged, from and to these addresses.
        Proxy = "proxy" ["src_addr", "src_port", "dst_addr", "dst_port"],
        /// The replica's payload type.
        Map = "map" ["payload_type"],
    }
}

impl Table {
    /// The actions that entries of this table have here.
    pub(crate) const fn action(self) -> Action {
        match self {
            Table::Service => Action::Serve,
            Table::Relay => Action::Forward,
            Table::Sender => Action::Media,
            Table::Format => Action::Known,
            Table::TemplateLayer => Action::Layer,
            Table::LayerGroup => Action::UseGroup,
            Table::Participant => Action::Member,
            Table::Nexthop => Action::Route,
            Table::Receiver => Action::To,
            Table::Replica => Action::Send,
            Table::Feedback => Action::Proxy,
            Table::PayloadType => Action::Map,
        }
    }
}

/// Names an entry of the switch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Key {
    /// Of a table, by the values of its key. A longest-prefix key has the prefix length behind its
    /// value.
    Entry(Table, Vec<u128>),
    /// A multicast group.
    Group(u16),
    /// A clone session.
    Session(u16),
}

/// The value of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// The parameters of the table's action.
    Data(Vec<u128>),
    /// The copies of a group or clone session: port and instance of each.
    Copies(BTreeSet<(u16, u16)>),
    /// Another value than any that is written here: an entry of somebody else.
    Foreign,
}

impl Key {
    /// The place in the order of writes: entries are written after those of lower ranks, on which
    /// they depend, and deleted before them.
    pub(crate) const fn rank(&self) -> u8 {
        match self {
            Key::Session(_) => 0,
            Key::Entry(Table::Nexthop | Table::Service, _) => 1,
            Key::Entry(Table::Receiver | Table::PayloadType | Table::Format, _) => 2,
            Key::Group(_) | Key::Entry(Table::Participant, _) => 3,
            Key::Entry(Table::TemplateLayer | Table::LayerGroup, _) => 4,
            Key::Entry(Table::Sender | Table::Feedback, _) => 5,
            Key::Entry(Table::Relay | Table::Replica, _) => 6,
        }
    }

    /// The table, unless it is a group or session.
    pub(crate) const fn table(&self) -> Option<Table> {
        match self {
            Key::Entry(table, _) => Some(*table),
            Key::Group(_) | Key::Session(_) => None,
        }
    }

    /// The value of a field of the key, by its place.
    pub(crate) fn field(&self, place: usize) -> u128 {
        match self {
            Key::Entry(_, fields) => fields.get(place).copied().unwrap_or_default(),
            Key::Group(id) | Key::Session(id) => u128::from(*id),
        }
    }
}

/// The group that an entry sends packets to.
pub(crate) fn group_of(key: &Key, value: &Value) -> Option<u16> {
    match (key, value) {
        (Key::Entry(Table::Sender, _), Value::Data(data)) => data.get(1).map(|group| *group as u16),
        (Key::Entry(Table::LayerGroup, _), Value::Data(data)) => data.first().map(|group| *group as u16),
        _ => None,
    }
    .filter(|group| *group != 0)
}

/// A change of one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// It is new.
    Insert,
    /// It is there with another value.
    Modify,
    /// It goes.
    Delete,
}

/// One write to the switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Write {
    /// The change,
    pub op: Op,
    /// of this entry,
    pub key: Key,
    /// to this value; the last known one if it is deleted.
    pub value: Value,
}

/// The reason why the switch did not do a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The table, or the replication engine, has no room.
    Full,
    /// An entry to insert is there.
    Exists,
    /// An entry to change or delete is not there.
    Absent,
    /// Anything else: the switch does not accept the entry.
    Other,
}
