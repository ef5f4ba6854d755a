//! The tables of a cluster, for people at a terminal.

use super::{
    Change, ChangeKind, Cluster, Connection, Controller, Holder, LossReason, MediaNode, Member, Room, Trunk, TrunkEnd,
};

/// Spaces between two columns.
const GAP: usize = 3;

impl Cluster {
    /// Tables of the members, the rooms, and the changes of owners.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.summary());
        section(&mut text, "CONTROLLERS", self.controllers_table());
        section(&mut text, "MEDIA NODES", self.nodes_table());
        section(&mut text, "ROOMS", self.rooms_table());
        if self.truncated {
            text.push_str("  and more, which are not listed\n");
        }
        if !self.trunks.is_empty() {
            section(&mut text, "TRUNKS", self.trunks_table());
        }
        section(&mut text, "CHANGES OF OWNERS", self.changes_table());
        text
    }

    fn summary(&self) -> String {
        let name = words(&self.controller.name);
        let mut all = vec![counted(self.rooms_owned, "owns", "room", "rooms")];
        if self.rooms_claiming > 0 {
            all.push(counted(self.rooms_claiming, "claims", "room", "rooms"));
        }
        all.push(match (self.has_lease, self.knows_members) {
            (true, true) => "takes new rooms".to_owned(),
            (false, _) => "takes no new rooms, since the store does not confirm its lease".to_owned(),
            (true, false) => "takes no new rooms, since the store has not told of all members".to_owned(),
        });
        if self.controller.draining
            && let Some(last) = all.last_mut()
        {
            "takes no new rooms, since it drains".clone_into(last);
        }
        format!("{name} {}", all.join(", "))
    }

    fn controllers_table(&self) -> Vec<Vec<String>> {
        let mut rows = vec![header(&["name", "id", "address", "state"])];
        let this = [(&self.controller, "answers")];
        let others = self.controllers.iter().map(|other| (other, "runs"));
        rows.extend(this.into_iter().chain(others).map(|(controller, state)| {
            let Controller {
                id,
                name,
                address,
                draining,
            } = controller;
            let state = if *draining {
                format!("{state}, draining")
            } else {
                state.to_owned()
            };
            vec![words(name), id.clone(), words(address), state]
        }));
        rows
    }

    fn nodes_table(&self) -> Vec<Vec<String>> {
        if self.nodes.is_empty() {
            return vec![vec!["none: the store has no record of one".to_owned()]];
        }
        let mut rows = vec![header(&["name", "id", "address", "region", "transports", "state"])];
        rows.extend(self.nodes.iter().map(node_row));
        rows
    }

    fn rooms_table(&self) -> Vec<Vec<String>> {
        if self.rooms.is_empty() {
            return vec![vec!["none".to_owned()]];
        }
        let mut rows = vec![header(&["room", "owner", "epoch", "media nodes"])];
        rows.extend(self.rooms.iter().map(|room| {
            let Room {
                room,
                owner,
                epoch,
                nodes,
            } = room;
            let owner = owner.as_ref().map_or_else(|| words(""), named);
            let nodes: Vec<_> = nodes.iter().map(named).collect();
            vec![words(room), owner, epoch.to_string(), words(&nodes.join(", "))]
        }));
        rows
    }

    fn trunks_table(&self) -> Vec<Vec<String>> {
        let mut rows = vec![header(&[
            "room",
            "from",
            "to",
            "tracks",
            "encodings",
            "lost",
            "round trip",
            "state",
        ])];
        for Trunk {
            room,
            ends: [one, other],
        } in &self.trunks
        {
            rows.push(trunk_row(room, one, other));
            rows.push(trunk_row(room, other, one));
        }
        rows
    }

    fn changes_table(&self) -> Vec<Vec<String>> {
        if self.changes.is_empty() {
            return vec![vec!["none since this controller started".to_owned()]];
        }
        let mut rows = vec![header(&["when", "room", "epoch", "what"])];
        rows.extend(self.changes.iter().map(|change| {
            let when = format!("{} ago", span(change.ago_s));
            vec![when, words(&change.room), change.epoch.to_string(), said(change)]
        }));
        rows
    }
}

