// Media without encryption, in Chromium's own mode for laboratories: for tests of a data plane
// without SRTP with real browsers.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { IN_CLEAR } from "../../testkit/browsers/clear.mjs";
import { assertPictures, assertVoices, judge, pictures, show, voices } from "./support/measure.mjs";
import { sleep } from "./support/wait.mjs";
import { createWorld, freshRoom } from "./support/world.mjs";

const VGA = { resolution: { width: 640, height: 360, frameRate: 30 } };
const WATCH_S = 10;

describe("without encryption", { timeout: 150_000 }, () => {
  let world;
  before(async () => {
    world = await createWorld({ configuration: "rtc: {clear_rtp: true}\n", ...IN_CLEAR });
  });
  after(() => world?.end());

  it("three people see and hear each other where the operator allows it", async () => {
    const room = freshRoom("clear");
    const people = await Promise.all(["ada", "bob", "cat"].map((identity) => world.person(identity)));
    const options = { videoCaptureDefaults: VGA, publishDefaults: { videoCodec: "vp8", simulcast: false } };
    for (const person of people) {
      await person.join(room, { options });
      await person.publish();
    }
    await Promise.all(people.map((person) => person.sees(people.filter((other) => other !== person))));
    await sleep(5000);
    await judge(people, WATCH_S, (views) => {
      const [seen, heard] = [pictures(views), voices(views)];
      show("in clear: pictures", seen);
      show("in clear: voices", heard);
      assertPictures(seen, 6);
      assertVoices(heard, 6, WATCH_S);
    });
    for (const person of people) {
      const { transports } = await person.stats();
      assert.ok(transports.length > 0, "a transport is in use");
      for (const { srtpCipher } of transports) assert.equal(srtpCipher, "");
    }
  });
});

it("without encryption nobody gets in where the operator has not allowed it", { timeout: 60_000 }, async () => {
  const world = await createWorld(IN_CLEAR);
  try {
    const ada = await world.person("ada");
    const { error } = await ada.tryJoin(freshRoom("refused"), {
      connect: { maxRetries: 0, peerConnectionTimeout: 5000 },
    });
    assert.ok(error, "the connection is refused");
  } finally {
    await world.end();
  }
});
