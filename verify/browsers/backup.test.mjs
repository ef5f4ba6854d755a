// One video in two codecs: a browser that cannot decode VP9 gets VP8, which livekit-client
// publishes too when it is asked to.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { sleep } from "./support/wait.mjs";
import { createWorld, freshRoom } from "./support/world.mjs";

const VGA = { resolution: { width: 640, height: 360, frameRate: 15 } };
const VP9 = { videoCaptureDefaults: VGA, publishDefaults: { videoCodec: "vp9", backupCodec: true } };
const TIMEOUT_MS = 90_000;
/** Less is asked for after five seconds; the rest is time to notice, on a busy machine too. */
const CHANGES_WITHIN_MS = 20_000;

let world;
before(async () => {
  world = await createWorld();
});
after(() => world?.end());
afterEach(() => world.clear());

/** A browser that has never heard of VP9 and AV1, as far as receiving goes. */
function forgetVp9() {
  const { codecs } = RTCRtpReceiver.getCapabilities("video");
  const known = codecs.filter(({ mimeType }) => !/vp9|av1/i.test(mimeType));
  const add = RTCPeerConnection.prototype.addTransceiver;
  RTCPeerConnection.prototype.addTransceiver = function (kind, init) {
    const transceiver = add.call(this, kind, init);
    if (kind === "video" && init?.direction === "recvonly") transceiver.setCodecPreferences(known);
    return transceiver;
  };
}

/** The codec in which one participant watches another. */
async function watched(person, from) {
  const { received } = await person.stats();
  const row = received.find((row) => row.kind === "video" && row.from === from.identity);
  return row.codec;
}

async function published(person) {
  const stats = await person.run(async (client) => {
    const transport = client.room.engine.pcManager.publisher;
    return [...(await (transport._pc ?? transport.pc).getStats()).values()];
  });
  const codecs = new Map(stats.filter(({ type }) => type === "codec").map((row) => [row.id, row.mimeType]));
  const rows = stats.filter(({ type, kind }) => type === "outbound-rtp" && kind === "video");
  return rows.map((row) => ({ key: row.id, codec: codecs.get(row.codecId), frames: row.framesSent }));
}

/** The codecs of which frames are sent within two seconds. */
async function sending(person) {
  const before = new Map((await published(person)).map(({ key, frames }) => [key, frames]));
  await sleep(2000);
  const moving = (await published(person)).filter(({ key, frames }) => frames > (before.get(key) ?? 0));
  return [...new Set(moving.map(({ codec }) => codec))].sort();
}

async function comesToSend(person, expected) {
  const deadline = Date.now() + CHANGES_WITHIN_MS;
  let seen = await sending(person);
  while (seen.join() !== expected.join() && Date.now() < deadline) seen = await sending(person);
  assert.deepEqual(seen, expected, "codecs being sent");
}

async function people(...identities) {
  return Promise.all(identities.map((identity) => world.person(identity)));
}

describe("a second codec", () => {
  it("is sent only for those who cannot decode the first", { timeout: TIMEOUT_MS }, async () => {
    const room = freshRoom("backup");
    const [ada, bob, cat] = await people("ada", "bob", "cat");
    await bob.page.evaluate(forgetVp9);
    await ada.join(room, { options: VP9 });
    await ada.publish({ microphone: false });
    await cat.join(room);
    await cat.watches(ada);
    assert.deepEqual(await sending(ada), ["video/VP9"]);
    await bob.join(room);
    await bob.watches(ada);
    assert.deepEqual([await watched(bob, ada), await watched(cat, ada)], ["VP8", "VP9"]);
    await comesToSend(ada, ["video/VP8", "video/VP9"]);
    await cat.watches(ada);
    await bob.run((client) => client.room.disconnect());
    await comesToSend(ada, ["video/VP9"]);
  });

  it("takes over where a decoder is lost in a call", { timeout: TIMEOUT_MS }, async () => {
    const room = freshRoom("fallback");
    const [ada, bob] = await people("ada", "bob");
    await ada.join(room, { options: VP9 });
    await ada.publish({ microphone: false });
    await bob.join(room);
    await bob.watches(ada);
    assert.equal(await watched(bob, ada), "VP9");
    await bob.run((client) => {
      const { codecs } = RTCRtpReceiver.getCapabilities("video");
      const known = codecs.filter(({ mimeType }) => !/vp9|av1/i.test(mimeType));
      const transport = client.room.engine.pcManager.publisher;
      const transceivers = (transport._pc ?? transport.pc).getTransceivers();
      for (const it of transceivers.filter(({ receiver }) => receiver.track.kind === "video"))
        it.setCodecPreferences(known);
      return client.room.engine.negotiate();
    });
    await bob.sees([ada], ["camera"]);
    await bob.until("watch in VP8", async (client) => {
      const { received } = await client.stats();
      return received.some(
        ({ kind, codec, framesDecoded }) => kind === "video" && codec === "VP8" && framesDecoded > 10,
      );
    });
  });
});
