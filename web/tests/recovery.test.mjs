// Two people, and everything that can happen to the connection of one of them.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { createWorld, freshRoom } from "./support/world.mjs";

const SMALL = { resolution: { width: 320, height: 180, frameRate: 15 } };

const MODES = [
  { name: "one peer connection", room: {} },
  { name: "two peer connections", room: { singlePeerConnection: false } },
];

/** The client's own scenarios, and the event that says it is over. */
const SCENARIOS = [
  { name: "signal-reconnect", over: "reconnected" },
  { name: "resume-reconnect", over: "reconnected" },
  { name: "full-reconnect", over: "reconnected" },
  { name: "node-failure", over: "reconnected" },
  { name: "migration", over: "reconnected" },
  { name: "leave-full-reconnect", over: "reconnected" },
  { name: "disconnect-signal-on-resume", over: "reconnected" },
  { name: "disconnect-signal-on-resume-no-messages", over: "reconnected" },
];

let world;
before(async () => {
  world = await createWorld();
});
after(() => world?.end());
afterEach(() => world.clear());

for (const mode of MODES) {
  describe(`recovery over ${mode.name}`, () => {
    for (const scenario of SCENARIOS) {
      it(`recovers from ${scenario.name}`, { timeout: 60_000 }, async () => {
        const [ada, bob] = await pair(mode);
        const began = Date.now();
        await ada.run((client, name) => client.room.simulateScenario(name), scenario.name);
        await ada.until(`say "${scenario.over}"`, has, scenario.over, 40_000);
        await meet(ada, bob);
        console.log(
          `${mode.name}: ${scenario.name}: media both ways after ${((Date.now() - began) / 1000).toFixed(1)} s`,
        );
        await exchange(ada, bob);
      });
    }

    it("ends the stay on server-leave", { timeout: 40_000 }, async () => {
      const [ada, bob] = await pair(mode);
      await ada.run((client) => client.room.simulateScenario("server-leave"));
      await ada.until("be disconnected", has, "disconnected");
      await bob.until("see ada gone", (client) => client.person("ada") === undefined, undefined, 30_000);
    });
  });
}

/** Two people who see each other. */
async function pair(mode) {
  const room = freshRoom("recovery");
  const people = await Promise.all(["ada", "bob"].map((identity) => world.person(identity)));
  const options = { ...mode.room, videoCaptureDefaults: SMALL, publishDefaults: { simulcast: false } };
  for (const person of people) {
    await person.join(room, { options });
    await person.publish();
  }
  await meet(...people);
  return people;
}

async function meet(ada, bob) {
  await Promise.all([ada.sees([bob]), bob.sees([ada])]);
  await Promise.all([ada.watches(bob), bob.watches(ada)]);
}

/** Data flows both ways, each packet once. */
async function exchange(ada, bob) {
  for (const [from, to] of [
    [ada, bob],
    [bob, ada],
  ]) {
    await from.run(
      (client, text) => client.room.localParticipant.publishData(new TextEncoder().encode(text), { reliable: true }),
      from.identity,
    );
    await to.until(
      `hear from ${from.identity}`,
      (client, text) => client.data.some((packet) => packet.text === text),
      from.identity,
    );
    const copies = await to.run(
      (client, text) => client.data.filter((packet) => packet.text === text).length,
      from.identity,
    );
    assert.equal(copies, 1, `copies of ${from.identity}'s packet`);
  }
}

const has = (client, event) => client.events.some(([name]) => name === event);
