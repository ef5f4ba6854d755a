// Three people, camera and microphone each, in both of the protocol's client modes.

import { after, before, describe } from "node:test";
import { mediaTests } from "./call/media.mjs";
import { messageTests } from "./call/messages.mjs";
import { presenceTests } from "./call/presence.mjs";
import { trackTests } from "./call/tracks.mjs";
import { createWorld, freshRoom } from "./support/world.mjs";

const VGA = { resolution: { width: 640, height: 360, frameRate: 30 } };

const MODES = [
  { name: "one peer connection", room: {}, simulcast: false, seconds: 30 },
  { name: "one peer connection, simulcast", room: {}, simulcast: true, seconds: 10 },
  { name: "two peer connections", room: { singlePeerConnection: false }, simulcast: false, seconds: 10 },
];

for (const mode of MODES) {
  describe(`a call over ${mode.name}`, { timeout: 400_000 }, () => {
    const call = { mode, people: [], room: freshRoom("call") };

    before(async () => {
      call.world = await createWorld();
      call.people = await Promise.all(["ada", "bob", "cat"].map((identity) => call.world.person(identity)));
      await Promise.all(call.people.map((person) => enter(person, call, mode)));
      await Promise.all(call.people.map((person) => person.sees(call.people.filter((other) => other !== person))));
    });
    after(() => call.world?.end());

    mediaTests(call);
    trackTests(call);
    // Messages and presence do not depend on encodings: once a mode is enough.
    if (mode.simulcast) return;
    messageTests(call);
    presenceTests(call);
  });
}

async function enter(person, call, { room, simulcast }) {
  const options = { ...room, videoCaptureDefaults: VGA, publishDefaults: { videoCodec: "vp8", simulcast } };
  await person.join(call.room, { options });
  await person.publish();
}
