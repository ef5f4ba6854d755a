// A browser whose address changes during a call.

import { it } from "node:test";
import { describeMeeting, withoutUdp } from "../support/isolated.mjs";

// The browser notices by a ping without an answer.
const configuration = "signalling: {ping_interval: 1, ping_timeout: 2}\n";

// It takes less than three seconds, and longer on a machine that is busy with other suites.
const LIMIT_MS = 10_000;

for (const [protocol, restrict] of [
  ["UDP", undefined],
  ["TCP", withoutUdp],
]) {
  describeMeeting(`a browser over ${protocol}`, { restrict, configuration }, (world) => {
    it("sees and is seen again when its address changes", { timeout: 120_000 }, async () => {
      await world.sees();
      const began = Date.now();
      world.within("ada", "ip address del 198.18.0.11/24 dev eth0", "ip address add 198.18.0.99/24 dev eth0");
      await world.sees(LIMIT_MS);
      console.log(`media both ways ${((Date.now() - began) / 1000).toFixed(1)} s after a change of address`);
    });
  });
}
