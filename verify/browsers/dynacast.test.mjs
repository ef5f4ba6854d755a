// A layer that nobody watches is not sent: livekit-client stops encoding it when the server says
// so.

import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { sleep } from "./support/wait.mjs";
import { createWorld, freshRoom } from "./support/world.mjs";

const VGA = { resolution: { width: 640, height: 360, frameRate: 20 } };
/** Less is asked for after five seconds; the rest is time to notice. */
const FALLS_WITHIN_MS = 15_000;

let world;
before(async () => {
  world = await createWorld();
});
after(() => world?.end());

/** The names of the encodings whose frames were sent within a second. */
async function sending(person) {
  const frames = async () =>
    new Map((await person.stats()).sent.filter(({ kind }) => kind === "video").map((row) => [row.rid, row.framesSent]));
  const before = await frames();
  await sleep(1000);
  const now = await frames();
  return [...now].filter(([rid, count]) => count > (before.get(rid) ?? 0)).map(([rid]) => rid);
}

async function sends(person, expected) {
  const deadline = Date.now() + FALLS_WITHIN_MS;
  let seen = await sending(person);
  while (seen.sort().join() !== expected.join() && Date.now() < deadline) seen = await sending(person);
  assert.deepEqual(seen.sort(), expected, "encodings being sent");
}

it("stops encodings nobody watches, and starts them again", { timeout: 120_000 }, async () => {
  const room = freshRoom("dynacast");
  const [ada, bob] = await Promise.all(["ada", "bob"].map((identity) => world.person(identity)));
  const options = {
    dynacast: true,
    videoCaptureDefaults: VGA,
    publishDefaults: { videoCodec: "vp8", simulcast: true },
  };
  await ada.join(room, { options });
  await ada.publish({ microphone: false });
  await bob.join(room);
  await bob.sees([ada], ["camera"]);
  await sends(ada, ["h", "q"]);
  const ask = (quality) =>
    bob.run((client, it) => client.publication("ada", "camera").setVideoQuality(client.VideoQuality[it]), quality);
  const subscribe = (on) => bob.run((client, it) => client.publication("ada", "camera").setSubscribed(it), on);
  await ask("LOW");
  await sends(ada, ["q"]);
  await bob.watches(ada);
  await ask("HIGH");
  await sends(ada, ["h", "q"]);
  await subscribe(false);
  await sends(ada, []);
  await subscribe(true);
  await sends(ada, ["h", "q"]);
  await bob.watches(ada);
});
