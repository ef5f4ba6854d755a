// Browsers whose network lets no UDP pass, and browsers that are told to do without.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { localCandidates } from "../support/connections.mjs";
import { freePort } from "../support/ports.mjs";
import { waitFor } from "../support/wait.mjs";
import { createWorld, freshRoom } from "../support/world.mjs";

const SMALL = { resolution: { width: 320, height: 180, frameRate: 15 } };

const MODES = [
  { name: "one peer connection", room: {} },
  { name: "two peer connections", room: { singlePeerConnection: false } },
];

/**
 * Remembers the page's connections. Once `withoutUdp` is set in a page, candidates that use UDP are
 * left out of the descriptions it gets.
 */
function withRememberedConnections() {
  window.connections = new Set();
  window.withoutUdp = false;
  const { setRemoteDescription } = RTCPeerConnection.prototype;
  RTCPeerConnection.prototype.setRemoteDescription = function (given, ...rest) {
    window.connections.add(this);
    if (!window.withoutUdp) return setRemoteDescription.call(this, given, ...rest);
    const sdp = given.sdp.replace(/^a=candidate:\S+ \d+ udp .*\r\n/gim, "");
    return setRemoteDescription.call(this, { type: given.type, sdp }, ...rest);
  };
}

let world;
before(async () => {
  const configuration = `rtc: {tcp_port: ${await freePort()}}\n`;
  world = await createWorld({ configuration, beforehand: withRememberedConnections });
});
after(() => world?.end());
afterEach(() => world.clear());

for (const mode of MODES) {
  describe(`TCP over ${mode.name}`, () => {
    it("carries a call of two people without UDP, and of one with it", { timeout: 90_000 }, async () => {
      const people = await Promise.all(["ada", "bob", "eve"].map((identity) => world.person(identity)));
      const [ada, bob, eve] = people;
      for (const person of [ada, bob]) await person.page.evaluate(() => (window.withoutUdp = true));
      await meet(people, mode);
      for (const person of [ada, bob]) await uses(person, "tcp");
      await uses(eve, "udp");
      assert.ok((await world.figure("weir_tcp_connections")) >= 2);
    });

    it("is found by a client that asks for it", { timeout: 90_000 }, async () => {
      const people = await Promise.all(["ada", "bob"].map((identity) => world.person(identity)));
      const [ada, bob] = people;
      await meet(people, mode);
      await uses(ada, "udp");
      await ada.run((client) => client.room.simulateScenario("force-tcp"));
      const has = (client, event) => client.events.some(([name]) => name === event);
      await ada.until("have reconnected", has, "reconnected", 30_000);
      await Promise.all([ada.sees([bob]), bob.sees([ada])]);
      await Promise.all([ada.watches(bob), bob.watches(ada)]);
      await uses(ada, "tcp");
      await uses(bob, "udp");
    });
  });
}

/** Everybody joins one room, publishes, and sees everybody else. */
async function meet(people, mode) {
  const room = freshRoom("tcp");
  const options = { ...mode.room, videoCaptureDefaults: SMALL, publishDefaults: { simulcast: false } };
  for (const person of people) {
    await person.join(room, { options });
    await person.publish();
  }
  for (const person of people) {
    const others = people.filter((other) => other !== person);
    await person.sees(others);
    for (const other of others) await person.watches(other);
  }
}

/** Waits until all connections of a person use a protocol. */
async function uses(person, protocol) {
  let found;
  await waitFor(
    `${person.identity} to use ${protocol}`,
    async () => {
      found = await person.page.evaluate(localCandidates);
      return found.length > 0 && found.every((it) => it.protocol === protocol);
    },
    { timeout: 20_000, onTimeout: async () => JSON.stringify(found) },
  );
}