fn trunk_row(room: &str, from: &TrunkEnd, to: &TrunkEnd) -> Vec<String> {
    let lost = f64::from(from.lost_per_mille) / 10.0;
    let round_trip = from
        .round_trip_ms
        .map_or_else(|| "?".to_owned(), |time| format!("{time} ms"));
    let state = if to.connected { "connected" } else { "nothing arrives" };
    vec![
        words(room),
        named(&from.node),
        named(&to.node),
        from.tracks.to_string(),
        from.encodings.to_string(),
        format!("{lost:.1} %"),
        round_trip,
        state.to_owned(),
    ]
}

fn node_row(node: &MediaNode) -> Vec<String> {
    let capacity = node
        .capacity
        .map_or_else(|| "?".to_owned(), |capacity| capacity.to_string());
    let state = match node.connection {
        Connection::Connected => "connected for",
        Connection::Connecting => "not reached for",
        Connection::Away => "away for",
    };
    let mut state = format!("{state} {}", span(node.for_s));
    if node.draining {
        state.push_str(", draining");
    }
    if node.name.is_empty() {
        state.push_str(", not in the store");
    }
    vec![
        words(&node.name),
        node.id.clone(),
        words(&node.address),
        words(&node.region),
        format!("{} of {capacity}", node.load),
        state,
    ]
}

fn said(change: &Change) -> String {
    let other = holder(&change.other);
    match &change.what {
        ChangeKind::Adopted => format!("taken over from {other}"),
        ChangeKind::BeganAnew => format!("begun anew after {other}: there was no usable snapshot"),
        ChangeKind::Lost {
            reason: LossReason::Fenced,
        } => format!("lost to {other}: a media node obeys it"),
        ChangeKind::Lost {
            reason: LossReason::Record,
        } => format!("lost to {other}: the store names it"),
        ChangeKind::Refused { node } => format!("claim refused by {}, which obeys {other}", named(node)),
    }
}

fn holder(holder: &Holder) -> String {
    let name = match &holder.controller {
        Some(controller) => named(controller),
        None => "another controller".to_owned(),
    };
    format!("{name} in epoch {}", holder.epoch)
}

/// The name of a member, or the id of one whose name is not known any more.
fn named(member: &Member) -> String {
    match member.name.is_empty() {
        true => member.id.clone(),
        false => words(&member.name),
    }
}

/// Words of another machine or of a client, which cannot move the cursor or break a line.
fn words(text: &str) -> String {
    if text.is_empty() {
        return "-".to_owned();
    }
    let plain = |character: char| match is_plain(character) {
        true => character,
        false => char::REPLACEMENT_CHARACTER,
    };
    text.chars().map(plain).collect()
}

/// Control characters, and those that change the direction of writing or have no width, are not
/// plain.
fn is_plain(character: char) -> bool {
    let hidden = matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}');
    !character.is_control() && !hidden && character != '\u{feff}'
}

fn counted(count: usize, verb: &str, one: &str, many: &str) -> String {
    match count {
        0 => format!("{verb} no {many}"),
        1 => format!("{verb} 1 {one}"),
        _ => format!("{verb} {count} {many}"),
    }
}

