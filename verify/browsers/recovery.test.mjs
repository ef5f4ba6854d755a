// Two people, and everything that can happen to the connection of one of them.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { waitFor } from "./support/wait.mjs";
import { createWorld, freshRoom } from "./support/world.mjs";

const SMALL = { resolution: { width: 320, height: 180, frameRate: 15 } };

const MODES = [
  { name: "one peer connection", room: {} },
  { name: "two peer connections", room: { singlePeerConnection: false } },
];

/** The client's own scenarios; each must end with the event "reconnected". */
const SCENARIOS = [
  "signal-reconnect",
  "resume-reconnect",
  "full-reconnect",
  "node-failure",
  "migration",
  "leave-full-reconnect",
  "disconnect-signal-on-resume",
  "disconnect-signal-on-resume-no-messages",
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
      it(`recovers from ${scenario}`, { timeout: 60_000 }, async () => {
        const [ada, bob] = await pair(mode);
        const began = Date.now();
        await ada.run((client, name) => client.room.simulateScenario(name), scenario);
        await ada.until("have reconnected", has, "reconnected", 20_000);
        await meet(ada, bob);
        const seconds = ((Date.now() - began) / 1000).toFixed(1);
        console.log(`${mode.name}: ${scenario}: media both ways after ${seconds} s`);
        await exchange(ada, bob);
      });
    }

    it("loses and repeats no reliable data over a resume", { timeout: 40_000 }, async () => {
      const [ada, bob] = await pair(mode);
      await ada.run(async (client) => {
        const say = (text) =>
          client.room.localParticipant.publishData(new TextEncoder().encode(text), { reliable: true });
        for (let index = 0; index < 20; index++) await say(`${index}`);
        await client.room.simulateScenario("signal-reconnect");
        for (let index = 20; index < 40; index++) await say(`${index}`);
      });
      await ada.until("have reconnected", has, "reconnected");
      await bob.until("hear the last of it", (client) => client.data.some(({ text }) => text === "39"));
      assert.deepEqual(
        await bob.run((client) => client.data.map(({ text }) => text)),
        Array.from({ length: 40 }, (_, index) => `${index}`),
      );
    });

    it("ends the stay on server-leave", { timeout: 40_000 }, async () => {
      const [ada, bob] = await pair(mode);
      await ada.run((client) => client.room.simulateScenario("server-leave"));
      await ada.until("be disconnected", has, "disconnected");
      await bob.until("see ada gone", (client) => client.person("ada") === undefined, undefined, 30_000);
    });
  });
}

/** Two people who receive each other. */
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

/**
 * Data is delivered both ways, and none of it twice.
 *
 * The message is repeated until it arrives: after a full reconnect this client reports itself
 * connected a little before it stops queuing data, and queued data is lost with the earlier
 * connection.
 */
async function exchange(ada, bob) {
  for (const [from, to] of [
    [ada, bob],
    [bob, ada],
  ]) {
    let count = 0;
    await waitFor(`${to.identity} to hear from ${from.identity}`, async () => {
      await from.run(
        (client, text) => client.room.localParticipant.publishData(new TextEncoder().encode(text), { reliable: true }),
        `${from.identity} ${count++}`,
      );
      return to.run((client) => client.data.length > 0);
    });
    const heard = await to.run((client) => client.data.map(({ text }) => text));
    assert.equal(new Set(heard).size, heard.length, `nothing twice: ${heard}`);
  }
}

const has = (client, event) => client.events.some(([name]) => name === event);
