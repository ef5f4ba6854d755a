// Does LiveKit's server SDK for Node administrate a room, and does a browser in it notice?

import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { DataPacket_Kind } from "@livekit/protocol";
import { EgressClient, RoomServiceClient } from "livekit-server-sdk";
import { token } from "../../../testkit/browsers/token.mjs";
import { createWorld, freshRoom } from "../support/world.mjs";

const KEY = ["devkey", "secret"];

let world;
let rooms;
before(async () => {
  world = await createWorld();
  rooms = new RoomServiceClient(world.server.url, ...KEY);
});
after(() => world?.end());
afterEach(() => world.clear());

/** Whether an error of the SDK has this status and code. */
const failure = (status, code) => (error) => error.status === status && error.code === code;

describe("the server SDK for Node", { timeout: 120_000 }, () => {
  it("creates, lists, changes and deletes a room", async () => {
    const name = freshRoom("sdk");
    const made = await rooms.createRoom({ name, emptyTimeout: 60, departureTimeout: 5, maxParticipants: 9 });
    assert.deepEqual([made.name, made.emptyTimeout, made.departureTimeout, made.maxParticipants], [name, 60, 5, 9]);
    assert.equal(typeof made.creationTime, "bigint");
    const ada = await world.person("ada");
    await ada.join(name);
    assert.deepEqual(
      (await rooms.listRooms([name])).map((room) => room.numParticipants),
      [1],
    );
    const changed = await rooms.updateRoomMetadata(name, "minutes");
    assert.equal(changed.metadata, "minutes");
    await ada.until("see the metadata", (client) => client.room.metadata === "minutes");
    await rooms.deleteRoom(name);
    await ada.until("be disconnected", (client) => client.room.state === "disconnected");
    assert.deepEqual(await rooms.listRooms([name]), []);
    await assert.rejects(rooms.deleteRoom(name), failure(404, "not_found"));
  });

  it("changes and removes a participant", async () => {
    const name = freshRoom("sdk");
    const ada = await world.person("ada");
    await ada.join(name);
    assert.deepEqual(
      (await rooms.listParticipants(name)).map((person) => person.identity),
      ["ada"],
    );
    const permission = { canSubscribe: true, canPublish: false, canPublishData: true };
    const changed = await rooms.updateParticipant(name, "ada", {
      metadata: "host",
      attributes: { a: "b" },
      permission,
    });
    assert.deepEqual(
      [changed.metadata, changed.attributes, changed.permission.canPublish],
      ["host", { a: "b" }, false],
    );
    await ada.until("see the change", (client) => {
      const me = client.room.localParticipant;
      return me.metadata === "host" && me.attributes.a === "b" && me.permissions.canPublish === false;
    });
    await rooms.sendData(name, new TextEncoder().encode("hello"), DataPacket_Kind.RELIABLE, { topic: "news" });
    await rooms.removeParticipant(name, "ada");
    await ada.until("be disconnected", (client) => client.room.state === "disconnected");
    await assert.rejects(rooms.getParticipant(name, "ada"), failure(404, "not_found"));
    await assert.rejects(rooms.mutePublishedTrack(name, "ada", "TR_x", true), failure(404, "not_found"));
  });

  it("reads errors", async () => {
    const stranger = new RoomServiceClient(world.server.url, "devkey", "another secret");
    await assert.rejects(stranger.listRooms(), failure(401, "unauthenticated"));
    const egress = new EgressClient(world.server.url, ...KEY);
    await assert.rejects(egress.listEgress(), failure(501, "unimplemented"));
    await assert.rejects(rooms.createRoom({ name: "x".repeat(300) }), failure(400, "invalid_argument"));
  });

  it("calls a method of a browser", async () => {
    const name = freshRoom("sdk");
    const ada = await world.person("ada");
    await ada.join(name);
    await ada.run((client) => client.room.registerRpcMethod("greet", async (call) => `hello ${call.payload}`));
    assert.deepEqual(await performRpc(name, { method: "greet", payload: "there" }), [200, { payload: "hello there" }]);
    const [status, error] = await performRpc(name, { method: "sing" });
    assert.deepEqual([status, error.code, error.msg.slice(0, 14)], [400, "invalid_argument", "RpcError 1400:"]);
  });
});

/** Calls a method of ada's; the SDK has none for it. */
async function performRpc(room, request) {
  const bearer = token(room, "administrator", { grants: { roomAdmin: true } });
  const answer = await fetch(`${world.server.url}/twirp/livekit.RoomService/PerformRpc`, {
    method: "POST",
    headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json" },
    body: JSON.stringify({ room, destinationIdentity: "ada", ...request }),
  });
  return [answer.status, await answer.json()];
}
