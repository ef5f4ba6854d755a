//! The state that there has to be after the faults.

use super::*;

impl World {
    /// Somebody wants each room at each controller.
    pub(super) fn open_everywhere(&mut self) -> Result<(), String> {
        for process in 0..CONTROLLERS {
            for room in self.rooms.clone() {
                self.input(
                    process,
                    Input::Open {
                        room,
                        creates: true,
                        denied_by: None,
                    },
                );
            }
            self.advance(self.now + Duration::from_secs(4))?;
            self.ask_again(process)?;
        }
        Ok(())
    }

    /// The requests for rooms that are elsewhere reach a controller that is gone or that denies to
    /// serve the room. The room is looked for again.
    fn ask_again(&mut self, process: usize) -> Result<(), String> {
        for room in self.rooms.clone() {
            let answer = self.processes[process]
                .as_ref()
                .and_then(|found| found.answers.get(&room));
            let Some(Answer::Elsewhere(owner)) = answer.copied() else {
                continue;
            };
            let address = format!("{}:7890", owner.number());
            let other = self.processes.iter().flatten().find(|other| other.id == owner);
            let denied_by = match other {
                None => {
                    self.input(process, Input::Suspect { address });
                    None
                }
                Some(other) if !other.cluster.owns(&room) => Some(address),
                Some(_) => continue,
            };
            let open = Input::Open {
                room,
                creates: true,
                denied_by,
            };
            self.input(process, open);
        }
        self.advance(self.now + Duration::from_secs(4))
    }

    pub(super) fn check(&self) -> Result<(), String> {
        for room in &self.rooms {
            let processes = || self.processes.iter().flatten();
            let owners: Vec<_> = processes().filter(|process| process.cluster.owns(room)).collect();
            let [owner] = owners[..] else {
                let owners: Vec<_> = owners.iter().map(|owner| owner.id).collect();
                return Err(format!("{room} has the owners {owners:?}"));
            };
            for process in processes().filter(|process| process.id != owner.id) {
                let answer = process.answers.get(room);
                if answer != Some(&Answer::Elsewhere(owner.id)) {
                    return Err(format!(
                        "{:?} says {answer:?} of {room}, which {:?} owns",
                        process.id, owner.id
                    ));
                }
            }
            let record = self
                .store
                .room(&room_key(room))
                .map(|value| String::from_utf8_lossy(value).into_owned());
            let expected = format!("{{\"owner\":{},", owner.id.number());
            if !record.as_ref().is_some_and(|record| record.starts_with(&expected)) {
                return Err(format!(
                    "the store has {record:?} for {room}, which {:?} owns",
                    owner.id
                ));
            }
            for (at, node) in self.nodes.iter().enumerate() {
                let known = owner.rooms.get(room).and_then(|parts| parts.get(&part_of(id(at))));
                let kept = node.parts(room);
                if kept.iter().collect::<Vec<_>>() != known.into_iter().collect::<Vec<_>>() {
                    return Err(format!(
                        "node {at} keeps {kept:?} of {room}, and its owner has {known:?}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// An owner ends, and another controller goes on with all that the nodes have of its rooms.
    pub(super) fn succeed(&mut self) -> Result<(), String> {
        let before = self.parts();
        let process = self.rng.random_range(0..CONTROLLERS);
        self.kill(process);
        self.advance(self.now + Duration::from_secs(8))?;
        self.open_everywhere()?;
        match self.parts() == before {
            // The successor knows all that they have.
            true => self.check(),
            false => Err(format!("after {before:?} the nodes have {:?}", self.parts())),
        }
    }

    fn parts(&self) -> Vec<Vec<Arc<[u8]>>> {
        let nodes = self.nodes.iter();
        nodes
            .flat_map(|node| self.rooms.iter().map(|room| node.parts(room)))
            .collect()
    }
}
