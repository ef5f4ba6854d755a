// A browser whose address changes during a call.

import assert from "node:assert/strict";
import { it } from "node:test";
import { describeMeeting, withoutUdp } from "../support/isolated.mjs";

// The browser notices by a ping without an answer.
const configuration = "signalling: {ping_interval: 1, ping_timeout: 2}\n";

// It takes less than three seconds, and longer on a busy machine. A browser that waited as long as
// livekit-client does of its own accord would notice after 15.
const LIMIT_S = 14;

for (const [protocol, restrict] of [
  ["UDP", undefined],
  ["TCP", withoutUdp],
]) {
  describeMeeting(`a browser over ${protocol}`, { restrict, configuration }, (world) => {
    it("sees and is seen again when its address changes", { timeout: 120_000 }, async () => {
      await world.sees();
      const began = Date.now();
      world.within("ada", "ip address del 198.18.0.11/24 dev eth0", "ip address add 198.18.0.99/24 dev eth0");
      await world.sees();
      const seconds = (Date.now() - began) / 1000;
      console.log(`media both ways ${seconds.toFixed(1)} s after a change of address`);
      assert.ok(seconds < LIMIT_S, `it took ${seconds} s`);
    });
  });
}
