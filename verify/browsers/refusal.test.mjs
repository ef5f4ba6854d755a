// Tests of refused joins and of removals.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { token } from "../../testkit/browsers/token.mjs";
import { createWorld, freshRoom } from "./support/world.mjs";

const DUPLICATE_IDENTITY = "2";

let world;
before(async () => {
  world = await createWorld();
});
after(() => world?.end());
afterEach(() => world.clear());

const REFUSED = [
  { name: "an expired token", make: (room) => token(room, "eve", { lifetime: -7200 }) },
  { name: "a token signed with another secret", make: (room) => token(room, "eve", { secret: "guess" }) },
  { name: "a token of an unknown key", make: (room) => token(room, "eve", { key: "nokey" }) },
  { name: "a token without leave to join", make: (room) => token(room, "eve", { grants: { roomJoin: false } }) },
  { name: "something that is no token", make: () => "weir" },
];

for (const mode of [
  { name: "one peer connection", room: {} },
  { name: "two peer connections", room: { singlePeerConnection: false } },
]) {
  describe(`entry over ${mode.name}`, () => {
    for (const { name, make } of REFUSED) {
      it(`refuses ${name}`, async () => {
        const eve = await world.person("eve");
        const { error } = await eve.tryJoin(freshRoom("refusal"), { token: make("refusal"), options: mode.room });
        console.log(`${mode.name}: ${name}: ${error?.reason}, ${error?.status}`);
        assert.equal(error?.reason, "NotAllowed");
        assert.equal(error.status, 401);
      });
    }

    it("leads a token to its own room only", async () => {
      const [room, other] = [freshRoom("refusal"), freshRoom("refusal")];
      const [ada, eve] = [await world.person("ada"), await world.person("eve")];
      await ada.join(room, { options: mode.room });
      await ada.publish({ microphone: false });
      await eve.join(room, { token: token(other, "eve"), options: mode.room });
      const seen = await eve.run((client) => [client.room.name, client.room.remoteParticipants.size]);
      assert.deepEqual(seen, [other, 0]);
    });

    it("shows the door to the first of two with one identity", async () => {
      const room = freshRoom("duplicate");
      const [first, second] = [await world.person("twin"), await world.person("twin")];
      await first.join(room, { options: mode.room });
      await second.join(room, { options: mode.room });
      const shown = (client, reason) => client.events.some(([name, why]) => name === "disconnected" && why === reason);
      await first.until("be told of the second", shown, DUPLICATE_IDENTITY);
      assert.equal(await second.run((client) => client.room.state), "connected");
    });
  });
}
