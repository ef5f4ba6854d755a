// A call between two kinds of browser: Firefox negotiates, encodes, decodes and reports in its own
// way.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { findAddress, firefoxIsMissing, launchFirefox } from "./support/firefox.mjs";
import { assertPictures, assertVoices, judge, pictures, show, voices } from "./support/measure.mjs";
import { Participant } from "./support/participant.mjs";
import { sleep, waitFor } from "./support/wait.mjs";
import { createWorld, freshRoom } from "./support/world.mjs";

const VGA = { resolution: { width: 640, height: 360, frameRate: 20 } };
const SETTLE_S = 6;
const WATCH_S = 10;

// livekit-client lets Firefox send VP8 in place of VP9.
const MODES = [
  { name: "in VP8 simulcast", room: {}, publish: { videoCodec: "vp8", simulcast: true } },
  { name: "over two peer connections", room: { singlePeerConnection: false }, publish: { videoCodec: "vp8" } },
  { name: "in VP9", room: {}, publish: { videoCodec: "vp9" } },
];

describe("Firefox and Chromium", { skip: firefoxIsMissing(), timeout: 500_000 }, () => {
  let world;
  let firefox;
  before(async () => {
    world = await createWorld({ address: findAddress() });
    firefox = await launchFirefox();
  });
  after(async () => {
    await firefox?.close();
    await world?.end();
  });
  afterEach(() => world.clear());

  for (const mode of MODES) {
    it(`meet ${mode.name}`, { timeout: 160_000 }, async () => {
      const room = freshRoom("firefox");
      const ada = await world.person("ada");
      const fox = await Participant.open({ ...world, browser: firefox }, "fox");
      const people = [ada, fox];
      const options = { ...mode.room, videoCaptureDefaults: VGA, publishDefaults: mode.publish };
      for (const person of people) {
        await person.join(room, { options });
        await person.publish();
      }
      await Promise.all([ada.sees([fox]), fox.sees([ada])]);
      await sleep(SETTLE_S * 1000);
      await judge(people, WATCH_S, (views) => {
        const [seen, heard] = [pictures(views), voices(views)];
        show(`${mode.name}: pictures`, seen);
        show(`${mode.name}: voices`, heard);
        const decoded = seen.find(({ watcher }) => watcher === "fox")?.codec.toLowerCase();
        assert.equal(decoded, mode.publish.videoCodec, "the codec that Firefox decodes");
        assertPictures(seen, 2);
        assertVoices(heard, 2, WATCH_S);
      });
      await changesSize(fox, ada);
      await writes(ada, fox);
      await writes(fox, ada);
      await fox.close();
    });
  }
});

/** A window that becomes small gets a small video, and a large one again. */
async function changesSize(watcher, other) {
  const ask = (quality) =>
    watcher.run(
      (client, [who, it]) => client.publication(who, "camera").setVideoQuality(client.VideoQuality[it]),
      [other.identity, quality],
    );
  const height = async () =>
    (await watcher.stats()).received.find(({ from, kind }) => from === other.identity && kind === "video")?.frameHeight;
  await ask("LOW");
  await waitFor("a small picture", async () => (await height()) < 360, { timeout: 30_000 });
  await watcher.watches(other);
  await ask("HIGH");
  await waitFor("a large picture", async () => (await height()) === 360, { timeout: 30_000 });
  await watcher.watches(other);
}

async function writes(from, to) {
  const text = `from ${from.identity}`;
  await from.run(
    (client, it) =>
      client.room.localParticipant.publishData(new TextEncoder().encode(it), { reliable: true, topic: "note" }),
    text,
  );
  await to.until("get a message", (client, it) => client.data.some((message) => message.text === it), text);
}
