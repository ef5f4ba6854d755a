//! People, and faults of processes, networks and the store.

use super::*;

impl World {
    /// Something happens: mostly what people do, and sometimes a fault.
    pub(super) fn act(&mut self, what: usize) {
        let process = self.rng.random_range(0..CONTROLLERS);
        let node = self.rng.random_range(0..NODES);
        let room = self.rooms[self.rng.random_range(0..ROOMS)].clone();
        match what {
            0..40 => self.input(
                process,
                Input::Open {
                    room,
                    creates: what < 30,
                    denied_by: None,
                },
            ),
            40..70 => self.change(&room, node),
            70..72
                if self.processes[process]
                    .as_ref()
                    .is_some_and(|found| found.cluster.owns(&room)) =>
            {
                if let Some(found) = &mut self.processes[process] {
                    found.rooms.remove(&room);
                }
                self.input(
                    process,
                    if what == 70 {
                        Input::End { room }
                    } else {
                        Input::Release { room }
                    },
                );
            }
            72..76 => self.kill(process),
            76..82 if self.processes[process].is_none() => self.start(process),
            82..84 => {
                let pause = Duration::from_millis(self.rng.random_range(100..12_000));
                let until = self.now + pause;
                if let Some(found) = &mut self.processes[process] {
                    // Messages that arrive meanwhile stay in their order.
                    found.paused = found.paused.max(Some(until));
                }
            }
            84..86 => self.store_cut[process] ^= true,
            86..88 => self.store.is_reachable ^= true,
            88..90 => self.store.remember(),
            90..92 => self.store.forget(),
            92 => {
                let holder = process + CONTROLLERS * self.starts[process] as usize;
                self.store.end_lease(holder);
            }
            93..97 => self.cut(process, node),
            _ => self.link(process, node).is_cut = false,
        }
    }

    /// A connection breaks without a word. Both ends notice.
    fn cut(&mut self, process: usize, node: usize) {
        let link = self.link(process, node);
        link.is_cut = true;
        let number = link.number;
        if number != 0 {
            self.push(
                self.now + KEEP_ALIVE,
                Event::FromNode(process, node, number, NodeEvent::Lost),
            );
        }
    }

    pub(super) fn kill(&mut self, process: usize) {
        let Some(killed) = self.processes[process].take() else {
            return;
        };
        for node in 0..NODES {
            self.nodes[node].disconnect(killed.id);
            *self.link(process, node) = Link::default();
        }
        // Others find that its port is closed.
        for other in 0..CONTROLLERS {
            if self.rng.random() {
                self.input(
                    other,
                    Input::Suspect {
                        address: format!("{}:7890", killed.id.number()),
                    },
                );
            }
        }
    }

    pub(super) fn start(&mut self, process: usize) {
        self.starts[process] += 1;
        let clock = Clock {
            start: self.now,
            origin: self.now + Duration::from_secs(self.rng.random_range(0..10_000)),
            rate: self.rng.random_range(0.9..1.1),
        };
        let number = process as u64 + CONTROLLERS as u64 * self.starts[process];
        let started = Process::new(ControllerId::new(number as u32), clock, self.now);
        self.processes[process] = Some(started);
        self.untold[process] = true;
    }

    pub(super) fn make_peace(&mut self) {
        self.is_peace = true;
        self.store.is_reachable = true;
        self.store_cut = vec![false; CONTROLLERS];
        for link in self.links.values_mut() {
            link.is_cut = false;
        }
        for process in 0..CONTROLLERS {
            if self.processes[process].is_none() {
                self.start(process);
            }
        }
    }
}
