// Browsers that reach media only through Weir's own TURN server.

import assert from "node:assert/strict";
import { after, afterEach, before, it } from "node:test";
import { localCandidates } from "../support/connections.mjs";
import { freePort } from "../support/ports.mjs";
import { waitFor } from "../support/wait.mjs";
import { createWorld, freshRoom } from "../support/world.mjs";

const SMALL = { resolution: { width: 320, height: 180, frameRate: 15 } };

/**
 * Remembers the page's connections. Once `only` is set, they use relays alone, and no TURN servers
 * but those whose addresses have it in them.
 */
function withRememberedConnections() {
  window.connections = new Set();
  window.only = undefined;
  const restricted = (configuration = {}) => {
    if (!window.only) return configuration;
    const fitting = (urls) => [urls].flat().filter((url) => url.includes(window.only));
    const servers = (configuration.iceServers ?? []).map((server) => ({ ...server, urls: fitting(server.urls) }));
    const iceServers = servers.filter(({ urls }) => urls.length > 0);
    return { ...configuration, iceServers, iceTransportPolicy: "relay" };
  };
  window.RTCPeerConnection = class extends RTCPeerConnection {
    constructor(configuration, ...rest) {
      super(restricted(configuration), ...rest);
      window.connections.add(this);
    }
    // The TURN servers are known after the first offer.
    setConfiguration(configuration) {
      super.setConfiguration(restricted(configuration));
    }
  };
}

let world;
before(async () => {
  const configuration = `turn: {port: ${await freePort()}}\n`;
  world = await createWorld({ configuration, beforehand: withRememberedConnections });
});
after(() => world?.end());
afterEach(() => world.clear());

for (const protocol of ["udp", "tcp"]) {
  it(`relays a call to media over ${protocol}`, { timeout: 90_000 }, async () => {
    const people = await Promise.all(["ada", "bob"].map((identity) => world.person(identity)));
    const [ada, bob] = people;
    await ada.page.evaluate((it) => (window.only = `transport=${it}`), protocol);
    const room = freshRoom("turn");
    for (const person of people) {
      await person.join(room, { options: { videoCaptureDefaults: SMALL, publishDefaults: { simulcast: false } } });
      await person.publish();
    }
    await Promise.all([ada.sees([bob]), bob.sees([ada])]);
    await Promise.all([ada.watches(bob), bob.watches(ada)]);
    let found;
    await waitFor(
      `ada to use a relay over ${protocol}`,
      async () => {
        found = await ada.page.evaluate(localCandidates);
        return found.length > 0 && found.every((it) => it.type === "relay" && it.relayProtocol === protocol);
      },
      { onTimeout: async () => JSON.stringify(found) },
    );
    assert.ok((await world.figure("weir_turn_allocations")) >= 1);
  });
}