/// A time in its two largest units. Shape: seconds.
fn span(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{minutes} min {} s", seconds % 60),
        3_600..86_400 => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

fn header(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// A title, and below it aligned columns.
fn section(text: &mut String, title: &str, rows: Vec<Vec<String>>) {
    text.push_str(&format!("\n{title}\n"));
    let length = |cell: &String| cell.chars().count();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let longest = |column| rows.iter().filter_map(|row| row.get(column)).map(length).max();
    let widths: Vec<_> = (0..columns).map(|column| longest(column).unwrap_or(0)).collect();
    for row in &rows {
        let mut line = "  ".to_owned();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.push_str(&" ".repeat(width - length(cell) + GAP));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(id: &str, name: &str) -> Member {
        Member {
            id: id.to_owned(),
            name: name.to_owned(),
        }
    }

    fn controller(id: &str, name: &str) -> Controller {
        Controller {
            id: id.to_owned(),
            name: name.to_owned(),
            address: format!("{name}.example:7891"),
            draining: false,
        }
    }

    fn end(node: &str, round_trip_ms: Option<u64>) -> TrunkEnd {
        TrunkEnd {
            node: member(node, node),
            address: "192.0.2.1:7882".to_owned(),
            connected: round_trip_ms.is_some(),
            tracks: 2,
            encodings: 4,
            lost_per_mille: 15,
            round_trip_ms,
        }
    }

    fn cluster() -> Cluster {
        let other = Holder {
            controller: Some(member("00beef", "")),
            epoch: 3,
        };
        Cluster {
            controller: controller("00cafe", "west-1"),
            has_lease: true,
            knows_members: true,
            controllers: vec![controller("00d00d", "east-1")],
            nodes: vec![MediaNode {
                id: "0000000000000007".to_owned(),
                name: "media-1".to_owned(),
                address: "media-1.example:7890".to_owned(),
                region: String::new(),
                load: 12,
                capacity: Some(20_000),
                draining: true,
                connection: Connection::Away,
                for_s: 75,
            }],
            rooms_owned: 1,
            rooms_claiming: 0,
            rooms: vec![Room {
                room: "lobby\u{1b}[2J".to_owned(),
                owner: Some(member("00cafe", "west-1")),
                epoch: 4,
                nodes: vec![member("0000000000000007", "media-1")],
            }],
            truncated: false,
            trunks: vec![Trunk {
                room: "lobby".to_owned(),
                ends: [end("media-1", Some(31)), end("media-2", None)],
            }],
            changes: vec![Change {
                ago_s: 3_700,
                room: "lobby".to_owned(),
                epoch: 4,
                other,
                what: ChangeKind::Adopted,
            }],
        }
    }

    #[test]
    fn a_cluster_is_tables() {
        let expected = "\
west-1 owns 1 room, takes new rooms

CONTROLLERS
  name     id       address               state
  west-1   00cafe   west-1.example:7891   answers
  east-1   00d00d   east-1.example:7891   runs

MEDIA NODES
  name      id                 address                region   transports    state
  media-1   0000000000000007   media-1.example:7890   -        12 of 20000   away for 1 min 15 s, draining

ROOMS
  room        owner    epoch   media nodes
  lobby\u{fffd}[2J   west-1   4       media-1

TRUNKS
  room    from      to        tracks   encodings   lost    round trip   state
  lobby   media-1   media-2   2        4           1.5 %   31 ms        nothing arrives
  lobby   media-2   media-1   2        4           1.5 %   ?            connected

CHANGES OF OWNERS
  when            room    epoch   what
  1 h 1 min ago   lobby   4       taken over from 00beef in epoch 3
";
        assert_eq!(cluster().text(), expected);
    }

    #[test]
    fn a_cluster_is_read_back() {
        let json = serde_json::to_string(&cluster()).unwrap();
        assert_eq!(serde_json::from_str::<Cluster>(&json).unwrap(), cluster(), "{json}");
    }

    #[test]
    fn the_first_line_says_why_no_room_is_taken() {
        let first = |cluster: &Cluster| cluster.text().lines().next().unwrap_or_default().to_owned();
        let mut cluster = cluster();
        (cluster.has_lease, cluster.rooms_claiming) = (false, 2);
        let expected =
            "west-1 owns 1 room, claims 2 rooms, takes no new rooms, since the store does not confirm its lease";
        assert_eq!(first(&cluster), expected);
        (cluster.controller.draining, cluster.rooms_claiming, cluster.rooms_owned) = (true, 0, 0);
        assert_eq!(
            first(&cluster),
            "west-1 owns no rooms, takes no new rooms, since it drains"
        );
    }
}
