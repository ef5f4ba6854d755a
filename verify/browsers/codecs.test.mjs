// Two people, each codec as livekit-client publishes it by itself. The videos are small, since two
// cores encode little, but large enough for a second spatial layer if the codec has them.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { assertPictures, judge, pictures, show } from "./support/measure.mjs";
import { sleep } from "./support/wait.mjs";
import { createWorld, freshRoom } from "./support/world.mjs";

const CODECS = [
  { codec: "vp9", width: 640, height: 360, mode: "L2T3_KEY" },
  { codec: "av1", width: 640, height: 360, mode: "L2T3_KEY" },
  { codec: "h264", width: 320, height: 180, mode: "L1T1" },
];
const SETTLE_S = 5;
const WATCH_S = 10;

let world;
before(async () => {
  world = await createWorld();
});
after(() => world?.end());
afterEach(() => world.clear());

describe("codecs", () => {
  for (const { codec, width, height, mode } of CODECS) {
    it(`carries ${codec}`, { timeout: 150_000 }, async () => {
      const room = freshRoom(codec);
      const people = await Promise.all(["ada", "bob"].map((identity) => world.person(identity)));
      const capture = { resolution: { width, height, frameRate: 15 } };
      const options = { videoCaptureDefaults: capture, publishDefaults: { videoCodec: codec } };
      for (const person of people) {
        await person.join(room, { options });
        await person.publish();
      }
      await Promise.all([people[0].sees([people[1]]), people[1].sees([people[0]])]);
      await sleep(SETTLE_S * 1000);
      await judge(people, WATCH_S, (views) => {
        const seen = pictures(views);
        show(codec, seen);
        for (const { sent } of views) assert.ok(sent.some(({ scalabilityMode }) => scalabilityMode === mode));
        for (const row of seen) assert.deepEqual([row.codec.toLowerCase(), row.height], [codec, height]);
        assertPictures(seen, 2);
      });
    });
  }
});
