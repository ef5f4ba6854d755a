// Two people, each codec as livekit-client publishes it by itself. Small pictures: two cores encode little.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { assertPictures, judge, pictures, show } from "./support/measure.mjs";
import { sleep } from "./support/wait.mjs";
import { createWorld, freshRoom } from "./support/world.mjs";

const SMALL = { resolution: { width: 320, height: 180, frameRate: 15 } };
const SETTLE_S = 5;
const WATCH_S = 10;

let world;
before(async () => {
  world = await createWorld();
});
after(() => world?.end());
afterEach(() => world.clear());

describe("codecs", () => {
  for (const codec of ["vp9", "av1", "h264"]) {
    it(`carries ${codec}`, { timeout: 90_000 }, async () => {
      const room = freshRoom(codec);
      const people = await Promise.all(["ada", "bob"].map((identity) => world.person(identity)));
      const options = { videoCaptureDefaults: SMALL, publishDefaults: { videoCodec: codec } };
      for (const person of people) {
        await person.join(room, { options });
        await person.publish();
      }
      await Promise.all([people[0].sees([people[1]]), people[1].sees([people[0]])]);
      await sleep(SETTLE_S * 1000);
      await judge(people, WATCH_S, (views) => {
        const seen = pictures(views);
        show(`${codec}, ${views[0].sent.map(({ scalabilityMode }) => scalabilityMode).join("")}`, seen);
        for (const row of seen) assert.equal(row.codec.toLowerCase(), codec);
        assertPictures(seen, 2);
      });
    });
  }
});
